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

from privcurve.audit.configuration import Configuration, MakePairs, n_comparisons
from privcurve.audit.pairs import (
    Pair,
    Records,
    Target,
    all_neighbours,
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
from privcurve.audit.tree_transcripts import tree_distribution
from privcurve.learners.one_rule import OneRuleEnsemble
from privcurve.learners.registry import CERTIFIED, PUBLISHED
from privcurve.privacy.calibration import EXPONENTIAL, PERMUTE_AND_FLIP

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


def large_balance(c: Configuration, target: Target) -> list[Pair]:
    """Give as many records as the target has, equal but for labels that about balance.

    The surplus gives a chance of about 2 % that all rounds choose the unlikely label: rare
    enough to show the change of a record, often enough to be counted.
    """
    learner = c.estimator(np.array([1]))
    assert isinstance(learner, OneRuleEnsemble)
    n = target.records.n
    rates = learner._calibrate(n).rates
    odds = 0.02 ** (-1 / len(rates)) - 1
    surplus = round(n * math.log(odds) / float(rates[0]))
    return [flipped_balance(n, surplus, f"as large as {target.name}")]


def torn(c: Configuration, target: Target) -> list[Pair]:
    """Put a canary into the target that the first 1-rules are torn about."""
    learner = c.estimator(target.records.n_bins)
    assert isinstance(learner, OneRuleEnsemble)
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
        yield _scored("lazybb", calibration, trees, 20_000)


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


def _scored(
    learner: str,
    calibration: str,
    setting: Mapping[str, Any],
    n_trainings: int,
    pairs: MakePairs = eight_constant,
) -> Configuration:
    """Audit any learner by its score of the canary, at ε = 1."""
    return Configuration(
        learner,
        calibration,
        1.0,
        pairs,
        setting=setting,
        sample=sample_canary_scores,
        n_trainings=n_trainings,
    )


def _dp_logistic_regression() -> Iterator[Configuration]:
    for calibration in BOTH:
        yield _scored("dp_logistic_regression", calibration, {"C": 0.01}, 2_000)
        yield _scored("dp_logistic_regression", calibration, {"C": 0.1}, 500, rare_in_part)


def _exact_trees(
    learner: str, calibration: str, setting: Mapping[str, Any], pairs: MakePairs, delta: float = 0.0
) -> Configuration:
    return Configuration(
        learner, calibration, 1.0, pairs, delta, setting, distribution=tree_distribution
    )


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
    for calibration in BOTH:
        yield _scored("topdown", calibration, {"depth": 1}, 20_000)
        yield _scored("topdown", calibration, {"depth": 2}, 2_000, rare_in_part)


def _dpboost() -> Iterator[Configuration]:
    one = {"n_trees": 1, "trees_per_ensemble": 1, "max_depth": 1, "learning_rate": 0.5}
    some = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}
    for calibration in BOTH:
        yield _scored("dpboost", calibration, one, 10_000)
        yield _scored("dpboost", calibration, some, 2_000, rare_in_part)


def _dp_bagging() -> Iterator[Configuration]:
    few = {"n_teachers": 1, "n_partitions": 1, "n_queries": 1}
    some = {"n_teachers": 20, "n_partitions": 2, "n_queries": 5}
    yield _scored("dp_bagging", CERTIFIED, few, 10_000, nine_balanced)
    yield _scored("dp_bagging", CERTIFIED, some, 500, rare_in_part)


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
