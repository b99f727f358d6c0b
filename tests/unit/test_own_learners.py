"""A learner of one's own: a file in the folder of the run."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from privcurve.learners import own, registry

PAPER = Path(__file__).parents[1] / "workflow/paper"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learners").mkdir()
    return tmp_path / "learners"


def test_a_file_is_a_learner_like_the_others(folder):
    shutil.copy(PAPER / "noisy_label.py", folder)
    assert registry.names()[-1] == "noisy_label"
    assert registry.entry("noisy_label").private
    registry.check_parameters("noisy_label", {"caution": 0.5})
    with pytest.raises(ValueError, match="caution = 2"):
        registry.check_parameters("noisy_label", {"caution": 2})
    made = registry.estimator_class("noisy_label")(epsilon=1.0, n_bins=2, random_state=1)
    X = np.array([[0], [1], [1]], dtype=np.uint8)
    assert set(made.fit(X, [-1, 1, 1]).predict(X)) <= {-1, 1}
    assert made.privacy_.epsilon_spent == pytest.approx(1.0)
    assert list(own.claims()) == ["noisy_label"]


def test_elsewhere_there_is_no_such_learner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="unknown learner 'noisy_label'"):
        registry.entry("noisy_label")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 / 0", "mine.py can't be run: ZeroDivisionError"),
        ("import nothing_like_that", "mine.py can't be run: ModuleNotFoundError"),
        ("x = 1", "mine.py has no ENTRY, a LearnerEntry with name='mine'"),
    ],
)
def test_a_file_that_is_no_learner_is_named(folder, text, says):
    (folder / "mine.py").write_text(text)
    with pytest.raises(ValueError, match=says):
        registry.entry("mine")
    with pytest.raises(ValueError, match="did you mean 'mine'"):
        registry.entry("mime")
