"""What the audit of a default run covers: a few claims of each private learner.

A new learner needs an entry in `CONFIGURATIONS`. Any learner can be audited by its score of
a canary (:func:`privcurve.audit.scores.sample_canary_scores`); one whose output is discrete
does better with a `distribution` or a `sample` of its transcripts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from privcurve.audit.bagging_transcripts import sample_students
from privcurve.audit.configuration import (
    Configuration,
    LearnerSampler,
    MakePairs,
    n_comparisons,
)
from privcurve.audit.gradient_transcripts import (
    gradient_tree_distribution,
    sample_gradient_trees,
)
from privcurve.audit.pairs import (
    Pair,
    Records,
    Target,
    all_neighbours,
    alone,
    crossed,
    flipped_balance,
    flipped_constant,
)
from privcurve.audit.pairs import with_canary as put_canary
from privcurve.audit.scores import rare_canary_pair, sample_canary_scores
from privcurve.audit.transcripts import (
    one_rule_distribution,
    sample_canary_votes,
    sample_transcripts,
    torn_canary,
)
from privcurve.audit.tree_transcripts import sample_trees, tree_distribution
from privcurve.learners.voting import VotingClassifier
from privcurve.privacy.budget import CERTIFIED, PUBLISHED
from privcurve.privacy.mechanisms import EXPONENTIAL, PERMUTE_AND_FLIP

BOTH = (PUBLISHED, CERTIFIED)
DELTAS = (1e-5, 1e-2)
TINY_TRAININGS = 200_000

# Records of the target that a slow learner is trained on.
SMALL = 200


# Pairs -------------------------------------------------------------------------------


def tiny_neighbours(c: Configuration, target: Target) -> Iterator[Pair]:
    """Give all neighbours of 2 to 4 records in a column of two bins, and constant ones."""
    for n in (2, 3, 4):
        yield from all_neighbours(n, (2,))
    yield from constant_columns(c, target)


def two_columns(c: Configuration, target: Target) -> Iterator[Pair]:
    """Give all neighbours of 2 and 3 records in two columns of two bins."""
    return itertools.chain(all_neighbours(2, (2, 2)), all_neighbours(3, (2, 2)))


def constant_columns(c: Configuration, target: Target) -> Iterator[Pair]:
    """Give the worst pairs of 1-rules (PRIVACY.md §b) for several numbers of records."""
    return map(flipped_constant, (2, 3, 4, 6, 8, 12, 20, 40))


def six_constant(c: Configuration, target: Target) -> list[Pair]:
    """Give the worst pair of 1-rules at a size where its unlikely outcome can be counted."""
    return [flipped_constant(6)]


def eight_constant(c: Configuration, target: Target) -> list[Pair]:
    """Give the same pair with eight records."""
    return [flipped_constant(8)]


def nine_balanced(c: Configuration, target: Target) -> list[Pair]:
    """Give nine equal records whose majority is up to the one that is flipped."""
    return [flipped_balance(9, 0)]


def crossed_columns(c: Configuration, target: Target) -> list[Pair]:
    """Give two records in two columns of two bins: splits are torn, and all leaves move."""
    return [crossed()]


def alone_in_two_bins(c: Configuration, target: Target) -> list[Pair]:
    """Give one record that is in one of two bins: all that teachers know is which."""
    return [alone()]


def large_balance(c: Configuration, target: Target) -> list[Pair]:
    """Give as many records as the target has, equal but for labels that about balance.

    The surplus gives a chance of about 2 % that all rounds choose the unlikely label: rare
    enough to show the change of a record, often enough to be counted.
    """
    learner = c.estimator(np.array([1]))
    assert isinstance(learner, VotingClassifier)
    n = target.records.n
    rates = learner._plan(n).noise.rates
    odds = 0.02 ** (-1 / len(rates)) - 1
    surplus = round(n * math.log(odds) / float(rates[0]))
    return [flipped_balance(n, surplus, f"as large as {target.name}")]


def torn(c: Configuration, target: Target) -> list[Pair]:
    """Put a canary into the target that the first 1-rules are torn about."""
    learner = c.estimator(target.records.n_bins)
    assert isinstance(learner, VotingClassifier)
    return [put_canary(target, torn_canary(learner, target.records))]


def rare(c: Configuration, target: Target) -> list[Pair]:
    """Put a canary of rare codes into the target."""
    return [rare_canary_pair(target)]


def rare_in_part(c: Configuration, target: Target) -> list[Pair]:
    """Put a canary of rare codes into the first records of the target."""
    base = target.records
    rows = slice(0, SMALL)
    part = Records(base.codes[rows], base.signs[rows], base.n_bins, base.counts[rows])
    return [rare_canary_pair(Target(f"{target.name}, {part.n} records", part))]


def torn_columns(c: Configuration, target: Target) -> list[Pair]:
    """Give the tight pair of a tree's split (PRIVACY.md §c).

    A flipped label makes a child of the first column pure and a pure child of the others
    impure; the others are copies, so that their questions are as good as certain.
    """
    codes = np.zeros((3, 31), dtype=np.uint8)
    codes[0], codes[1, 0], codes[2, 1:] = 1, 1, 1
    counts = np.array([1, 1000, 1000])
    sides = [
        Records(codes, np.array([label, 1, -1], dtype=np.int8), np.full(31, 2), counts)
        for label in (-1, 1)
    ]
    return [Pair("tiny", "a flipped label that purifies a child", sides[0], sides[1])]


# Learners ----------------------------------------------------------------------------


def _one_rule() -> Iterator[Configuration]:
    mechanisms = (EXPONENTIAL, PERMUTE_AND_FLIP)
    for calibration, mechanism, epsilon in itertools.product(BOTH, mechanisms, (0.1, 1.0, 5.0)):
        yield Configuration(
            "one_rule",
            calibration,
            epsilon,
            tiny_neighbours,
            setting={"mechanism": mechanism},
            distribution=one_rule_distribution,
        )
    for calibration in BOTH:
        yield Configuration(
            "one_rule",
            calibration,
            1.0,
            two_columns,
            distribution=one_rule_distribution,
        )
        for delta in DELTAS:
            yield Configuration(
                "one_rule",
                calibration,
                1.0,
                tiny_neighbours,
                delta=delta,
                distribution=one_rule_distribution,
            )
        yield from _sampled_one_rules("one_rule", calibration, {}, 10_000)


def _lazybb() -> Iterator[Configuration]:
    mechanisms = (EXPONENTIAL, PERMUTE_AND_FLIP)
    dense = {"n_rounds": 3, "learning_rate": 0.45, "density": 1.0}
    usual = {"n_rounds": 3, "learning_rate": 0.45, "density": 0.35}
    steep = {"n_rounds": 4, "learning_rate": 1.0, "density": 0.2}
    wide = {"n_rounds": 2, "learning_rate": 0.5, "density": 0.35}
    for calibration in BOTH:
        for mechanism, epsilon in itertools.product(mechanisms, (0.1, 1.0, 5.0)):
            for setting in (dense, usual, steep):
                yield Configuration(
                    "lazybb",
                    calibration,
                    epsilon,
                    tiny_neighbours,
                    setting={**setting, "mechanism": mechanism},
                    distribution=one_rule_distribution,
                )
        yield Configuration(
            "lazybb",
            calibration,
            1.0,
            two_columns,
            setting=wide,
            distribution=one_rule_distribution,
        )
        for delta, setting in itertools.product(DELTAS, (dense, usual, steep)):
            yield Configuration(
                "lazybb",
                calibration,
                1.0,
                tiny_neighbours,
                delta=delta,
                setting=setting,
                distribution=one_rule_distribution,
            )
        yield from _sampled_one_rules("lazybb", calibration, dense, 4_000)
        trees = {"weak_learner": "topdown", "depth": 1, "n_rounds": 2, "density": 0.5}
        yield _exact_trees("lazybb", calibration, trees, tiny_neighbours)
        yield _fitted_trees("lazybb", calibration, {**trees, "density": 0.75})
    yield _fitted_trees("lazybb", CERTIFIED, {**trees, "density": 0.75}, 1e-2)


def _sampled_one_rules(
    learner: str, calibration: str, setting: Mapping[str, Any], n_trainings: int
) -> Iterator[Configuration]:
    for pairs in (six_constant, eight_constant, large_balance):
        yield Configuration(
            learner,
            calibration,
            1.0,
            pairs,
            setting=setting,
            sample=sample_transcripts,
            n_trainings=TINY_TRAININGS,
        )
    yield Configuration(
        learner,
        calibration,
        1.0,
        torn,
        setting=setting,
        sample=sample_canary_votes,
        n_trainings=n_trainings,
    )


def _sampled(
    learner: str,
    calibration: str,
    setting: Mapping[str, Any],
    n_trainings: int,
    pairs: MakePairs = eight_constant,
    delta: float = 0.0,
    sample: LearnerSampler = sample_canary_scores,
    epsilon: float = 1.0,
) -> Configuration:
    """Audit any learner by real fits: by its score of the canary, or by all that it releases."""
    return Configuration(
        learner,
        calibration,
        epsilon,
        pairs,
        delta,
        setting,
        sample=sample,
        n_trainings=n_trainings,
    )


def _dp_logistic_regression() -> Iterator[Configuration]:
    for calibration in BOTH:
        yield _sampled("dp_logistic_regression", calibration, {"C": 0.01}, 2_000)
        yield _sampled("dp_logistic_regression", calibration, {"C": 0.1}, 500, rare_in_part)


def _exact_trees(
    learner: str, calibration: str, setting: Mapping[str, Any], pairs: MakePairs, delta: float = 0.0
) -> Configuration:
    return Configuration(
        learner, calibration, 1.0, pairs, delta, setting, distribution=tree_distribution
    )


def _fitted_trees(
    learner: str, calibration: str, setting: Mapping[str, Any], delta: float = 0.0
) -> Configuration:
    """Audit trees by real fits. Pure certified ones give labels enough of ε to be seen."""
    if calibration == CERTIFIED and delta == 0:
        setting = {**setting, "split_share": 0.4}
    return _sampled(learner, calibration, setting, 30_000, crossed_columns, delta, sample_trees)


def _topdown() -> Iterator[Configuration]:
    for n_splits, pairs in ((1, torn_columns), (1, two_columns), (2, tiny_neighbours)):
        yield _exact_trees("topdown", PUBLISHED, {"n_splits": n_splits}, pairs)
    for leaves in ("labels", "rules"):
        for mechanism in (EXPONENTIAL, PERMUTE_AND_FLIP):
            deep = {"depth": 2, "leaves": leaves, "mechanism": mechanism}
            yield _exact_trees("topdown", CERTIFIED, deep, two_columns)
        yield _exact_trees("topdown", CERTIFIED, {"depth": 1, "leaves": leaves}, tiny_neighbours)
        for delta in DELTAS:
            deep = {"depth": 2, "leaves": leaves}
            yield _exact_trees("topdown", CERTIFIED, deep, tiny_neighbours, delta)
    yield _exact_trees("topdown", CERTIFIED, {"depth": 1, "split_share": 0.99}, torn_columns)
    yield _fitted_trees("topdown", PUBLISHED, {"depth": 1})
    yield _fitted_trees("topdown", CERTIFIED, {"depth": 1})
    yield _fitted_trees("topdown", CERTIFIED, {"depth": 2, "leaves": "rules"})
    yield _fitted_trees("topdown", CERTIFIED, {"depth": 1}, 1e-2)
    for calibration in BOTH:
        yield _sampled("topdown", calibration, {"depth": 2}, 2_000, rare_in_part)


def _dpboost() -> Iterator[Configuration]:
    one = {"n_trees": 1, "trees_per_ensemble": 1, "max_depth": 1}
    some = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}
    # What is published has 1.15 ε on the pair: at ε = 2 so many trainings show it.
    for calibration, n_trainings in ((PUBLISHED, 120_000), (CERTIFIED, 20_000)):
        yield _exact_gradient_tree(calibration, one)
        yield _sampled(
            "dpboost",
            calibration,
            one,
            n_trainings,
            crossed_columns,
            sample=sample_gradient_trees,
            epsilon=2.0,
        )
        yield _sampled("dpboost", calibration, some, 2_000, rare_in_part)
    # A small δ buys nothing for one tree (docs/competitors.md, D6): its noise would be the same.
    yield _exact_gradient_tree(CERTIFIED, one, 0.1)
    yield _sampled("dpboost", CERTIFIED, one, 20_000, crossed_columns, 0.1, sample_gradient_trees)


def _exact_gradient_tree(
    calibration: str, setting: Mapping[str, Any], delta: float = 0.0
) -> Configuration:
    return Configuration(
        "dpboost",
        calibration,
        1.0,
        two_columns,
        delta,
        setting,
        distribution=gradient_tree_distribution,
    )


def _dp_bagging() -> Iterator[Configuration]:
    two = {"n_teachers": 1, "n_partitions": 1, "n_queries": 2}
    four = {"n_teachers": 1, "n_partitions": 1, "n_queries": 4}
    some = {"n_teachers": 20, "n_partitions": 2, "n_queries": 5}
    for pairs, setting, delta in (
        (nine_balanced, two, 0.0),
        (alone_in_two_bins, two, 0.0),
        (alone_in_two_bins, four, 1e-2),
    ):
        yield _sampled("dp_bagging", CERTIFIED, setting, 20_000, pairs, delta, sample_students)
    yield _sampled("dp_bagging", CERTIFIED, some, 500, rare_in_part)


def _all(*parts: Iterable[Configuration]) -> dict[str, tuple[Configuration, ...]]:
    found: dict[str, tuple[Configuration, ...]] = {}
    for part in parts:
        configurations = tuple(part)
        found[configurations[0].learner] = configurations
    return found


CONFIGURATIONS: Mapping[str, tuple[Configuration, ...]] = _all(
    _one_rule(), _lazybb(), _topdown(), _dpboost(), _dp_bagging(), _dp_logistic_regression()
)

# Sampled pairs of a whole run: a verdict's error is shared out over them.
COMPARISONS = n_comparisons(itertools.chain.from_iterable(CONFIGURATIONS.values()))
