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
from privcurve.kernels.trees.choice import (
    CRITERIA,
    answer_questions,
    impure_weight,
    rule_error,
    split_values,
)


class NodeScores(NamedTuple):
    """What is chosen from at a node, in weight relative to a common total.

    Attributes
    ----------
    values : ndarray of shape (n_questions,)
        F of both children together.
    gains : ndarray of shape (n_questions,)
        F of the node less `values`.
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
    """Return the weights of a round.

    Parameters
    ----------
    rows : BinnedRows
    votes : ndarray of shape (n_rows,)
        Sum of the votes, −1 or +1 each, of the trees so far.
    n_votes : int
        Trees so far.
    density, learning_rate, normalise
        As for ``boost_trees``.

    Returns
    -------
    mass : ndarray of int64, shape (n_rows,)
        Weight of a row's records together.
    total : float
        What weights are relative to.
    """
    n = int(rows.counts.sum())
    unit = 1 << fixed_point_bits(n)
    correct = (n_votes + np.where(rows.positive, votes, -votes)) // 2
    histogram = np.zeros(n_votes + 1, dtype=np.int64)
    np.add.at(histogram, correct, rows.counts)
    weights = np.zeros(n_votes + 1, dtype=np.int64)
    project(histogram, n_votes, density, learning_rate, unit, weights)
    mass = weights[correct] * rows.counts
    return mass, float(mass.sum()) if normalise else density * n * unit


def score_node(
    rows: BinnedRows, mass: Ints, total: float, members: Bools, thresholds: bool, criterion: str
) -> NodeScores:
    """Score all choices at a node.

    Parameters
    ----------
    rows : BinnedRows
    mass, total
        See :func:`weigh`.
    members : ndarray of bool, shape (n_rows,)
        The rows of the node.
    thresholds : bool
        Whether there are questions for thresholds.
    criterion : str

    Returns
    -------
    NodeScores
    """
    n_bins = len(rows.columns)
    n_questions = 2 * n_bins if thresholds else n_bins
    here = np.where(members, mass, 0)
    histogram = np.zeros(2 * n_bins, dtype=np.int64)
    np.add.at(histogram, rows.bins.astype(np.int64), here[:, None])
    totals = np.array([here[rows.positive].sum(), here[~rows.positive].sum()])
    answers = np.empty(2 * n_questions, dtype=np.int64)
    answer_questions(histogram, rows.columns, answers)
    values = np.empty(n_questions)
    place = CRITERIA.index(criterion)
    split_values(answers, totals, place, values)
    whole = impure_weight(float(totals[0]), float(totals[1]), place)
    errors = np.array([rule_error(answers, totals, r) for r in range(2 * n_questions + 2)])
    return NodeScores(
        values / total,
        (whole - values) / total,
        errors / total,
        float(totals[0] - totals[1]) / total,
    )


def says_yes(rows: BinnedRows, question: int) -> Bools:
    """Return each row's answer to a question."""
    n_bins = len(rows.columns)
    b = question % n_bins
    place = rows.bins[:, rows.columns[b]].astype(np.int64) % n_bins
    at_most: Bools = place <= b
    return at_most if question >= n_bins else at_most & (place == b)
