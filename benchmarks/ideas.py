"""What would PrivGAM gain by ideas that it does without? Prototypes beside it as it is.

    PRIVCURVE_DATA=<mirror> python benchmarks/ideas.py [--datasets NAME,…] [--repeats N]

A record is added; δ = 1e-5. Samples of four fifths, up to 8,000 of the others scored. A line is a
dataset and ε: PrivGAM's accuracy, then each idea's less that, with standard errors over samples;
at last means over datasets, with standard errors over these. Nothing of a test file is used.

joint       joint Newton steps, all of the budget (`dp_newton`): what a choice of either starts from
decided     the label's margin (2 % of μ²) and joint slopes (15 %) say whether joint Newton steps
            or PrivGAM get the rest
log_ratio   log S₁/S₀ in place of G/H, where both are above twice their noise
intercept   half of FIRST_NEEDS: less for the intercept where n·μ is small
sizes       those of the prior are quantiles of what columns of the other datasets have, without
            noise
nominal     a linear part also where columns are nominal, their codes as places

Noise of the prototypes is right, but drawn by NumPy: they are no certified learners.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.optimize import brentq

from paired import MOST_SCORED, accuracy
from privcurve import datasets
from privcurve.coding import merged_bins
from privcurve.learners import registry
from privcurve.learners.additive import fitting, rule
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.calibration.privgam import CLIP, gaussian_budget

DELTA = 1e-5
EPSILONS = (0.05, 0.1, 0.5, 1.0, 3.0)
# Those that may set constants of PrivGAM: docs/privgam.md.
SETTING = (
    "adult-fine,bank-fine,creditcard-fine,creditcardsmall,codrna-fine,mushroom,magic-bounds,"
    "page-log,breastwisc,banknote,winewhite,eeg-bounds,transfusion"
)
MARGIN_SHARE, SLOPES_SHARE, GRAM_SHARE, NEWTON_STEPS = 0.02, 0.15, 0.15, 6
# Groups of an ordered column below so much n·μ a column; 16 above.
GROUPS = ((36.0, 4), (150.0, 8), (math.inf, 16))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default=SETTING)
    parser.add_argument("--repeats", type=int, default=6)
    options = parser.parse_args()
    names = options.datasets.split(",")
    loaded = {name: datasets.load(name) for name in names}
    deviations = {name: without_noise(data) for name, data in loaded.items()}
    means = {}
    for name, data in loaded.items():
        others = np.concatenate([deviations[other] for other in names if other != name] or [[]])
        for epsilon in EPSILONS:
            rows = [compared(data, epsilon, others, r) for r in range(options.repeats)]
            print(f"{name} {epsilon:g}: {told(rows)}", flush=True)
            means[name, epsilon] = {idea: np.mean([row[idea] for row in rows]) for idea in rows[0]}
    for epsilon in EPSILONS:
        print(f"mean {epsilon:g}: {told([means[name, epsilon] for name in names])}")


def told(rows: list[dict[str, float]]) -> str:
    """Return means and standard errors in words: PrivGAM's, and of the ideas' less that."""
    words = []
    for idea in rows[0]:
        values = [row[idea] - (0 if idea == "privgam" else row["privgam"]) for row in rows]
        error = np.std(values, ddof=1) / math.sqrt(len(values))
        sign = "" if idea == "privgam" else "+"
        words.append(f"{idea} {np.mean(values):{sign}.4f} ({error:.4f})")
    return ", ".join(words)


def compared(data: Any, epsilon: float, others: np.ndarray, repeat: int) -> dict[str, float]:
    """Return the accuracies of PrivGAM and of all ideas on one sample."""
    order = np.random.default_rng(repeat).permutation(len(data.y))
    n = int(0.8 * len(data.y))
    rows = order[:n], order[n : n + MOST_SCORED]

    def score(learner: str = "privgam", amount: float = epsilon, **given: Any) -> float:
        budget = {"epsilon": amount, "delta": DELTA}
        return accuracy(learner, given, {}, data, rows, budget, ADD_REMOVE, repeat)

    scores = {"privgam": score(), "joint": score("dp_newton")}
    scores["decided"] = decided(data, rows[0], epsilon, repeat, score)
    sizes = (0.0, *np.quantile(others, (np.arange(6) + 0.5) / 6)) if len(others) else rule.SIZES
    needs = {pure: value / 2 for pure, value in rule.FIRST_NEEDS.items()}
    ideas: dict[str, tuple[Any, str, Any]] = {
        "log_ratio": (fitting.Running, "add", with_log_ratio),
        "intercept": (rule, "FIRST_NEEDS", needs),
        "sizes": (fitting, "SIZES", np.array(sizes)),
        "nominal": (rule, "has_line", line_whatever),
    }
    for idea, change in ideas.items():
        with changed(*change):
            scores[idea] = score()
    return scores


@contextmanager
def changed(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Let a name stand for something else meanwhile."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def with_log_ratio(
    running: Any, sums: np.ndarray, cell_variance: float, shape: np.ndarray, weight: float
) -> Any:
    """Do as `Running.add`, with slopes whose step G/H is log S₁/S₀ where that is known."""
    sure = (sums > 2 * math.sqrt(cell_variance)).all(axis=0)
    total = sums.sum(axis=0)
    slope = sums[1] - sums[0]
    steps = np.log(np.where(sure, sums[1], 1.0) / np.where(sure, sums[0], 1.0))
    slope = np.where(sure, steps * total / 2, slope)
    return ADD(running, np.stack([total - slope, total + slope]) / 2, cell_variance, shape, weight)


ADD = fitting.Running.add


def line_whatever(ordered: Any, n: float, amount: float, pure: bool) -> bool:
    """Do as `rule.has_line`, as if all columns were ordered."""
    return len(ordered) >= 2 and n * amount >= rule.LINE_FROM[pure]


def without_noise(data: Any) -> np.ndarray:
    """Return the deviations of columns' values over records, of a fit without privacy."""
    made = registry.make("privgam", data.domain, {"epsilon": math.inf})
    shapes = made.set_params(random_state=0).fit(data.X, data.y).model_.shapes
    spreads = [shape[data.X[:, j]].std() for j, shape in enumerate(shapes)]
    return np.array([spread for spread in spreads if spread > 0])


def decided(
    data: Any, rows: np.ndarray, epsilon: float, seed: int, score: Callable[..., float]
) -> float:
    """Return the accuracy of the learner that the joint slopes decide for, with what is left."""
    mu = gaussian_budget(epsilon, DELTA, ADD_REMOVE).amount
    n, d = len(rows), data.X.shape[1]
    rng = np.random.default_rng([seed, 1])
    labels = data.y[rows] > 0
    share = (labels.sum() + rng.normal() / (mu * math.sqrt(MARGIN_SHARE))) / n
    share = min(max(share, 1 / n), 1 - 1 / n)
    # Where clipped residuals of both labels balance.
    odds = share / (1 - share)
    chance = odds / 2 if odds <= 1 else 1 - 1 / (2 * odds)
    residuals = np.clip(labels - chance, -CLIP, CLIP)
    n_groups = next(groups for most, groups in GROUPS if n * mu < most * d)
    n_bins = np.array(data.domain.n_bins)
    maps = merged_bins(n_bins, n_bins * np.array(data.domain.ordered), n_groups)
    deviation = CLIP * math.sqrt(d) / (mu * math.sqrt(SLOPES_SHARE))
    evidence, n_slopes = np.zeros(d), 0
    for j, groups in enumerate(maps):
        slopes = np.bincount(groups[data.X[rows, j]], residuals, groups[-1] + 1)
        slopes += rng.normal(0, deviation, len(slopes))
        evidence[j] = (slopes**2).sum() / deviation**2 - len(slopes)
        n_slopes += len(slopes)
    positive = np.maximum(evidence, 0).sum()
    left = 1 - MARGIN_SHARE - SLOPES_SHARE
    one = evidence.max() > positive / 2 or evidence.sum() <= 2 * math.sqrt(2 * n_slopes)
    if one or n * mu >= rule.PAIRS_FROM:
        return score(amount=epsilon_of(left, epsilon))
    given = {"n_groups": n_groups, "n_steps": NEWTON_STEPS, "gram_share": GRAM_SHARE / left}
    return score("dp_newton", epsilon_of(left, epsilon), **given)


KNOWN: dict[tuple[float, float], float] = {}


def epsilon_of(share: float, epsilon: float) -> float:
    """Return the ε of a share of μ²."""
    if (share, epsilon) not in KNOWN:
        mu = gaussian_budget(epsilon, DELTA, ADD_REMOVE).amount * math.sqrt(share)

        def excess(log: float) -> float:
            return gaussian_budget(math.exp(log), DELTA, ADD_REMOVE).amount - mu

        root = brentq(excess, math.log(epsilon) - 2, math.log(epsilon), xtol=1e-4)
        KNOWN[share, epsilon] = math.exp(root)
    return KNOWN[share, epsilon]


if __name__ == "__main__":
    main()
