"""Partially private BRC: its public part is a function of (u, y) and of what was released."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import brc as reference

from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.pairs import Target
from privcurve.audit.pairs import records as a_record
from privcurve.audit.run import VIOLATED, run
from privcurve.learners.brc import BRCClassifier
from privcurve.learners.shared.public_part import PublicClassifier
from privcurve.learners.shared.roles import PublicRows
from privcurve.privacy.budget import PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.curator import Curator

BINS = np.array([3, 4, 5])
PUBLIC = (0, 2)


def records(n=80):
    rng = np.random.default_rng(0)
    X = rng.integers(0, BINS, (n, 3)).astype(np.uint8)
    return X, np.where((X[:, 1] + X[:, 2] > 3) ^ (rng.random(n) < 0.25), 1, -1).astype(np.int8)


def fit(X, y, seed, **parameters):
    options = {"n_bins": BINS, "classes": (-1, 1), "public_columns": PUBLIC, "epsilon": 20.0}
    options |= {"random_state": np.random.default_rng(seed), **parameters}
    return BRCClassifier(**options).fit(X, y)


def replayed(X, y, released):
    """All public votes, from public columns, labels and released errors alone."""
    rows = PublicRows.of(X, y, np.ones(len(y), dtype=np.int64), PUBLIC, BINS)
    known = PublicClassifier(rows, BINS[list(PUBLIC)])
    weights = np.ones(len(rows.signs))
    votes = {}
    score = known.fit(weights)
    for t, error in enumerate(released):
        missed = known.wrong(score)
        mass = rows.counts * weights
        alpha = 0.5 - float(mass[missed].sum() / mass.sum())
        if abs(alpha) > abs(0.5 - reference.clamped(error)):
            votes[t] = (alpha, tuple(score.coefficients.tolist()), score.intercept)
            weights = np.where(missed, weights * math.exp(alpha), weights)
            score = known.fit(weights)
    return votes


@pytest.mark.parametrize("seed", range(5))
def test_public_votes_follow_from_what_is_public(seed, monkeypatch):
    X, y = records()
    number, released = Curator.number, []

    def kept(self, call, exact):
        released.append(number(self, call, exact))
        return released[-1]

    monkeypatch.setattr(Curator, "number", kept)
    model = fit(X, y, seed)
    # Any private codes will do: they are never looked at.
    blind = X.copy()
    blind[:, 1] = 0
    with threadpool_limits(1):
        expected = replayed(blind, y, released)
    found = {
        t: (vote.alpha, vote.coefficients, vote.intercept)
        for t, vote in enumerate(model.votes_)
        if vote.public
    }
    assert 0 < len(found) < 25
    assert found.keys() == expected.keys()
    for t, (alpha, slopes, intercept) in found.items():
        assert alpha == pytest.approx(expected[t][0], rel=1e-12)
        assert (slopes, intercept) == expected[t][1:]


def test_a_changed_label_shows_in_the_public_part():
    """Under replace-one the partial learner is not private: its public part is exact."""
    X, y = records()
    flipped = y.copy()
    flipped[0] = -y[0]
    left, right = (replayed(X, labels, [0.5] * 3)[0] for labels in (y, flipped))
    assert left != right
    assert fit(X, y, 0).privacy_.neighbours == "private-columns"


def test_the_audit_finds_a_flipped_label_which_is_not_claimed():
    (claim,) = [c for c in ATTACKS["brc"].claims if c.stated != c.neighbours]
    row = run([claim], Target("none", a_record([[0]], [1], [2])), 7, COMPARISONS).iloc[0]
    assert (row["neighbours"], row["stated_neighbours"]) == (REPLACE_ONE, PRIVATE_COLUMNS)
    assert row["verdict"] == VIOLATED
