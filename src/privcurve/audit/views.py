"""Compute *views* of the fitted states of models: columns in which attacks search for an event.

Each column is a function of the fitted state. Some fits choose the column and the event, and other
fits bound the event's probability. So any function is allowed, and more columns cost no confidence.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.audit.states import ABSENT, States
from privcurve.coding import Floats

# Each pair of an attribute's first MOST_PAIRED numbers gives a column with their difference. The
# limit keeps the number of columns small.
MOST_PAIRED = 8
# Number of decimals of differences and checksums; more decimals would show rounding errors.
DIGITS = 9
# Fits are compared in tables with a row per fit. An attribute of the model that is an array fills
# one column per number, for its first MOST_NUMBERS numbers.
MOST_NUMBERS = 64
# To estimate the likelihood ratio, fits are counted in this number of intervals of a column.
N_CELLS = 12

# Noise in single precision can reveal the exact number to which it is added. So an attribute gets a
# column of integers for each of its `rates`: bit i says whether number i of the attribute looks
# like such noise. It does if it is within the relative distance _ROUNDING of a float32, which
# allows for the rounding of a few products. Numbers with few digits (_FEW_DIGITS) do not count, as
# they may have no noise. There are bits for the first _BITS numbers.
_ROUNDING = 2.0**-50
_FEW_DIGITS = 2.0**-16
_BITS = 48


def views(left: States, right: States, n_learning: int) -> tuple[Floats, Floats, list[str]]:
    """Return the columns of the left side, the columns of the right side, and their names.

    Both arrays have the shape (n_fits, n_columns). The first `n_learning` fits estimate the
    likelihood ratio.
    """
    tables = left.widen(right), right.widen(left)
    rates = dict.fromkeys((1.0, *left.rates, *right.rates))
    parts: list[list[Floats]] = [[], []]
    names: list[str] = []
    for name in tables[0]:
        both = [table[name] for table in tables]
        # Both sides must get the same columns: treat the numbers as integers only if all numbers of
        # both sides are integers.
        no_fraction = all((values == np.round(values)).all() for values in both)
        sides = [_columns(values, name, () if no_fraction else rates) for values in both]
        for column in sides[0]:
            values = [side[column] for side in sides]
            first = np.concatenate([v[: 2 * n_learning] for v in values])
            if (first == first[0]).all():
                continue
            names.append(column)
            for part, value in zip(parts, values, strict=True):
                part.append(value)
    if not names:
        nothing = [np.zeros((len(table[next(iter(table))]), 1)) for table in tables]
        return nothing[0], nothing[1], ["nothing that ever changes"]
    tables_of = [np.stack(part, axis=1) for part in parts]
    few = np.array([len(np.unique(column[:n_learning])) <= N_CELLS for column in tables_of[0].T])
    ratios = _ratio(tables_of[0], tables_of[1], n_learning)
    left_view, right_view = (
        np.column_stack([table, _checksums(table), _checksums(table[:, few]), ratio])
        for table, ratio in zip(tables_of, ratios, strict=True)
    )
    names += ["the whole state", "all that has few values", "likelihood ratio of the whole state"]
    return left_view, right_view, names


def _round(values: Floats) -> Floats:
    # Adding 0 turns −0 into 0: equal numbers must have equal bytes.
    return np.ascontiguousarray(np.round(values, DIGITS) + 0.0)


def _checksums(values: Floats) -> Floats:
    return np.array([zlib.crc32(row.tobytes()) for row in _round(values)], dtype=np.float64)


def _columns(values: Floats, name: str, rates: Collection[float]) -> Mapping[str, Floats]:
    """Return columns by name: functions of the attribute `name`, whose numbers are `values`.

    `rates` has the factors that convert numbers to units of the noise (`States.rates`); it is empty
    for integers, which have no columns that concern noise.
    """
    columns = {f"{name}[{j}]": values[:, j] for j in range(min(values.shape[1], MOST_NUMBERS))}
    if values.shape[1] > 1:
        columns[f"all of {name}"] = _checksums(values)
    if not rates:
        return columns
    for rate in rates:
        columns[f"which of {name} · {rate:g} have single precision"] = _single(values * rate)
    columns[f"sum of {name}"] = np.where(values == ABSENT, 0, values).sum(axis=1)
    for i, j in itertools.combinations(range(min(values.shape[1], MOST_PAIRED)), 2):
        columns[f"{name}[{i}] less {name}[{j}]"] = _round(values[:, i] - values[:, j])
    return columns


def _single(values: Floats) -> Floats:
    """Return an integer for each row: bit j is 1 if number j is a float32 with many digits."""
    near = np.abs(values.astype(np.float32) - values) <= _ROUNDING * np.abs(values)
    scaled = values / (_FEW_DIGITS * np.exp2(np.floor(np.log2(np.abs(values) + 1e-300))))
    long = np.abs(scaled - np.round(scaled)) > _FEW_DIGITS
    bits = (near & long)[:, :_BITS].astype(np.float64)
    return bits @ np.exp2(np.arange(bits.shape[1]))


def _ratio(left: Floats, right: Floats, n: int) -> list[Floats]:
    """Return the log-likelihood ratio (left against right) of each row, for the rows of both sides.

    The first `n` rows of each side estimate the ratio, with columns treated as independent.
    """
    totals = [np.zeros(len(left)), np.zeros(len(right))]
    for column in range(left.shape[1]):
        learned = [side[:n, column] for side in (left, right)]
        values = np.unique(np.concatenate(learned))
        if len(values) > N_CELLS:
            values = np.unique(np.quantile(values, np.linspace(0, 1, N_CELLS + 1)[1:-1]))
        counts: list[NDArray[Any]] = [
            np.bincount(np.searchsorted(values, side), minlength=len(values) + 1) + 1.0
            for side in learned
        ]
        logs = np.log(counts[0] / counts[1])
        for total, side in zip(totals, (left, right), strict=True):
            total += logs[np.searchsorted(values, side[:, column])]
    return totals
