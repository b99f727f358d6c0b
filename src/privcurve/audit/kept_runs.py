"""Check that private selection releases nothing except the selected run.

Other contract checks give both tables of a pair the same runs and scores, so they can't detect a
model that depends on runs that were not selected. Therefore this check compares fits that differ
only in the number, hyperparameters and scores of these runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privcurve.audit.contract import Case, Verdict, released, train
from privcurve.audit.replay_fits import CONTROL, POST_PROCESSING, BreachError, Replay
from privcurve.audit.states import is_same
from privcurve.coding import Records
from privcurve.privacy.selection import Runs

# N is the number of records of the table. The other numbers are scores of runs: the check
# prescribes them in place of the scores that a fit would compute.
N = 12
HIGH, LOW, LOWEST = 2**40, 2**20, 1

# Index of the last candidate.
LAST = -1


class _Given(Replay):
    """A replay that prescribes the runs: the index of the candidate and the score of each run."""

    def __init__(self, seed: int, runs: Sequence[tuple[int, int]]) -> None:
        super().__init__([seed])
        self._given = runs

    def _draw_runs(self, n_candidates: int, law: Runs) -> list[int]:
        # Set the script here and not in the constructor: if a fit draws no runs, its first answers
        # are not scores.
        self._script = {(k,): np.array([score]) for k, (_, score) in enumerate(self._given)}
        return [place % n_candidates for place, _ in self._given]


def check_runs(case: Case, seed: int = 0) -> Verdict:
    """Check that a fitted model does not depend on runs that were not selected.

    `n_pairs` of the verdict is the number of compared pairs of fits; 0 if the learner has no runs.
    """
    verdict = Verdict(case)
    rng = np.random.default_rng([seed, 29])
    table = rng.integers((*case.bins, case.n_classes), size=(N, len(case.bins) + 1))
    side = case.table([tuple(row) for row in table.tolist()])
    try:
        for one, other in (
            ([(0, HIGH), (LAST, LOW)], [(0, HIGH)]),
            ([(0, LOW), (LAST, HIGH), (0, LOWEST)], [(LAST, LOWEST), (LAST, HIGH)]),
        ):
            (first, state), (_, lone) = (_fit(case, side, seed, runs) for runs in (one, other))
            if not first.runs:
                return verdict
            differing = [
                name for name in {**state, **lone} if not is_same(state.get(name), lone.get(name))
            ]
            if differing:
                why = f"{', '.join(differing)} depend on runs that are not selected"
                raise BreachError(POST_PROCESSING, why, side)
            verdict.n_pairs += 1
        better, _ = _fit(case, side, seed, [(0, HIGH), (LAST, LOWEST), (0, LOW)])
        worse, _ = _fit(case, side, seed, [(0, LOWEST), (LAST, LOW), (0, HIGH)])
        calls = (
            [[e.calls.tolist() for e in run.events] for run in fit.runs] for fit in (better, worse)
        )
        if next(calls) != next(calls):
            raise BreachError(CONTROL, "a run depends on the scores of other runs", side)
        verdict.n_pairs += 1
    except BreachError as breach:
        verdict.breach = breach
    except ValueError as error:
        verdict.refusal = str(error)
    return verdict


def _fit(
    case: Case, side: Records, seed: int, runs: Sequence[tuple[int, int]]
) -> tuple[Replay, dict[str, Any]]:
    """Train with the prescribed `runs`; return the replay, and what the fit releases or reports."""
    curator = _Given(seed, runs)
    model = train(case, side, curator)
    return curator, {**released(model), "reports of progress": curator.progress}
