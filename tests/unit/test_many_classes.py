"""More than two classes, from the description of a dataset to scores."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from own_dataset import assert_load_fails
from small_study import study_with

from privcurve import datasets
from privcurve.datasets import Domain
from privcurve.experiments import provenance, readiness, study
from privcurve.experiments.curves import Curve
from privcurve.experiments.splits import Split, Splitter
from privcurve.experiments.store import Store
from privcurve.experiments.train import Trainer
from privcurve.learners.linear.linear import LogisticRegressionClassifier

CLASSES = ["no", "mild", "severe"]
LINES = ["age,town,sick", *(f"{k},Oslo,{CLASSES[k % 5 // 2]}." for k in range(50))]
LABEL = {"column": "sick", "strip": ".", "classes": CLASSES}
TOWN = {"name": "town", "kind": "categorical", "categories": ["Oslo", "?"]}
AGE = {"name": "age", "kind": "numeric", "bounds": [0, 100], "source": "human life"}


@pytest.fixture
def write_ill(write_dataset: Any) -> Any:
    def write(lines: list[str] = LINES, **changes: Any) -> None:
        description = {"n_rows": len(LINES) - 1, "columns": [AGE, TOWN], "label": LABEL}
        write_dataset(lines, **{**description, **changes})

    write()
    return write


def variant(**changes: Any) -> None:
    content = {"title": "t", "based_on": "mine", **changes}
    Path("resources/datasets/mine-other.yaml").write_text(yaml.safe_dump(content))


# Data ------------------------------------------------------------------------------


@pytest.mark.usefixtures("write_ill")
def test_classes_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    mine = datasets.load("mine")
    assert mine.y.dtype == np.int8
    assert mine.y[:5].tolist() == [0, 0, 1, 1, 2]
    assert mine.domain.n_classes == 3
    assert mine.domain.label.names == ("no", "mild", "severe")
    assert Domain.from_dict(json.loads(mine.domain.to_json())) == mine.domain
    datasets.save(mine, tmp_path / "out")
    again = datasets.read(tmp_path / "out")
    assert np.array_equal(again.y, mine.y)
    assert (again.domain, again.checksum) == (mine.domain, mine.checksum)


def test_values_of_one_title_are_one_class(write_ill: Any) -> None:
    titles = {"no": "well", "mild": "ill", "severe": "ill", "dead": "dead"}
    before = datasets.describe("mine").digest
    write_ill(label={**LABEL, "classes": titles})
    mine = datasets.load("mine")
    # yaml.safe_dump has sorted the keys.
    assert mine.domain.label.names == ("dead", "ill", "well")
    assert mine.y[:5].tolist() == [2, 2, 1, 1, 1]
    assert datasets.describe("mine").digest != before


def test_two_classes_keep_the_text_of_their_domain() -> None:
    text = datasets.describe("wdbc").domain.to_json()
    assert text.endswith(
        '"label":{"column":"diagnosis","negative":"benign","positive":"malignant"}}'
    )
    assert "classes" not in datasets.describe("wdbc").label.meaning


@pytest.mark.usefixtures("write_ill")
def test_a_variant_makes_two_classes_of_many_and_many_of_two() -> None:
    variant(label={"positive": ["mild", "severe"], "negative": "no"})
    other, mine = datasets.load("mine-other"), datasets.load("mine")
    assert np.array_equal(other.y, np.where(mine.y > 0, 1, -1))
    assert other.domain.label.names == ("no", "mild or severe")
    assert other.domain.n_classes == 2
    base = {"label": {"column": "sick", "strip": ".", "positive": "severe", "negative": "no"}}
    content = yaml.safe_load(Path("resources/datasets/mine.yaml").read_text())
    Path("resources/datasets/mine.yaml").write_text(yaml.safe_dump(content | base))
    variant(label={"classes": CLASSES})
    again = datasets.load("mine-other")
    assert np.array_equal(again.y, mine.y)


@pytest.mark.usefixtures("write_ill")
def test_a_balanced_sample_has_as_many_records_of_each_class() -> None:
    variant(records={"balance": "random", "seed": 1}, n_rows=30)
    assert np.bincount(datasets.load("mine-other").y).tolist() == [10, 10, 10]


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "two": (
        {"classes": ["no", "mild"]},
        "classes must be three or more; got 2. For two classes give",
    ),
    "one title": ({"classes": dict.fromkeys(CLASSES, "x")}, "classes must be three or more; got 1"),
    "both": ({"positive": "no"}, "label.positive: does not belong here"),
    "twice": ({"classes": [*CLASSES, "no"]}, "the label 'no' is listed twice in classes; keep one"),
    "many": ({"classes": list(range(200))}, "classes must be at most 128; got 200"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_labels_that_are_refused(write_ill: Any, case: str) -> None:
    change, result = FAULTS[case]
    write_ill(label={**LABEL, **change})
    assert result in assert_load_fails()


def test_a_class_that_the_description_lacks(write_ill: Any) -> None:
    write_ill([*LINES[:3], "7,Oslo,servere.", *LINES[4:]])
    assert assert_load_fails() == (
        "dataset 'mine': line 4 of data/mine.csv: the label 'sick' is 'servere', which is none of "
        "its classes (no, mild, severe); did you mean 'severe'? Correct the file, or add the "
        f"value to label in {Path.cwd() / 'resources/datasets/mine.yaml'}."
    )
    write_ill([*LINES[:3], "7,Oslo,9.", *LINES[4:]])
    assert "none of its classes (no, mild, severe). Correct the file" in assert_load_fails()


def test_a_single_class(write_ill: Any) -> None:
    write_ill([LINES[0], *(f"{k},Oslo,mild." for k in range(50))])
    assert "all 50 records have the same label. Check label (classes) in" in assert_load_fails()


@pytest.mark.usefixtures("write_ill")
def test_each_split_has_a_share_of_each_class() -> None:
    splitter = Splitter(datasets.load("mine"), seed=3)
    for fold in ("1/5", "1@0.2"):
        train, scored = splitter.parts(Split(fold, 0))
        for part, sizes in ((train, [16, 16, 8]), (scored, [4, 4, 2])):
            assert np.bincount(part.labels, weights=part.counts).tolist() == sizes
    train, _ = Splitter(datasets.load("mine"), 3, train_share=0.5).parts(Split("1/5", 0))
    assert np.bincount(train.labels, weights=train.counts).tolist() == [8, 8, 4]


# Studies ---------------------------------------------------------------------------


def study_of_learners(names: tuple[str, ...] = ("majority_class",), **changes: Any) -> study.Study:
    learners = {f"my {name}": {"learner": name} for name in names}
    words = {"datasets": ["mine"], "epsilons": [1], "folds": 5, "learners": learners, **changes}
    return study_with(name="s", **words)


def notes(one: study.Study) -> list[str]:
    return list(study.notes(one, {"mine": datasets.describe("mine")}, "s.yaml"))


@pytest.mark.usefixtures("write_ill")
def test_the_control_is_trained_and_scored(tmp_path: Path) -> None:
    one = study_of_learners()
    assert notes(one) == []
    (method,) = one.methods.values()
    trainer = Trainer(datasets.load("mine"), method, seed=1, store=tmp_path)
    scored = trainer.run([(method.points[0], split) for split in one.selection_splits])
    assert {row["status"] for row in scored} == {"ok"}
    assert {row["accuracy"] for row in scored} == {0.4}
    assert [row["balanced_accuracy"] for row in scored] == pytest.approx([1 / 3] * 5)
    assert {row["auc"] for row in scored} == {0.5}
    shares = np.array([0.4, 0.4, 0.2])
    assert scored[0]["log_loss"] == pytest.approx(-(shares * np.log(shares)).sum())


@pytest.mark.usefixtures("write_ill")
def test_learners_of_two_classes_are_refused_before_training() -> None:
    variant(label={"positive": ["mild", "severe"], "negative": "no"})
    with pytest.raises(study.StudyError) as caught:
        notes(study_of_learners(("majority_class", "lazybb", "topdown")))
    assert str(caught.value).startswith(
        "s.yaml: lazybb takes two classes, not 3; topdown takes two classes, not 3; "
        "mine has 3 (label: classes in "
    )
    assert "give it two classes (mine-other), by based_on: mine with another label" in str(
        caught.value
    )
    assert "use learners for more classes: " in str(caught.value)
    assert "majority_class" in str(caught.value).rpartition("classes: ")[2]
    changed = dataclasses.replace(datasets.describe("mine-other"), name="mine")
    assert list(study.notes(study_of_learners(("lazybb",)), {"mine": changed}, "s.yaml")) == []


@pytest.mark.usefixtures("write_ill")
def test_results_that_were_stored_without_auc_are_trained_again(tmp_path: Path) -> None:
    sweep = {"name": "x", "x": "epsilon", "y": "auc"}
    plain, by_auc = study_of_learners(), study_of_learners(metric="auc")
    assert notes(by_auc) == notes(study_of_learners(outputs=["accuracy", {"sweep": sweep}])) == []
    (method,) = plain.methods.values()
    mine, split = datasets.load("mine"), plain.selection_splits[0]
    curves = [
        Curve(one, datasets.describe("mine"), method, 1).at((1.0,)) for one in (plain, by_auc)
    ]
    first, second = (Trainer(mine, method, 1, tmp_path, scores=one.scores) for one in curves)
    (row,) = first.run([(method.points[0], split)])
    # A result without AUC, as earlier versions wrote it.
    (file,) = tmp_path.rglob("*.jsonl")
    file.unlink()
    old = {"accuracy": 0.123, "auc": None, "status": "ok"}
    with Store(file.parent) as store:
        store.add(row["id"], old, provenance.checksum(row["learner"]))
    (reused,) = Trainer(mine, method, 1, tmp_path).run([(method.points[0], split)])
    assert reused["accuracy"] == 0.123
    (again,) = second.run([(method.points[0], split)])
    assert (again["auc"], again["accuracy"]) == (0.5, row["accuracy"])
    # The job file of all runs has another digest, too.
    first_digests, second_digests = (list(one.digests.values()) for one in curves)
    assert first_digests[0] != second_digests[0]


@pytest.mark.usefixtures("write_ill")
def test_a_setting_for_fewer_classes_is_reported_before_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check_classes(self: LogisticRegressionClassifier, n_classes: int) -> None:
        if self.C > 1 and n_classes > 2:
            raise ValueError(f"C = {self.C:g} is for two classes, not {n_classes}")

    monkeypatch.setattr(LogisticRegressionClassifier, "check_classes", check_classes)
    mine = datasets.load("mine")
    linear = {"learner": "logistic_regression", "grid": {"C": [0.5, 1]}}
    readiness.check(study_of_learners(learners={"linear": linear}), mine)
    wide = {**linear, "grid": {"C": [0.5, 2]}}
    with pytest.raises(ValueError, match="C = 2 is for two classes, not 3"):
        readiness.check(study_of_learners(learners={"linear": wide}), mine)
    binary = dataclasses.replace(mine, domain=datasets.describe("wdbc").domain)
    readiness.check(study_of_learners(learners={"linear": wide}), binary)
    learner = LogisticRegressionClassifier(C=2, n_bins=mine.domain.n_bins, classes=(0, 1, 2))
    with pytest.raises(ValueError, match="C = 2 is for two classes, not 3"):
        learner.fit(mine.X, mine.y)
