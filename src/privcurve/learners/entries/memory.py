"""About how much memory the training of each learner takes: what its jobs ask a cluster for.

Measured at the peak of the process, scoring included, on 0.2 to 5 million records of 8 and of 30
columns of ten codes, four fifths of which are trained on. No two records are alike: tables with
many that are take less, down to a third.
"""

from __future__ import annotations

from collections.abc import Mapping

# Bytes that each record takes, and each of its values (of one coded column) if codes have a byte.
PEAKS: Mapping[str, tuple[float, float]] = {
    "lazybb": (31, 7.6),
    "one_rule": (31, 7.6),
    "topdown": (57, 3.6),
    "dpboost": (60, 2.4),
    "dp_bagging": (41, 4.0),
    "dp_logistic_regression": (73, 12.3),
    "brc": (80, 8.2),
    "boosting_for_people": (0, 24.7),
    "noisy_bayes": (49, 2.6),
    "distributed_topdown": (63, 5.5),
    "random_trees": (148, 3.3),
    "bdpe": (71, 2.6),
    "dp_forest": (59, 2.5),
    "privgam": (39, 3.8),
    "logistic_regression": (83, 31.8),
    "gradient_boosting": (60, 9.0),
    "majority_class": (87, 2.7),
}
# Learners that are not in the table, such as a user's own, count as the one that takes most on 30
# columns.
OTHER = max(PEAKS.values(), key=lambda peak: peak[0] + 30 * peak[1])

# Scores of each class, where there are more than two, and a copy.
_PER_CLASS = 16.0


def training_bytes(
    learner: str, n_rows: int, n_columns: int, n_classes: int = 2, code_bytes: int = 1
) -> float:
    """Return about how many bytes one training takes at its peak, its data included.

    That is without what a program takes that trains on nothing. The coded matrix is of `n_rows`,
    test part included, and `n_columns`; a code takes 1 byte, or 2 where a column has more than 256.
    """
    record, value = PEAKS.get(learner, OTHER)
    classes = _PER_CLASS * n_classes if n_classes > 2 else 0.0
    return n_rows * (record + classes + value * n_columns * code_bytes)
