"""Compare the speed of DP-TopDown trees, single and boosted, with scikit-learn's trees.

    PRIVCURVE_DATA=<mirror> python benchmarks/trees.py [--json FILE] [--repeats N]

The program uses Adult if PRIVCURVE_DATA is set, otherwise synthetic rows of its shape. scikit-learn
gets one-hot columns (162 for Adult), so that both libraries' trees have the same splits to choose
from.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from lazybb import adult, best, distinct_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file too")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    name, X, y, n_bins = adult()
    one_hot = np.concatenate(
        [X[:, [j]] == np.arange(size) for j, size in enumerate(n_bins)], axis=1
    ).astype(np.float32)
    print(f"{name}: {len(X)} records, {one_hot.shape[1]} one-hot columns")
    results = [
        single(X, y, n_bins, one_hot, options.repeats),
        boosted(X, y, n_bins, one_hot, options.repeats),
    ]
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def single(
    X: np.ndarray, y: np.ndarray, n_bins: tuple[int, ...], one_hot: np.ndarray, repeats: int
) -> dict[str, float | str]:
    from sklearn.tree import DecisionTreeClassifier

    from privcurve.learners import TopDownTreeClassifier

    ours = TopDownTreeClassifier(depth=6, n_bins=n_bins, random_state=0)
    theirs = DecisionTreeClassifier(max_depth=6)
    return report(
        "one tree of depth 6",
        best(lambda: ours.fit(X, y), repeats),
        best(lambda: ours.predict(X), repeats),
        best(lambda: theirs.fit(one_hot, y), repeats),
        best(lambda: theirs.predict(one_hot), repeats),
    )


def boosted(
    X: np.ndarray, y: np.ndarray, n_bins: tuple[int, ...], one_hot: np.ndarray, repeats: int
) -> dict[str, float | str]:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    from privcurve.learners import LazyBBClassifier

    rows, labels, counts = distinct_rows(X, y)
    ours = LazyBBClassifier(
        weak_learner="topdown", depth=3, n_rounds=29, n_bins=n_bins, random_state=0
    )
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=29)
    return report(
        "29 boosted trees of depth 3",
        best(lambda: ours.fit(rows, labels, counts), repeats),
        best(lambda: ours.predict(X), repeats),
        best(lambda: theirs.fit(one_hot, y), 1),
        best(lambda: theirs.predict(one_hot), 1),
    )


def report(
    what: str, fit: float, predict: float, their_fit: float, their_predict: float
) -> dict[str, float | str]:
    print(f"\n{what:28s} {'ours':>9} {'sklearn':>9} {'ratio':>6}")
    print(f"  fit, ms                    {fit * 1e3:9.2f} {their_fit * 1e3:9.0f}", end=" ")
    print(f"{their_fit / fit:6.0f}")
    print(f"  predict, ms                {predict * 1e3:9.2f} {their_predict * 1e3:9.0f}", end=" ")
    print(f"{their_predict / predict:6.0f}")
    return {
        "what": what,
        "fit_ms": fit * 1e3,
        "predict_ms": predict * 1e3,
        "sklearn_fit_ms": their_fit * 1e3,
        "sklearn_predict_ms": their_predict * 1e3,
        "times_faster": their_fit / fit,
        "times_faster_to_predict": their_predict / predict,
    }


if __name__ == "__main__":
    main()
