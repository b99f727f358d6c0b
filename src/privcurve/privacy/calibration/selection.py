"""From a budget to what each run of a private selection may spend (docs/tuning.md).

A run trains a setting and scores it: the number of training records that it decides right, with
noise, on a grid of 2^-20 of a record. The sums are whole numbers and the noise is exact
(`privacy.discrete`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from privcurve.privacy.accountants.cost import log_ratio, solve, zcdp_delta
from privcurve.privacy.accountants.selection import Runs, runs
from privcurve.privacy.budget import CERTIFIED, REPLACE_ONE, check_budget, is_private
from privcurve.privacy.calibration.search import SAFETY
from privcurve.privacy.curator import Call
from privcurve.privacy.ledger import (
    ASSUMED,
    NOT_COVERED,
    NOT_SELECTION,
    LedgerEntry,
    PrivacyStatement,
    rho_of_ledger,
)
from privcurve.privacy.mechanisms import GAUSSIAN, LAPLACE, LARGEST_SCALE

# How near a training's ρ comes to what it may spend, from below.
_NEAR = 1e-3
_MOST_STEPS = 60

# How many units of the score a record counts for.
UNITS = 2**20

# Replacing a record moves the number of right answers of a given model by one at most.
SCORE_SENSITIVITY = 1.0

TRAINING = "training"
SOURCE = "docs/tuning.md"
ASSUMED_GRID = "the settings that were drawn from, which were fixed apart from the records"
NOT_RUNS = "how many runs there were, which the time of a training may tell"


@dataclass(frozen=True)
class SelectionBudget:
    """What private selection leaves for one run.

    Attributes
    ----------
    epsilon, delta : float
        Of the whole; ε is finite.
    runs : Runs
        How many there are.
    pure : bool
        Whether a run is accounted by its ε; else by ρ of zCDP.
    training : float
        ε of a training, or ρ of one.
    score_scale : int
        Of the noise of the score, in units: Laplace if `pure`, else Gaussian.
    """

    epsilon: float
    delta: float
    runs: Runs
    pure: bool
    training: float
    score_scale: int

    @property
    def training_epsilon(self) -> float:
        """ε of a training: its own, or the one that ρ is worth at δ (zCDP, CKS conversion)."""
        return self.training if self.pure else zcdp_epsilon(self.training, self.delta)

    def statement(
        self,
        base: str,
        n_settings: int,
        assumptions: Sequence[str] = (),
        exclusions: Sequence[str] = (),
    ) -> PrivacyStatement:
        """Make the statement of a fit, which no record and no coin changes.

        Parameters
        ----------
        base : str
            The learner whose settings are tried.
        n_settings : int
            From how many.
        assumptions, exclusions : sequence of str
            Those of all settings, as any of them may be kept. Exclusions come first.
        """
        rate = UNITS / self.score_scale
        own = [text for text in exclusions if text not in NOT_COVERED]
        # The choice of settings is covered: it was private.
        others = [text for text in NOT_COVERED if text != NOT_SELECTION]
        ledger = (
            LedgerEntry(
                mechanism=TRAINING,
                what=f"one of a random number of runs: {base} with a setting drawn from "
                f"{n_settings}",
                noise_rate=self.training,
                sensitivity=1.0,
                epsilon=self.training if self.pure else math.inf,
                rho=None if self.pure else self.training,
                source=SOURCE,
            ),
            LedgerEntry(
                mechanism=LAPLACE if self.pure else GAUSSIAN,
                what="its score: how many training records it decides right",
                noise_rate=rate,
                sensitivity=SCORE_SENSITIVITY,
                epsilon=rate if self.pure else math.inf,
                source=SOURCE,
            ),
        )
        return PrivacyStatement(
            learner="tuned",
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=REPLACE_ONE,
            calibration=CERTIFIED,
            composition=self.runs.name,
            ledger=ledger,
            assumptions=tuple(dict.fromkeys((*ASSUMED, *assumptions, ASSUMED_GRID))),
            exclusions=tuple(dict.fromkeys((*own, *others, NOT_RUNS))),
        )


@lru_cache(maxsize=1024)
def selection_budget(
    epsilon: float,
    delta: float,
    eta: float,
    expected_runs: float,
    score_share: float,
    pure: bool | None = None,
) -> SelectionBudget:
    """Find what one run may spend.

    Parameters
    ----------
    epsilon, delta : float
        Of the whole; ε finite.
    eta, expected_runs : float
        See :class:`~privcurve.privacy.accountants.selection.Runs`.
    score_share : float
        The share of a run's ε (or ρ) that its score takes, in (0, 1).
    pure : bool, optional
        Whether runs are accounted by ε although δ > 0; by default where δ = 0.

    Returns
    -------
    SelectionBudget

    Raises
    ------
    ValueError
        If a number is out of range, or ε is so small that nothing is left for a training.
    """
    check_budget(epsilon, delta)
    if not is_private(epsilon):
        raise ValueError("epsilon = inf needs no noise: there is nothing to pay")
    if not 0 < score_share < 1:
        raise ValueError(f"score_share = {score_share!r} is not a number in (0, 1)")
    chosen = runs(float(eta), float(expected_runs))
    pure = delta == 0 if pure is None else pure
    if pure:
        run = solve(lambda each: chosen.epsilon(each) - epsilon, epsilon / 2) * SAFETY
    else:
        guess = (epsilon / (2 + eta)) ** 2 / (4 * math.log(1 / delta) + 2 * epsilon)
        run = solve(lambda rho: log_ratio(chosen.delta(rho, epsilon), delta), guess) * SAFETY
    # A score with scale s has ε = units/s, or ρ = (units/s)²/2.
    wanted = score_share * run if pure else math.sqrt(2 * score_share * run)
    if not wanted * LARGEST_SCALE > UNITS:
        raise ValueError(
            f"epsilon = {epsilon:g} is so small that nothing is left for a training: give a larger "
            "one, or fewer expected_runs"
        )
    scale = math.ceil(UNITS / wanted)
    rate = UNITS / scale
    score = rate if pure else rate**2 / 2
    return SelectionBudget(epsilon, delta, chosen, pure, run - score, scale)


def epsilon_that_spends(
    rho: float, ledger_of: Callable[[float], Sequence[LedgerEntry]], guess: float
) -> float:
    """Find the ε of a learner's own calibration whose ledger spends ρ, or a thousandth less.

    Parameters
    ----------
    rho : float
    ledger_of : callable
        ``ledger_of(epsilon)``: of a training; more ε spends more.
    guess : float
        Where to begin.

    Returns
    -------
    float
        What it spends is never above ρ.

    Raises
    ------
    ValueError
        If a ledger has no ρ, or none spends so little.
    """
    # ln ρ grows nearly in proportion to ln ε: steps of that, between what is known.
    low, high, epsilon = 0.0, math.inf, guess
    for _ in range(_MOST_STEPS):
        spent = rho_of_ledger(ledger_of(epsilon))
        if math.isinf(spent):
            raise ValueError(
                "what a training spends has no rho: it can't be accounted for delta > 0"
            )
        if spent <= rho:
            low = epsilon
            if spent >= rho * (1 - _NEAR):
                return epsilon
        else:
            high = epsilon
        step = epsilon * math.sqrt(rho * (1 - _NEAR / 2) / spent) if spent > 0 else 2 * epsilon
        if not low < step < high:
            step = 2 * low if math.isinf(high) else (low + high) / 2
        epsilon = step
    if low > 0:
        return low
    raise ValueError("no epsilon is so small that a training spends what a run may")


@lru_cache(maxsize=1024)
def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return ε that ρ-zCDP is worth at δ, by the conversion of Canonne, Kamath and Steinke."""
    root = math.sqrt(rho * math.log(1 / delta))
    return solve(lambda each: -log_ratio(zcdp_delta(rho, each), delta), rho + 2 * root)


# Noise is in whole parts of a record.
PARTS = 2**10


def right_answers_scale(epsilon: float) -> int:
    """Return the scale of discrete Laplace noise, in parts of a record, for replaced records.

    Parameters
    ----------
    epsilon : float
        Above 0 and finite.

    Returns
    -------
    int
        With it the number is ε-DP for ``replace-one`` neighbours (``discrete_laplace``).

    Raises
    ------
    ValueError
        If ε is so small that the sampler has no room for its noise.
    """
    if not epsilon * LARGEST_SCALE > PARTS * SCORE_SENSITIVITY:
        raise ValueError(
            f"epsilon = {epsilon:g} is so small that the noise of an accuracy has no room in 64 "
            "bits: give a larger one"
        )
    return math.ceil(PARTS * SCORE_SENSITIVITY / epsilon)


def right_answers(epsilon: float) -> Call:
    """Return the call that answers with a number of right answers, in parts of a record.

    Parameters
    ----------
    epsilon : float
        As for :func:`right_answers_scale`.

    Returns
    -------
    Call
        For ``Curator.whole_numbers``.
    """
    scale, sensitivity = right_answers_scale(epsilon), PARTS * SCORE_SENSITIVITY
    entry = LedgerEntry(
        mechanism=LAPLACE,
        what="the number of right answers on the test part",
        noise_rate=1 / scale,
        sensitivity=sensitivity,
        epsilon=sensitivity / scale,
        source="releases.accuracy.measured",
    )
    return Call(LAPLACE, float(scale), entry)
