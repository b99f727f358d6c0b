"""Find distinct rows with counts, make stratified folds, and balance labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Codes

# Number of rows that are compared with the previous rows at once; limits the memory for copies.
_AT_ONCE = 2**16


def distinct(
    X: Codes, y: NDArray[np.integer[Any]]
) -> tuple[Codes, NDArray[np.int8], NDArray[np.int64]]:
    """Merge equal rows with equal labels; return the distinct rows, their labels and their counts.

    Labels are −1 and +1, or 0, 1, … with more than two classes. The result is in lexicographic
    order (columns first, then label), independent of the order of the records.
    """
    if len(X) != len(y):
        raise ValueError(f"X and y must have the same number of rows; got {len(X)} and {len(y)}")
    if len(X) == 0:
        return X, np.asarray(y, dtype=np.int8), np.zeros(0, dtype=np.int64)
    # Store numbers as big-endian bytes: sorted as byte strings, they are then sorted as numbers.
    table = np.empty((len(X), X.shape[1] + 1), dtype=X.dtype.newbyteorder(">"))
    table[:, :-1] = X
    table[:, -1] = np.maximum(y, 0)
    packed = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    # Do what np.unique does, but without its two copies of the table.
    order = np.argsort(packed, kind="stable")
    new = np.ones(len(order), dtype=bool)
    for start in range(1, len(order), _AT_ONCE):
        rows = packed[order[start - 1 : start + _AT_ONCE]]
        new[start : start + _AT_ONCE] = rows[1:] != rows[:-1]
    del table, packed
    first = order[new]
    counts = np.diff(np.flatnonzero(new), append=len(order))
    return X[first], np.asarray(y, dtype=np.int8)[first], counts


def stratified_folds(
    y: NDArray[np.integer[Any]], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Distribute the records of each class evenly over folds; return the fold of each record.

    Folds are numbered from 0. The sizes of any two folds differ by at most one record, in each
    class and in total. Raises ValueError if `n_folds` is less than 2, or more than the number of
    records of the smallest class.
    """
    y = np.asarray(y)
    labels = check_folds(y, n_folds)
    folds = np.empty(len(y), dtype=np.int64)
    n_dealt = 0
    for label in labels:
        members = rng.permutation(np.flatnonzero(y == label))
        # Continue with the fold after the last one of the previous class, so that the total sizes
        # of folds differ by at most one.
        folds[members] = (n_dealt + np.arange(len(members))) % n_folds
        n_dealt += len(members)
    return folds


def check_folds(y: NDArray[np.integer[Any]], n_folds: int) -> NDArray[np.integer[Any]]:
    """Check that each fold can have a record of each class; return the sorted classes.

    Raises ValueError if `n_folds` is less than 2, or more than the size of the smallest class.
    """
    if n_folds < 2:
        raise ValueError(f"n_folds must be ≥ 2; got {n_folds}")
    labels, sizes = np.unique(y, return_counts=True)
    if len(y) == 0 or sizes.min() < n_folds:
        smallest = int(sizes.min()) if len(y) else 0
        which = f" labelled {labels[np.argmin(sizes)]}" if len(y) else ""
        raise ValueError(
            f"n_folds must be at most the number of records{which}, {smallest}; got {n_folds}. "
            "Use fewer folds, or more records"
        )
    return labels


def label_persons(
    y: NDArray[np.integer[Any]], persons: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.integer[Any]], NDArray[np.intp]]:
    """Return the label of each person, and for each record the index of its person's label.

    The label of a person is the rarest label of all the person's records. So in folds that are
    stratified by persons' labels, persons with rare labels are spread evenly.
    """
    each, places = np.unique(persons, return_inverse=True)
    labels, of_records, counts = np.unique(y, return_inverse=True, return_counts=True)
    from_rarest = np.argsort(counts, kind="stable")
    rarest = np.full(len(each), len(labels))
    np.minimum.at(rarest, places, np.argsort(from_rarest, kind="stable")[of_records])
    return labels[from_rarest[rarest]], places


def balance_labels(
    y: NDArray[np.integer[Any]], rng: np.random.Generator | None = None
) -> NDArray[np.intp]:
    """Select equally many records of each label, namely as many as the rarest label has.

    Returns the sorted positions of the selected records: the first ones of each label, or with
    `rng` random ones.
    """
    labels, sizes = np.unique(y, return_counts=True)
    chosen = []
    for label in labels:
        members = np.flatnonzero(y == label)
        if rng is not None and len(members) > sizes.min():
            members = members[np.argsort(rng.random(len(members)), kind="stable")]
        chosen.append(members[: sizes.min()])
    return np.sort(np.concatenate(chosen))
