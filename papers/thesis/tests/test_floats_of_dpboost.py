"""Test that the last digits of DPBoost's leaves reveal nothing (docs/proofs.md, 'Floating point').

With naive floating-point noise, some results are possible only if the exact value is 0, so that an
attack can recognise empty leaves.
"""

import numpy as np
from float_attacks import Floating, can_give

from privcurve.coding import Records
from privcurve.papers.thesis.learners.dpboost.classifier import DPBoostClassifier
from privcurve.privacy.curator import Curator
from privcurve.privacy.mechanisms import LAPLACE


def empty_and_others(kind):
    """Attack a model of DPBoost with noise from the curator class `kind`.

    Returns two lists and a number. The first list says, for each empty leaf, whether the attack
    takes it for empty; the second list says so for each leaf that is not empty. The number is the
    largest absolute exact leaf value, in noise scales.
    """
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
        # The model has the released leaf values times the public learning rate 0.1. Find the floats
        # whose product with 0.1 is the model's value.
        for leaf, value in zip(exact, values, strict=True):
            near = value / 0.1 + np.arange(-2, 3) * np.spacing(value / 0.1)
            answers = near[0.1 * near == value]
            called[bool(leaf == 0)].append(can_give(answers, 0.0, of.scale, LAPLACE).any())
            shift = max(shift, abs(leaf) / of.scale)
    return called[True], called[False], shift


def test_dpboost_does_not_tell_empty_leaves_from_others():
    """With naive noise the attack recognises every empty leaf, and many of the other leaves.

    With the curator's noise it cannot distinguish empty leaves from other leaves.
    """
    empty, others, _ = empty_and_others(Floating)
    assert all(empty)
    assert np.mean(others) < 0.6
    empty, others, shift = empty_and_others(Curator)
    assert min(len(empty), len(others)) > 300
    # The attack takes empty and other leaves for empty equally often, up to five standard errors
    # and the difference that ε allows.
    spread = 5 * 0.5 * (len(empty) ** -0.5 + len(others) ** -0.5)
    assert abs(np.mean(empty) - np.mean(others)) < spread + np.expm1(shift)
