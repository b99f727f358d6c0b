"""Pairs of columns of PrivGAM: which are asked, in which groups, and what they add."""

from dataclasses import replace

import numpy as np
import pytest

from privcurve.coding import Records
from privcurve.learners.additive import rule
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.additive.pairs import GROUPS, crossings, group_bins, spread
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.learners.additive.residuals import ScoredRows
from privcurve.privacy.curator import Curator

CYCLIC = {"method": "cyclic", "pairs": "yes", "delta": 1e-5}


def test_groups_are_neighbours_or_alike_and_about_as_heavy():
    shape = np.sin(np.arange(40))
    even = np.ones(40)
    along = group_bins(shape, even, True)
    assert (np.diff(along) >= 0).all()
    assert np.bincount(along).tolist() == [5] * GROUPS
    by_value = group_bins(shape, even, False)
    assert (np.diff(by_value[np.argsort(shape)]) >= 0).all()
    assert np.bincount(by_value).tolist() == [5] * GROUPS
    # A bin that is heavier than a group leaves the others fewer, and none is empty.
    heavy = group_bins(shape, np.where(np.arange(40) == 0, 100.0, 1.0), True)
    assert np.bincount(heavy).min() > 0
    assert heavy.max() + 1 < GROUPS
    assert group_bins(shape[:8], even[:8], False).tolist() == list(range(8))
    assert (group_bins(shape, 0 * even, True) == along).all()


def test_pairs_are_of_the_columns_that_matter_most():
    rng = np.random.default_rng(0)
    sizes = [0.1, 0.0, 0.5, 0.3, 0.2, 0.05]
    shapes = [size * rng.permutation([-1.0, 1.0, 0.5]) for size in sizes]
    weights = [np.array([5.0, 5.0, 0.0])] * 6
    shapes[5] = np.array([0.0, 0.0, 9.0])  # where there is nobody
    result = [crossing.columns for crossing in crossings(shapes, weights, [True] * 6)]
    assert result == [(0, 2), (0, 3), (0, 4), (2, 3), (2, 4), (3, 4)]
    assert crossings([0 * shapes[0]] * 3, weights[:3], [True] * 3) == []
    assert spread(shapes[5], weights[5]) == 0.0
    assert spread(shapes[5], 0 * weights[5]) == 0.0


def crossed(n, seed=0):
    """Labels of two columns' product, which have main effects too."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, (10, 6, 3), (n, 3)).astype(np.uint8)
    score = 1.5 * np.where((X[:, 0] > 4) == (X[:, 1] > 3), 1, -1)
    score += 0.4 * (X[:, 0] > 4) - 0.4 * (X[:, 1] > 3)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1, -1)


def learner(**parameters):
    facts = {"n_bins": (10, 6, 3), "classes": (-1, 1), "ordered": (True, True, False)}
    return PrivGAMClassifier(**{**facts, "random_state": 1, **parameters})


def test_pairs_say_what_columns_alone_cannot():
    X, y = crossed(30_000)
    held_out, labels = crossed(5_000, seed=1)
    budget = {"epsilon": 1.0, "delta": 1e-5}
    models = {p: learner(**budget, pairs=p).fit(X, y) for p in ("rule", "no")}
    right = {p: (model.predict(held_out) == labels).mean() for p, model in models.items()}
    assert right["rule"] > right["no"] + 0.1
    result = models["rule"].model_
    (pair,) = [pair for pair in result.pairs if pair.columns == (0, 1)]
    signs = np.where(pair.values > 0, 1, -1)
    # The first group is of codes up to 4: alike where the other code is up to 3.
    assert (signs[0, :4] == 1).all()
    assert (signs[0, 4:] == -1).all()
    assert models["rule"].measures_["pairs"] == len(result.pairs) > 0
    assert models["no"].measures_["pairs"] == 0


def test_the_model_scores_pairs_and_says_them():
    X, y = crossed(20_000)
    model = learner(epsilon=2.0, **CYCLIC).fit(X, y).model_
    scores = np.full(50, model.intercept)
    for i, row in enumerate(X[:50]):
        scores[i] += sum(shape[code] for shape, code in zip(model.shapes, row, strict=True))
        for pair in model.pairs:
            g, h = (groups[row[j]] for j, groups in zip(pair.columns, pair.groups, strict=True))
            scores[i] += pair.values[g, h]
    assert scores == pytest.approx(model.scores(X[:50]))
    words = model.in_words("abc")
    assert "  a and b together: from −" in words.replace("-", "−")
    assert "Without effect" not in words or "c" in words.splitlines()[-1]


def test_fits_on_records_and_models_on_codes_agree(monkeypatch):
    """The scores that residuals were taken at are those of the model, merged bins or not."""
    X, y = crossed(2_000)
    for few in (16, 4):
        monkeypatch.setattr(rule, "FEW_BINS", few)
        made = learner(epsilon=1.0, **CYCLIC)
        made.n_bins_, made.classes_ = np.array([10, 6, 3]), np.array([-1, 1])
        ones = np.ones(len(y), dtype=np.int64)
        coded = Records(X, (y > 0).astype(np.int64), ones, made.n_bins_)
        _, fit, maps = made._run_fit(coded, Curator(np.random.default_rng(0)))
        scores = AdditiveModel.from_fit(fit, maps).scores(X)
        rows = ScoredRows(coded, bits=20)
        rows.score(fit.records.scores)
        assert rows.rows.scores / 2.0**24 == pytest.approx(scores)


def test_what_pairs_do_not_spend_goes_to_the_intercept():
    """Of two columns one has a single code: there is no pair."""
    X = np.zeros((3_000, 2), dtype=np.uint8)
    X[::2, 0] = 1
    y = np.where(np.arange(3_000) % 3 == 0, 1, -1)
    made = PrivGAMClassifier(
        n_bins=(2, 1), classes=(-1, 1), random_state=0, epsilon=1.0, n_rounds=3, **CYCLIC
    ).fit(X, y)
    assert made.model_.pairs == ()
    assert made.privacy_.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    last = made.privacy_.ledger[-1]
    assert "the intercept" in last.what
    mu = sum((entry.noise_rate * entry.sensitivity) ** 2 for entry in made.privacy_.ledger)
    assert (last.noise_rate * last.sensitivity) ** 2 > 0.1 * mu


def test_small_data_have_none_by_the_rule():
    X, y = crossed(2_000)
    made = learner(epsilon=0.5, delta=1e-5).fit(X, y)
    assert made.model_.pairs == ()
    assert not any("pairs" in entry.what for entry in made.privacy_.ledger)


def test_a_model_with_a_wrong_pair_is_refused():
    X, y = crossed(20_000)
    made = learner(epsilon=2.0, **CYCLIC).fit(X, y)
    made.model_.check(made.n_bins_)
    pair = made.model_.pairs[0]
    for wrong in (
        {"columns": (0, 7)},
        {"columns": (0, 1, 2)},
        {"groups": (pair.groups[0], pair.groups[1] + 9)},
        {"groups": (pair.groups[0] - 1, pair.groups[1])},
        {"groups": (pair.groups[0][1:], pair.groups[1])},
        {"errors": pair.errors[1:]},
        {"values": pair.values[0], "errors": pair.errors[0]},
    ):
        with pytest.raises(ValueError, match="a pair"):
            replace(made.model_, pairs=(replace(pair, **wrong),)).check(made.n_bins_)
