"""The Rademacher complexity of 1-rules, and the margin bound on the accuracy of a vote of them.

Formulas and their sources: docs/thesis.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privcurve import datasets
from privcurve.lazy import pd
from privcurve.learners import registry
from privcurve.outputs.base import (
    COUNT,
    NUMBER,
    REQUIRED,
    TEXT,
    Asked,
    Option,
    Output,
    Reads,
)
from privcurve.outputs.context import Context
from privcurve.tables.table import Table


class Rademacher(Output):
    """Table ``rademacher``: estimate, bound and accuracy of boosted 1-rules at one ε."""

    word: ClassVar[str] = "rademacher"
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", TEXT, REQUIRED),
        "epsilon": Option("an ε of that learner", NUMBER, REQUIRED),
        "draws": Option("how many sign vectors an estimate takes", COUNT, 2000),
    }

    def check(self, asked: Asked) -> None:
        asked.check_one_rules(asked.options["learner"])
        asked.check_epsilon(asked.options["learner"], asked.options["epsilon"])

    def reads(self, asked: Asked) -> Reads:
        arms = asked.arms_of(asked.options["learner"])
        datasets = asked.study.datasets
        return Reads(
            tuple(itertools.product(datasets, [arm.name for arm in arms])),
            data=datasets,
            outputs=("accuracy",),
            facts=[registry.entry(arm.learner).version for arm in arms],
        )

    def make(self, context: Context) -> None:

        from privcurve.experiments import models

        selected = context.selected()
        rows = []
        for name in context.study.datasets:
            data = context.data(name)
            X, _, counts = datasets.distinct(data.X, data.y)
            rng = models.stream("rademacher", data, context.seed)
            draws = context.options["draws"]
            found = estimate(X, data.domain.n_bins, counts, draws, rng)
            print(f"{data.name}: {found}", flush=True)
            for arm in context.asked.arms_of(context.options["learner"]):
                point = models.selected_point(arm, selected, name, context.options["epsilon"])
                repeats = context.study.repeats
                for model in models.inspect(data, arm, point, repeats, context.seed):
                    margins = model.margins(model.train)
                    bound = bound_of(margins, model.train.counts, found)
                    rows.append(_row(name, arm.name, arm.calibration, point.epsilon, found, bound))
        frame = bound_table(pd.DataFrame(rows), context.table_of("accuracy"))
        notes = _notes(frame)
        context.write(Table(frame, CAPTION, notes, readable(frame)))


CONFIDENCE = 0.95

# The thresholds θ, fixed before any data are seen: the bound pays for their number.
THRESHOLDS = tuple(k / 100 for k in range(1, 101))

CAPTION = "Margin bound of boosted 1-rules from their Rademacher complexity"


@dataclass(frozen=True)
class Estimate:
    """A Monte-Carlo estimate of the empirical Rademacher complexity of 1-rules.

    Attributes
    ----------
    value, standard_error : float
    n_draws : int
        Sign vectors drawn.
    n : int
        Records.
    """

    value: float
    standard_error: float
    n_draws: int
    n: int

    def upper(self, failure: float) -> float:
        """Return an upper confidence limit that fails with at most this probability.

        By McDiarmid's inequality: each of the n · n_draws signs moves the mean of the draws
        by at most 2/(n · n_draws).
        """
        return self.value + math.sqrt(2 * math.log(1 / failure) / (self.n * self.n_draws))


def supremum(
    codes: NDArray[np.unsignedinteger[Any]], n_bins: Sequence[int], sums: NDArray[np.int64]
) -> int:
    """Return the largest correlation of a 1-rule with some signs.

    max |Σ σ h(x)| over the literals h (+1 in a bin, −1 outside it) and the constant: a
    class that holds each rule's negation has the largest correlation in absolute value.
    """
    total = int(sums.sum())
    largest = abs(total)
    for j, n in enumerate(n_bins):
        of_bin = np.bincount(codes[:, j], weights=sums, minlength=n)
        largest = max(largest, int(np.abs(2 * of_bin - total).max()))
    return largest


def estimate(
    codes: NDArray[np.unsignedinteger[Any]],
    n_bins: Sequence[int],
    counts: NDArray[np.int64],
    n_draws: int,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate E_σ sup_h (1/n) Σ σ_i h(x_i) over 1-rules, from drawn sign vectors."""
    if n_draws < 2:
        raise ValueError(f"n_draws = {n_draws}, but a standard error needs at least 2")
    n = int(counts.sum())
    draws = np.empty(n_draws)
    for k in range(n_draws):
        # The sum of `counts` independent signs.
        sums = 2 * rng.binomial(counts, 0.5) - counts
        draws[k] = supremum(codes, n_bins, sums) / n
    return Estimate(float(draws.mean()), float(draws.std(ddof=1) / math.sqrt(n_draws)), n_draws, n)


def bound_of(
    margins: NDArray[np.float64], counts: NDArray[np.int64], complexity: Estimate
) -> tuple[float, float]:
    """Give the best lower bound on a vote's accuracy, and the threshold that attains it.

    With probability `CONFIDENCE` over the records, for all votes and all thresholds θ,
    error ≤ ramp loss at θ + (2/θ)·R + 3·sqrt(ln(2K/δ)/(2n)), K the number of thresholds (a
    union bound) and R an upper confidence limit of the complexity. Half of the probability
    of failure goes to R.

    Parameters
    ----------
    margins : ndarray of shape (n_rows,)
        Normalised, on the records that it was trained on.
    counts : ndarray of shape (n_rows,)
    complexity : Estimate
        On the same records.

    Returns
    -------
    accuracy : float
        Below 0 where the bound says nothing.
    threshold : float
    """
    failure = (1 - CONFIDENCE) / 2
    rest = 3 * math.sqrt(math.log(2 * len(THRESHOLDS) / failure) / (2 * complexity.n))
    upper = complexity.upper(failure)
    errors = [ramp_loss(margins, counts, theta) + 2 * upper / theta for theta in THRESHOLDS]
    best = int(np.argmin(errors))
    return 1 - errors[best] - rest, THRESHOLDS[best]


def ramp_loss(margins: NDArray[np.float64], counts: NDArray[np.int64], threshold: float) -> float:
    """Return the mean of min(1, max(0, 1 − margin/θ)).

    In [0, 1]; at least the error, and at most the share of margins below θ.
    """
    if not threshold > 0:
        raise ValueError(f"threshold = {threshold} must be above 0")
    return float(np.average(np.clip(1 - margins / threshold, 0, 1), weights=counts))


def _row(
    dataset: str,
    arm: str,
    calibration: str | None,
    epsilon: float,
    complexity: Estimate,
    found: tuple[float, float],
) -> dict[str, Any]:
    """Return the row of one model for :func:`table`; `found` is what :func:`bound` gave."""
    return {
        "dataset": dataset,
        "arm": arm,
        "calibration": calibration,
        "epsilon": epsilon,
        "n": complexity.n,
        "n_draws": complexity.n_draws,
        "complexity": complexity.value,
        "standard_error": complexity.standard_error,
        "bound": found[0],
        "threshold": found[1],
    }


def bound_table(bounds: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Put the bounds beside the accuracy of fresh trainings.

    One row for each dataset and calibration, in the order of `bounds`: mean and standard
    deviation of the bound over models, and the accuracy.
    """
    rows = []
    for key, group in bounds.groupby(["dataset", "arm", "epsilon"], sort=False):
        dataset, arm, epsilon = key
        # Within rounding: a file may have moved the last bit of ε.
        same = (accuracy["epsilon"] - group["epsilon"].iloc[0]).abs() < 1e-12
        fresh = accuracy[(accuracy["dataset"] == dataset) & (accuracy["arm"] == arm) & same]
        if len(fresh) != 1:
            raise ValueError(f"no accuracy of {arm} on {dataset} at ε = {epsilon}")
        first, found = group.iloc[0], fresh.iloc[0]
        rows.append(
            {
                "dataset": dataset,
                "calibration": first["calibration"],
                "epsilon": epsilon,
                "n": first["n"],
                "n_draws": first["n_draws"],
                "complexity": first["complexity"],
                "standard_error": first["standard_error"],
                "threshold": group["threshold"].median(),
                "bound": group["bound"].mean(),
                "bound_std": group["bound"].std(ddof=1),
                "n_models": len(group),
                "scored_on": found["scored_on"],
                "accuracy": found["accuracy"],
                "accuracy_std": found["accuracy_std"],
                "n_repeats": found["n_repeats"],
            }
        )
    return pd.DataFrame(rows)


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table as a reader wants it."""
    return pd.DataFrame(
        {
            "dataset": frame["dataset"],
            "calibration": frame["calibration"],
            "records": frame["n"].astype(str),
            "Rademacher complexity": [
                f"{value:.5f} ± {error:.5f}"
                for value, error in zip(frame["complexity"], frame["standard_error"], strict=True)
            ],
            "θ": [f"{value:.2f}" for value in frame["threshold"]],
            "bound on accuracy": [
                f"{mean:.3f} ± {std:.3f}"
                for mean, std in zip(frame["bound"], frame["bound_std"], strict=True)
            ],
            "accuracy": [
                f"{mean:.3f} ({where})"
                for mean, where in zip(frame["accuracy"], frame["scored_on"], strict=True)
            ],
        }
    )


def _notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the notes below the table."""
    first = frame.iloc[0]
    return (
        f"Complexity: mean of {int(first['n_draws'])} drawn sign vectors ± its standard error, of "
        "all signed literals and constants on the records that the models are trained on.",
        f"Bound: holds with probability {CONFIDENCE:g}; the best of {len(THRESHOLDS)} thresholds, "
        f"by a union bound; mean ± standard deviation over {int(first['n_models'])} models, each "
        "trained on the whole training part with the setting selected at this ε; θ: median.",
        "Accuracy: fresh trainings with the same setting, on the test set or on fresh folds.",
        "The bound is computed from the records themselves: it is not private.",
    )
