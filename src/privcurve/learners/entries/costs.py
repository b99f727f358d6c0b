"""Estimate the seconds of a fit of each learner, by which the workflow groups runs into jobs.

Each function takes all hyperparameters of a learner and the shape of the encoded matrix. The
coefficients were measured on one core, for training and scoring. The only harm of a wrong
estimate is that jobs are shorter or longer than ``seconds_per_job``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def boosting(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of LazyBB with 1-rules or trees."""
    if setting["weak_learner"] == "topdown":
        return 1e-3 + float(setting["n_rounds"]) * _tree(setting, n_rows, n_columns)
    return _rules(float(setting["n_rounds"]), n_rows, n_columns)


def one_rule(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of a 1-rule."""
    return _rules(1.0, n_rows, n_columns)


def _rules(n_rounds: float, n_rows: int, n_columns: int) -> float:
    return 5e-4 + 2e-10 * n_rounds * n_rows * n_columns


def topdown(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of one DP-TopDown tree."""
    return 1e-3 + _tree(setting, n_rows, n_columns)


def _tree(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    depth = min(int(setting["depth"]), 10)
    # Below the root, a level reads only the smaller child of each split, hence depth / 2. The last
    # term is the time to draw the noise of all nodes.
    return 1e-4 + 5e-10 * (1 + depth / 2) * n_rows * n_columns + 4e-6 * 2**depth


def logistic_regression(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of logistic regression, private or not."""
    return 1e-2 + 2.2e-7 * n_rows * n_columns


def gradient_boosting(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of gradient boosting."""
    return 1e-2 + 2.5e-8 * float(setting["n_estimators"]) * n_rows * n_columns


def dp_ebm(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of DP-EBM: it computes a histogram per round and column."""
    return 0.05 + float(setting["max_rounds"]) * n_columns * (5e-5 + 5e-9 * n_rows)


def dpl_trees(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of diffprivlib's decision tree or random forest."""
    n_trees, depth = int(setting.get("n_estimators", 1)), int(setting["max_depth"])
    # diffprivlib loops in Python over all nodes, and over all leaves that have records.
    leaves = min(2.0**depth, n_rows / n_trees)
    each = 2e-5 * 2**depth + leaves * (4e-5 + 7e-10 * n_rows / n_trees)
    return 0.01 + 1.2e-7 * n_rows * depth + n_trees * each


def dpl_logistic_regression(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of diffprivlib's logistic regression: some hundred passes over rows."""
    return 2e-2 + 3e-7 * n_rows * n_columns


def dpl_gaussian_nb(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of diffprivlib's naive Bayes."""
    return 1e-2 + 1e-3 * n_columns + 3e-8 * n_rows * n_columns


def majority(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of a majority baseline, which counts labels."""
    return 2e-3


def noisy_bayes(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of noisy naive Bayes, which counts bins by label."""
    return 2e-3 + 1e-8 * n_rows * n_columns


def random_trees(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of boosted random trees.

    Each record passes through each tree twice: for the sums of the leaves, and for its new score.
    """
    trees, depth = float(setting["n_trees"]), int(setting["depth"])
    rounds = trees / min(trees, float(setting["batch"]))
    sent = 5e-5 * rounds * int(setting["n_holders"]) + 1e-7 * trees * 2**depth
    return 5e-3 + sent + 2.2e-9 * trees * depth * n_rows


def privgam(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of PrivGAM: up to 12 passes over records, and a network."""
    return 5e-3 + n_columns * (2e-3 + 5e-6 * n_columns + 3.2e-8 * n_rows)


def dp_newton(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit by Newton steps: a Gram matrix, and a pass per step."""
    return 1e-2 + n_rows * n_columns * (2e-9 * n_columns + 1e-8 * float(setting["n_steps"]))


def dp_gradient_descent(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit by gradient descent: a pass over all rows per step."""
    return 5e-3 + 1e-8 * n_rows * n_columns * float(setting["n_steps"])


def dp_sgd(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of DP-SGD: a cost per step plus a cost per record."""
    n_steps = float(setting["n_epochs"]) / float(setting["batch_rate"])
    width = 1 + float(setting["n_hidden"])
    each = 1e-4 + 1e-9 * n_rows + 1e-6 * n_columns * width
    return n_steps * each + 3e-8 * setting["n_epochs"] * n_rows * n_columns * width


def boosted_adassp(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of Boosted AdaSSP: a round costs as much as a Newton step."""
    return dp_newton({"n_steps": setting["n_rounds"]}, n_rows, n_columns)


def mst(setting: Mapping[str, Any], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of MST: it counts all pairs of columns, then boosts trees."""
    drawn = min(n_rows, int(setting["most_records"]))
    boosting = float(setting["n_rounds"]) * (5e-4 + 5e-9 * drawn * n_columns)
    return 5e-2 + 3e-9 * n_rows * (n_columns * n_columns) + boosting


def aim(setting: Mapping[str, object], n_rows: int, n_columns: int) -> float:
    """Estimate the seconds of a fit of AIM: it counts triples of columns, then runs all rounds."""
    # A rough average: the number of rounds depends on ε, and later rounds take longer, as the model
    # grows.
    rounds = 0.3 * n_columns
    return rounds + mst(setting, n_rows, n_columns)
