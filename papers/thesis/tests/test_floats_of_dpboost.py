"""The digits of DPBoost's leaves reveal nothing (docs/proofs.md, 'Floating point')."""

import numpy as np
from float_attacks import Floating, can_give

from privcurve.coding import Records
from privcurve.papers.thesis.learners.dpboost.classifier import DPBoostClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.mechanisms import LAPLACE


def empty_and_others(kind):
    """Return how often the attack on DPBoost classifies empty and other leaves as empty."""
    rng = np.random.default_rng(0)
    log = []

    class Logged(kind):
        def _numbers(self, call, exact):
            log.append((exact.copy(), call))
            return super()._numbers(call, exact)

    codes = rng.integers(0, 8, (2000, 6)).astype(np.uint8)
    labels = np.where(codes[:, 0] + rng.normal(0, 2, 2000) > 4, 1, -1).astype(np.int8)
    rows = Records(codes, labels, np.ones(2000, np.int64), np.full(6, 8))
    learner = DPBoostClassifier(n_bins=[8] * 6, classes=(-1, 1), n_trees=20)
    model = learner.fit_records(rows, [{}], [Logged(np.random.default_rng(1))])[0]
    called, shift = {True: [], False: []}, 0.0
    for (exact, of), values in zip(log, model.leaf_values_, strict=True):
        # The learning rate is public: find the floats whose product with 0.1 is a leaf value.
        for leaf, value in zip(exact, values, strict=True):
            near = value / 0.1 + np.arange(-2, 3) * np.spacing(value / 0.1)
            answers = near[0.1 * near == value]
            called[bool(leaf == 0)].append(can_give(answers, 0.0, of.scale, LAPLACE).any())
            shift = max(shift, abs(leaf) / of.scale)
    return called[True], called[False], shift


def test_dpboost_does_not_tell_empty_leaves_from_others():
    """Floating-point noise reveals all 365 empty leaves and 718 of 915 others for certain."""
    empty, others, _ = empty_and_others(Floating)
    assert all(empty)
    assert np.mean(others) < 0.6
    empty, others, shift = empty_and_others(Curator)
    assert min(len(empty), len(others)) > 300
    # Five standard errors, plus the difference that ε allows.
    spread = 5 * 0.5 * (len(empty) ** -0.5 + len(others) ** -0.5)
    assert abs(np.mean(empty) - np.mean(others)) < spread + np.expm1(shift)
