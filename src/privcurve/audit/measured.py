"""Measure a lower bound on the ε of a study's method, by an attack with canaries."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from privcurve.audit.canaries import Guesses, canary_tables, guess_coins
from privcurve.audit.claim import generator
from privcurve.audit.contract_cases import CASES
from privcurve.audit.search import REPORTED_ERROR
from privcurve.experiments.methods import Method
from privcurve.learners import own, registry
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS

# The ε that the attacked fits claim, whatever values of ε the study has.
EPSILON = 1.0
# Number of fits on each of the two tables of canaries, by default.
FITS = 50
TABLES = {"ordered": True, "unordered": False}


class Measured(NamedTuple):
    """The larger of two bounds on ε, one for each table of canaries, and its evidence.

    `table` is the name of the table with the larger bound, and `guesses` has the guesses of its
    coins. If there is no bound, `epsilon` is NaN, and `reason` says why.
    """

    epsilon: float = math.nan
    table: str = ""
    guesses: Guesses = Guesses(0, 0, 0)
    reason: str = ""


def contract_of(method: Method) -> str:
    """Return whether a method's learner keeps the contract, as a word such as `KEPT`.

    For a learner of this project, the result is `KEPT` if the learner is in `CASES`: the tests fail
    if a learner breaks the contract in one of these cases.
    """
    tried = own.KEPT if method.learner in {case.learner for case in CASES} else own.NOT_TRIED
    return method.contract or tried


def measure(method: Method, n_fits: int = FITS) -> Measured:
    """Return a lower bound on ε of fits that claim `EPSILON`, with confidence 1 − `REPORTED_ERROR`.

    The canaries of one table have the bins of an ordered column, and the canaries of the other
    table the bins of an unordered column. The bound from each table is wrong with probability at
    most `REPORTED_ERROR` / 2. The random numbers do not depend on the seed of a study.
    """
    if method.claim == PRIVATE_COLUMNS:
        return Measured(reason=f"canaries have no {PRIVATE_COLUMNS}")
    if len(method.settings) > 1:
        return Measured(reason="its setting is chosen on the records")
    best = Measured(-math.inf)
    for table, is_ordered in TABLES.items():
        try:
            guesses = _guess(method, table, is_ordered, n_fits)
        # A learner, perhaps a user's, may raise any error on such a table. The error must not stop
        # the study: its runs would be lost.
        except Exception as error:
            return Measured(reason=f"{type(error).__name__}: {error}")
        lower = guesses.refuted_epsilon(method.delta, REPORTED_ERROR / len(TABLES))
        if guesses.n_guessed and lower > best.epsilon:
            best = Measured(lower, table, guesses)
    return best if best.table else Measured(reason="it scores all canaries alike")


def _guess(method: Method, table: str, is_ordered: bool, n_fits: int) -> Guesses:
    (pair,) = canary_tables(method.claim)
    point = method.points[0]._replace(epsilon=EPSILON)
    parameters: dict[str, Any] = method.estimator_parameters(point, 1)
    if "n_estimate" in method.learner_entry.parameters and method.claim == ADD_REMOVE:
        # The estimate of the number of records: on average, half of the canaries are present.
        parameters = {"n_estimate": pair.right.n // 2, **parameters}
    facts = Facts(pair.left.n_bins, (is_ordered,))
    learner = registry.make(method.learner, facts, parameters, method.claim)
    return guess_coins(learner, pair, n_fits, generator(f"{method.name}, {table} canaries", 0))
