"""Estimate the Rademacher complexity of 1-rules, and bound the accuracy of boosted 1-rules.

Formulas and their sources: docs/research/thesis.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privcurve.lazy import pd
from privcurve.outputs.base import Context, Option, Output, OutputRequest, Reads
from privcurve.tables.table import Table

from ._checks import check_one_rules

if TYPE_CHECKING:
    from privcurve.experiments.models import Inspection


class Rademacher(Output):
    """Table ``rademacher``: complexity, margin bound and accuracy of boosted 1-rules at one ε."""

    word: ClassVar[str] = "rademacher"
    version: ClassVar[int] = 2
    local: ClassVar[bool] = False
    options: ClassVar = {
        "learner": Option("an entry of the study's learners: LazyBB with 1-rules", str),
        "epsilon": Option("an ε of that learner", float),
        "draws": Option("number of sign vectors of an estimate", int, 2000),
    }

    def check(self, request: OutputRequest) -> None:
        check_one_rules(request)
        request.check_epsilon(request.options["learner"], request.options["epsilon"])
        if request.options["draws"] < 2:
            raise ValueError(
                f"draws must be at least 2, for a standard error; got {request.options['draws']}"
            )

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.methods_of(request.options["learner"])
        curves, versions = request.curves_of(methods), [method.version for method in methods]
        return Reads(curves, data=request.study.datasets, outputs=("accuracy",), facts=versions)

    def make(self, context: Context) -> None:
        from privcurve.experiments import models

        from ._insides import margins_of

        selected, options = context.read_selected(), context.options
        rows = []
        for name in context.study.datasets:
            data, complexity = context.data(name), None
            for method in context.request.methods_of(options["learner"]):
                point = models.selected_point(method, selected, name, options["epsilon"])
                repeats = context.study.repeats
                for model in models.train_afresh(data, method, point, repeats, context.seed):
                    if complexity is None:
                        rng = models.stream("rademacher", data, context.seed)
                        complexity = complexity_of(model, options["draws"], rng)
                        print(f"{data.name}: {complexity}", flush=True)
                    margins = margins_of(model, model.train)
                    best = bound_of(margins, model.train.counts, complexity)
                    key = (name, method.name, method.calibration, point.epsilon)
                    rows.append(row_of(key, complexity, best))
        frame = bound_table(pd.DataFrame(rows), context.table_of("accuracy"))
        context.write(Table(frame, CAPTION, notes_of(frame), format_table(frame)))


CONFIDENCE = 0.95  # probability with which the bound holds

# The margin thresholds θ. The bound uses the θ that makes it best. A union bound over all θ makes
# this choice valid, because all θ are fixed before any data are seen.
THRESHOLDS = tuple(k / 100 for k in range(1, 101))

CAPTION = "Margin bound of boosted 1-rules from their Rademacher complexity"


class Estimate(NamedTuple):
    """A Monte-Carlo estimate of the empirical Rademacher complexity of 1-rules on n records."""

    value: float
    standard_error: float
    n_draws: int
    n: int

    def upper(self, failure: float) -> float:
        """Return an upper confidence limit of the complexity, wrong with probability ≤ `failure`.

        It follows from McDiarmid's inequality: each of the n · n_draws random signs changes the
        mean of the draws by at most 2/(n · n_draws).
        """
        return self.value + math.sqrt(2 * math.log(1 / failure) / (self.n * self.n_draws))


def supremum(
    codes: NDArray[np.unsignedinteger[Any]], n_bins: Sequence[int], sums: NDArray[np.int64]
) -> int:
    """Return the largest correlation max_h Σ_i σ_i h(x_i) of 1-rules h with signs σ.

    `sums` has, for each row of `codes`, the sum of the signs of the records that are equal to the
    row. A 1-rule is +1 in one bin and −1 elsewhere, or constant, or the negation of such a rule; so
    the maximum is over absolute values.
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
    """Estimate the Rademacher complexity E_σ max_h (1/n) Σ_i σ_i h(x_i) of 1-rules h.

    The estimate is the mean over `n_draws` random sign vectors σ. `counts` has the number of
    records that are equal to each row of `codes`.
    """
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, for a standard error; got {n_draws}")
    n = int(counts.sum())
    draws = np.empty(n_draws)
    for k in range(n_draws):
        # Each row gets the sum of independent random signs, one sign for each of its records.
        sums = 2 * rng.binomial(counts, 0.5) - counts
        draws[k] = supremum(codes, n_bins, sums) / n
    return Estimate(float(draws.mean()), float(draws.std(ddof=1) / math.sqrt(n_draws)), n_draws, n)


def complexity_of(model: Inspection, n_draws: int, rng: np.random.Generator) -> Estimate:
    """Estimate the complexity of 1-rules on the bins that a model's learner sees."""
    learner, train = model.learner, model.train
    codes = learner._merge(train.codes)
    return estimate(codes, learner.n_bins_, train.counts, n_draws, rng)


def bound_of(
    margins: NDArray[np.float64], counts: NDArray[np.int64], complexity: Estimate
) -> tuple[float, float]:
    """Return the best lower bound on a model's accuracy, and the threshold that attains it.

    `margins` are the normalised margins of the training rows, `counts` their numbers of records.
    With probability `CONFIDENCE` over the draw of the training records, for all boosted models and
    all thresholds θ, error ≤ (ramp loss at θ) + (2/θ)·R + 3·sqrt(ln(2K/δ)/(2n)). n is the number of
    training records, and K the number of thresholds (union bound). R is an upper confidence limit
    of the complexity, which uses half of the failure probability; δ is the other half. A bound
    below 0 says nothing.
    """
    failure = (1 - CONFIDENCE) / 2
    rest = 3 * math.sqrt(math.log(2 * len(THRESHOLDS) / failure) / (2 * complexity.n))
    upper = complexity.upper(failure)
    errors = [ramp_loss(margins, counts, theta) + 2 * upper / theta for theta in THRESHOLDS]
    best = int(np.argmin(errors))
    return 1 - errors[best] - rest, THRESHOLDS[best]


def ramp_loss(margins: NDArray[np.float64], counts: NDArray[np.int64], threshold: float) -> float:
    """Return the mean of min(1, max(0, 1 − margin/θ)) over all records; θ is `threshold`.

    The mean is at least the model's error, and at most the share of margins below θ.
    """
    if not threshold > 0:
        raise ValueError(f"threshold must be above 0; got {threshold}")
    return float(np.average(np.clip(1 - margins / threshold, 0, 1), weights=counts))


def row_of(
    key: tuple[str, str, str | None, float], complexity: Estimate, bound: tuple[float, float]
) -> dict[str, Any]:
    """Return the row of one model, as :func:`bound_table` reads it.

    `key` is (dataset, method, calibration, ε), and `bound` is (bound, threshold).
    """
    return {
        **dict(zip(("dataset", "method", "calibration", "epsilon"), key, strict=True)),
        "n": complexity.n,
        "n_draws": complexity.n_draws,
        "complexity": complexity.value,
        "standard_error": complexity.standard_error,
        "bound": bound[0],
        "threshold": bound[1],
    }


def bound_table(bounds: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation of the bound over models, and the accuracy.

    `bounds` has a row of :func:`row_of` for each model. `accuracy` is the study's table
    ``accuracy``, with means over the repeated trainings of each selected setting.
    """
    rows = []
    for (dataset, method, epsilon), group in bounds.groupby(
        ["dataset", "method", "epsilon"], sort=False
    ):
        # ε is compared with a tolerance, because writing it to a file may have changed its last
        # bit.
        same = (accuracy["epsilon"] - group["epsilon"].iloc[0]).abs() < 1e-12
        fresh = accuracy[(accuracy["dataset"] == dataset) & (accuracy["method"] == method) & same]
        if len(fresh) != 1:
            raise ValueError(
                f"table accuracy must have one row for {method} on {dataset} at ε = {epsilon}; "
                f"got {len(fresh)}"
            )
        of_models = ["dataset", "calibration", "epsilon", "n", "n_draws", "complexity"]
        rows.append(
            {
                **group.iloc[0][[*of_models, "standard_error"]],
                "threshold": group["threshold"].median(),
                "bound": group["bound"].mean(),
                "bound_std": group["bound"].std(ddof=1),
                "n_models": len(group),
                **fresh.iloc[0][["scored_on", "accuracy", "accuracy_std", "n_repeats"]],
            }
        )
    return pd.DataFrame(rows)


def format_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table for readers: fewer columns, with standard errors or deviations after ±."""
    forms = {
        "Rademacher complexity": "{complexity:.5f} ± {standard_error:.5f}",
        "θ": "{threshold:.2f}",
        "bound on accuracy": "{bound:.3f} ± {bound_std:.3f}",
        "accuracy": "{accuracy:.3f} ({scored_on})",
    }
    texts = frame[["dataset", "calibration"]].assign(records=frame["n"].astype(str))
    for name, form in forms.items():
        texts[name] = [form.format_map(row) for row in frame.to_dict("records")]
    return texts


def notes_of(frame: pd.DataFrame) -> tuple[str, ...]:
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
