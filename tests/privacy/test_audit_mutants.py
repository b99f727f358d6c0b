"""The audit's rows have teeth: each flags its learner when the noise is broken.

A mutant is a learner with one mistake, put in by a patch where the noise is drawn or scaled,
and is tried by a row of the default run. Seeds are fixed. That a *sound* learner is called
violated has a chance of at most VERDICT_ERROR over all rows of a run together, so of 1e-4
over all sound ones here. Rows get fewer trainings here than in a run, which makes it harder
to see a mutant; the ratio of its noise that is given is flagged all the same.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from privcurve.audit import configurations as audited
from privcurve.audit.configuration import EXACT, STANDS, VIOLATED, Configuration, run
from privcurve.audit.configurations import COMPARISONS, CONFIGURATIONS
from privcurve.audit.pairs import Target, crossed, records
from privcurve.kernels.lazybb_trees import TreeNoise
from privcurve.learners import dp_bagging, trees
from privcurve.learners.dpboost import DPBoostClassifier
from privcurve.learners.trees import TreePlan
from privcurve.privacy.calibration.dpboost import PUBLISHED_PROVED

TARGET = Target("not used", records([[0]], [1], [2]))
SEED = 7
FEW, SOME = 1_000, 4_000

# Pairs on which real fits, of few records, must choose among splits or answers.
SHARP = audited.crossed_columns, audited.alone_in_two_bins, audited.nine_balanced
ROWS = [
    c
    for c in itertools.chain.from_iterable(CONFIGURATIONS.values())
    if c.pairs in SHARP or (c.learner, c.method) == ("dpboost", EXACT)
]


def label(c: Configuration) -> str:
    shape = "rules" if c.setting.get("leaves") == "rules" else c.pairs.__name__
    return f"{c.learner}-{c.calibration}-{c.method}-delta={c.delta:g}-{shape}"


BY_LABEL = {label(c): c for c in ROWS}


def verdict(c, n_trainings):
    fewer = c if c.method == EXACT else replace(c, n_trainings=n_trainings)
    return run([fewer], TARGET, SEED, COMPARISONS).iloc[0]["verdict"]


# Mutants -------------------------------------------------------------------------------


def trees_with(patch, splits=1.0, leaves=1.0):
    """Multiply the noise of trees, of labels or rules included, where `fit` draws it."""
    draw, make = trees.draw_tree_noise, TreePlan.make

    def drawn(plan, width, rng):
        noise = draw(plan, width, rng)
        by_levels = splits if plan.depth else 1.0
        return TreeNoise(noise.splits * by_levels, noise.rules * leaves, noise.labels * leaves)

    def made(**setting):
        plan = make(**setting)
        if plan.depth:
            return plan
        # One uniform number picks a split of a published tree: its rate says how noisily.
        rates = plan.noise.rates / max(splits, 1e-9)
        return replace(plan, noise=replace(plan.noise, rates=rates))

    patch.setattr(trees, "draw_tree_noise", drawn)
    patch.setattr(TreePlan, "make", staticmethod(made))


def dpboost_with(patch, splits=1.0, leaves=1.0):
    """Multiply the noise of DPBoost's splits where `fit` uses it, and that of its leaves."""
    grow, calibrated = DPBoostClassifier._grow, DPBoostClassifier._noise

    def grown(self, *arguments):
        *others, noise = arguments
        return grow(self, *others, splits * noise)

    def noise(self):
        known = calibrated(self)
        return replace(known, leaf_scales=leaves * known.leaf_scales)

    patch.setattr(DPBoostClassifier, "_grow", grown)
    patch.setattr(DPBoostClassifier, "_noise", noise)


def bagging_with(patch, noise=1.0):
    """Divide the rate of bagging's answers: at 1/n_queries each answer spends all of ε."""
    calibrate = dp_bagging.bagging

    def calibrated(**setting):
        known = calibrate(**setting)
        return replace(known, rate=known.rate / noise)

    patch.setattr(dp_bagging, "bagging", calibrated)


NO_SPLITS = {"splits": 0.0}
TENTH = {"leaves": 0.1}


def both(ratio):
    return {"splits": ratio, "leaves": ratio}


MUTANTS = [
    # row, mistake, trainings a side
    ("topdown-published-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("topdown-published-sampled-delta=0-crossed_columns", TENTH, SOME),
    ("topdown-certified-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("topdown-certified-sampled-delta=0-crossed_columns", TENTH, SOME),
    ("topdown-certified-sampled-delta=0-rules", NO_SPLITS, FEW),
    ("topdown-certified-sampled-delta=0-rules", TENTH, SOME),
    ("topdown-certified-sampled-delta=0.01-crossed_columns", both(1 / 3), SOME),
    ("lazybb-published-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("lazybb-published-sampled-delta=0-crossed_columns", TENTH, 20_000),
    ("lazybb-certified-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("lazybb-certified-sampled-delta=0-crossed_columns", TENTH, SOME),
    ("lazybb-certified-sampled-delta=0.01-crossed_columns", both(1 / 5), SOME),
    ("dpboost-published-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("dpboost-published-sampled-delta=0-crossed_columns", TENTH, SOME),
    ("dpboost-certified-sampled-delta=0-crossed_columns", NO_SPLITS, FEW),
    ("dpboost-certified-sampled-delta=0-crossed_columns", TENTH, SOME),
    ("dpboost-certified-sampled-delta=0.1-crossed_columns", both(1 / 4), SOME),
    ("dpboost-published-exact-delta=0-two_columns", TENTH, 0),
    ("dpboost-certified-exact-delta=0-two_columns", TENTH, 0),
    ("dpboost-certified-exact-delta=0.1-two_columns", {"leaves": 1 / 3}, 0),
    # At δ = 0: ε is not divided by the number of answers, two.
    ("dp_bagging-certified-sampled-delta=0-nine_balanced", {"noise": 1 / 2}, SOME),
    ("dp_bagging-certified-sampled-delta=0-alone_in_two_bins", {"noise": 1 / 2}, 10_000),
    ("dp_bagging-certified-sampled-delta=0.01-alone_in_two_bins", {"noise": 1 / 3}, SOME),
]

BREAK = {
    "topdown": trees_with,
    "lazybb": trees_with,
    "dpboost": dpboost_with,
    "dp_bagging": bagging_with,
}


def test_each_row_has_a_mutant():
    assert len(BY_LABEL) == len(ROWS)
    assert {name for name, _, _ in MUTANTS} == set(BY_LABEL)
    approximate = {c.learner for c in ROWS if c.delta > 0}
    assert approximate == set(BREAK)


@pytest.mark.parametrize(("name", "mistake", "n_trainings"), MUTANTS, ids=str)
def test_a_mutant_is_flagged(monkeypatch, name, mistake, n_trainings):
    c = BY_LABEL[name]
    BREAK[c.learner](monkeypatch, **mistake)
    assert verdict(c, n_trainings) == VIOLATED


@pytest.mark.parametrize("name", BY_LABEL)
def test_without_a_mistake_it_is_not(monkeypatch, name):
    """The patches themselves change nothing: at ratio 1 the verdict is that of the learner."""
    c = BY_LABEL[name]
    BREAK[c.learner](monkeypatch)
    if (c.calibration, c.method, c.learner) == ("published", EXACT, "dpboost"):
        assert verdict(c, 0) == VIOLATED
    else:
        assert verdict(c, FEW) != VIOLATED


# What is known of DPBoost --------------------------------------------------------------


def test_published_dpboost_is_refuted_exactly():
    """Leaves cost ε: two move by ΔV, with noise for one. The split adds 2/(12(1 + λ)) of ε."""
    row = run([BY_LABEL["dpboost-published-exact-delta=0-two_columns"]], TARGET, 0, 1).iloc[0]
    assert row["verdict"] == VIOLATED
    assert row["found_epsilon"] == pytest.approx(1 + 1 / 6.6, rel=1e-9)
    assert 1 < row["found_epsilon"] < PUBLISHED_PROVED
    assert row["not_covered"].startswith("refuted: ")


@pytest.mark.slow
def test_published_dpboost_is_refuted_by_real_fits():
    """The row as it runs. Of 60 other seeds (drawn from the exact probabilities) none misses."""
    c = BY_LABEL["dpboost-published-sampled-delta=0-crossed_columns"]
    row = run([c], TARGET, SEED, COMPARISONS).iloc[0]
    assert row["verdict"] == VIOLATED
    assert 2 < row["found_epsilon"] < 2 * (1 + 1 / 6.6)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_certified_dpboost_stands_and_uses_much_of_its_budget(delta):
    name = f"dpboost-certified-exact-delta={delta:g}-two_columns"
    row = run([BY_LABEL[name]], TARGET, 0, 1).iloc[0]
    assert row["verdict"] == STANDS
    assert 0.45 < row["found_epsilon"] <= 1


def test_the_crossed_pair_is_the_worst_of_its_universe():
    c = BY_LABEL["dpboost-published-exact-delta=0-two_columns"]
    alone = replace(c, pairs=audited.crossed_columns)
    found = [run([some], TARGET, 0, 1)["found_epsilon"][0] for some in (c, alone)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert np.array_equal(crossed().canaries, [[0, 1], [1, 0]])
