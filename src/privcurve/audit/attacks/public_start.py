"""Learners that start at public columns: naive Bayes from counts, box noise, LazyBB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.audit.attacks.any_learner import BOTH, whole_state
from privcurve.audit.attacks.hidden import HIDDEN_FEW, hidden_few
from privcurve.audit.claim import Attack, Claim
from privcurve.audit.pairs import Pair, Target, all_neighbours
from privcurve.audit.states import sample_states
from privcurve.privacy.budget import CERTIFIED, PRIVATE_COLUMNS

STARTED = {"start": "public", "public_columns": (1,)}


def started(
    learner: str,
    setting: Mapping[str, Any],
    n: int,
    delta: float = 0.0,
    calibration: str = CERTIFIED,
) -> Claim:
    """Audit the whole state of real fits on neighbours that differ in private columns."""
    return Claim(
        learner,
        calibration,
        1.0,
        hidden_few,
        delta,
        {**STARTED, **setting},
        sample=sample_states,
        n_trainings=n,
        n_pairs=HIDDEN_FEW,
        neighbours=PRIVATE_COLUMNS,
    )


def two_records(c: Claim, target: Target) -> list[Pair]:
    """Give pairs of two records in two columns, the first that move a code in both."""
    moved = (p for p in all_neighbours(2, (2, 2)) if (p.left.codes[0] != p.right.codes[0]).all())
    return [pair for pair, _ in zip(moved, range(TWO_RECORDS), strict=False)]


TWO_RECORDS = 4


def _noisy_bayes() -> Iterator[Claim]:
    name = "noisy_bayes"
    for delta in (0.0, 1e-2):
        yield whole_state(name, CERTIFIED, {}, 1_000, delta=delta)
        yield Claim(
            name,
            CERTIFIED,
            1.0,
            two_records,
            delta,
            {"n_columns": 1, "choice_share": 0.5},
            sample=sample_states,
            n_trainings=1_000,
            n_pairs=TWO_RECORDS,
        )
        yield started(name, {}, 300, delta)


def _box() -> Iterator[Claim]:
    name, setting = "dp_logistic_regression", {"noise": "box", "encoding": "scaled"}
    yield whole_state(name, CERTIFIED, setting, 300)
    yield started(name, {**setting, "columns": "private"}, 300)


def _lazybb() -> Iterator[Claim]:
    for calibration in BOTH:
        yield started("lazybb", {"n_rounds": 3}, 300, calibration=calibration)


START = "log-odds by public columns: exact, and the same for neighbours"

ATTACKS = (
    Attack(
        "noisy_bayes",
        tuple(_noisy_bayes()),
        {
            "columns_": "chosen privately, or all",
            "log_ratios_": "made of counts with noise",
            "prior_": f"made of counts with noise; or {START}",
        },
    ),
    Attack("dp_logistic_regression", tuple(_box()), {"start_": START}),
    Attack("lazybb", tuple(_lazybb()), {"start_": START}),
)
