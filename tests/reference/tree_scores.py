"""Scores that a tree's choices are made from, one node at a time: for tests and audits.

With the rates and the mechanism they fix the exact distribution of every choice;
:func:`privcurve.kernels.lazybb_trees.boost_trees` does not use them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privcurve.coding import Bools, Floats, Ints
from privcurve.kernels.lazybb_trees import BinnedRows
from privcurve.kernels.projection import fixed_point_bits, project
from privcurve.kernels.trees.choice import CRITERIA, impure_weight, rule_error, split_values
from privcurve.kernels.trees.form import answers


class NodeScores(NamedTuple):
    """What is chosen from at a node, in weight relative to a common total.

    Attributes
    ----------
    values, gains : ndarray of shape (n_questions,)
        F of both children together, and F of the node less that.
    errors : ndarray of shape (2 · n_questions + 2,)
        Errors of the 1-rules.
    margin : float
        Weight of the positive label less that of the negative.
    """

    values: Floats
    gains: Floats
    errors: Floats
    margin: float


def weigh(
    rows: BinnedRows,
    votes: Ints,
    n_votes: int,
    density: float,
    learning_rate: float,
    normalise: bool,
) -> tuple[Ints, float]:
    """Return the weight of each row's records after some trees, and what weights are relative to.

    `votes` is the sum of the votes, −1 or +1 each, of the `n_votes` trees so far.
    """
    n = int(rows.counts.sum())
    unit = 1 << fixed_point_bits(n)
    correct = (n_votes + np.where(rows.labels > 0, votes, -votes)) // 2
    histogram = np.zeros(n_votes + 1, dtype=np.int64)
    np.add.at(histogram, correct, rows.counts)
    weights = np.zeros(n_votes + 1, dtype=np.int64)
    project(histogram, n_votes, density, learning_rate, unit, weights)
    mass = weights[correct] * rows.counts
    return mass, float(mass.sum()) if normalise else density * n * unit


def score_node(
    rows: BinnedRows, mass: Ints, total: float, members: Bools, thresholds: bool, criterion: str
) -> NodeScores:
    """Score all choices at the node that has these rows; `mass` and `total` as of `weigh`."""
    asked, place = rows.questions(thresholds), CRITERIA.index(criterion)
    here = np.where(members, mass, 0)
    histogram = np.zeros((2, rows.n_bins.sum()), dtype=np.int64)
    np.add.at(histogram, (rows.labels[:, None], rows.bins), here[:, None])
    totals = np.bincount(rows.labels, here, 2).astype(np.int64)
    yes = answers(histogram, asked.low, asked.high)
    values = np.empty(len(yes))
    split_values(yes, totals, place, values)
    of_node = impure_weight(float(totals[1]), float(totals[0]), place)
    errors = np.array([rule_error(yes, totals, rule) for rule in range(2 * len(yes) + 2)])
    margin = float(totals[1] - totals[0])
    return NodeScores(values / total, (of_node - values) / total, errors / total, margin / total)


def says_yes(rows: BinnedRows, question: int) -> Bools:
    """Return each row's answer to a question."""
    column, low, high = (part[question] for part in rows.questions(thresholds=True))
    answer: Bools = (rows.bins[:, column] >= low) & (rows.bins[:, column] <= high)
    return answer
