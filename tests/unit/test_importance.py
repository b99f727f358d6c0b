"""The importance of columns, computed from the released numbers of people per code."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from privcurve import PrivGAMClassifier, Schema, explain, load, save
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.additive.people import nearest_counts
from privcurve.models import ModelError, text


def ranks_of_importance(seed):
    """Return the rank correlation of the importances with permutation importances."""
    rng = np.random.default_rng(seed)
    n, widths = 10_000, [64, 64, 40, 40, 64, 8, 4, 2, 64, 16]
    # Most values lie in the lower half of the bounds.
    codes = np.stack(
        [np.clip(rng.normal(0.4, 0.1, n) * width, 0, width - 1) for width in widths], axis=1
    ).astype(np.uint8)
    effects = np.linspace(0.0, 3.0, len(widths))
    score = ((codes / widths - 0.4) * 3 * effects).sum(axis=1) - 2
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    learner = PrivGAMClassifier(
        epsilon=3, n_bins=widths, classes=(0, 1), ordered=True, random_state=seed
    ).fit(codes, y)
    explanation = explain(learner)
    moves = [
        np.abs(own[codes[:, j]] - own[rng.permutation(codes[:, j])]).mean()
        for j, own in enumerate(learner.model_.shapes)
    ]
    return spearmanr(explanation.feature_importances, moves)[0], learner, codes


@pytest.mark.filterwarnings("ignore:random_state is a number")
def test_importance_agrees_with_permutation_over_the_records():
    for seed in range(3):
        agreement, learner, codes = ranks_of_importance(seed)
        assert agreement >= 0.9
        for j, people in enumerate(learner.model_.people):
            assert people.sum() == pytest.approx(len(codes), rel=0.05)
            exact = np.bincount(codes[:, j], minlength=len(people))
            # The released counts are near the exact ones, also in empty bins.
            assert np.abs(people - exact).sum() < 0.4 * len(codes)
            assert people[exact == 0].sum() < 0.06 * len(codes)


def test_counts_that_noise_moved_are_made_possible():
    counts = np.array([50.0, -3.0, 4.0, 0.5, 20.0])
    near = nearest_counts(counts, 70.0)
    assert near.sum() == pytest.approx(70.0)
    assert near.tolist() == pytest.approx([48.67, 0, 2.67, 0, 18.67], abs=0.01)
    assert nearest_counts(counts, 0.0).tolist() == [0] * 5
    assert nearest_counts(np.array([-np.inf, 3.0]), 5.0).tolist() == [0, 5]


def test_without_people_all_codes_have_equal_weight():
    X, y = np.zeros((40, 1), dtype=np.uint8), np.arange(40) % 2
    fitted = PrivGAMClassifier(n_bins=3, classes=(0, 1)).fit(X, y)
    fitted.model_ = AdditiveModel(0.0, 0.0, (np.array([0.0, 1.0, 5.0]),), (np.zeros(3),))
    assert explain(fitted).feature_importances.tolist() == pytest.approx([2.0])
    assert "over all of its values" in str(explain(fitted))
    people = (np.array([3.0, 1.0, 0.0]),)
    fitted.model_ = replace(fitted.model_, people=people)
    # Shares ¾ and ¼: two people have different values with probability 2·¾·¼.
    assert explain(fitted).feature_importances.tolist() == pytest.approx([0.375])
    assert "another person's value" in str(explain(fitted))
    # A column has an effect even if all people have one value.
    fitted.model_ = replace(fitted.model_, people=(np.array([3.0, 0.0, 0.0]),))
    assert explain(fitted).without_effect == []
    assert explain(fitted).feature_importances.tolist() == [0.0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_of_an_earlier_version_has_no_people_and_still_loads(tmp_path, n_classes):
    schema = Schema({"age": (0, 100)}, label=["a", "b", "c"][:n_classes])
    frame = {"age": np.arange(40.0)}
    path = tmp_path / "model.json"
    fitted = PrivGAMClassifier(schema=schema).fit(frame, np.array(["a", "b"] * 20))
    save(path, fitted)
    own = load(path)
    for read, made in zip(own._estimator.model_.people, fitted.model_.people, strict=True):
        assert (read == made).all()
    content = text.read(path)
    del content["model"]["model"]["people"]
    text.write(path, content)
    earlier = load(path)
    assert (earlier.decision_function(frame) == own.decision_function(frame)).all()
    assert "over all of its values" in str(earlier.explain())
    content["model"]["model"]["people"] = [[-1.0] * fitted.n_bins_[0]]
    text.write(path, content)
    with pytest.raises(ModelError, match="a negative number of people"):
        load(path)
