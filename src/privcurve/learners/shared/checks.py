"""Check a learner's arguments, and make the random stream of a fit."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from privcurve.coding import MOST_CLASSES, MOST_CODES, Codes, Floats, Ints, code_type
from privcurve.given import are_positions, column_names, is_absent, plain_classes, type_of
from privcurve.learners.entry import LearnerEntry
from privcurve.privacy.budget import (
    ADD_REMOVE,
    explain_delta,
    group_guarantee,
    is_large_delta,
    is_private,
    suggest_delta,
)
from privcurve.privacy.seeds import Start, fresh_stream, start_of_fit, stream

RandomState = int | np.random.Generator | np.random.RandomState | None

# Maximum number of records: larger counts are not exact in float64.
MOST_RECORDS = 2**53

# Maximum number of column names that a message lists.
MOST_NAMED = 8


def generator_of(random_state: object, facts: Mapping[str, object]) -> np.random.Generator:
    """Convert scikit-learn's `random_state` to the generator of one fit.

    A user may fit with the same secret seed and several values of a parameter. If these fits drew
    the same random numbers, two noisy answers at different ε would reveal the exact answer.
    Therefore the random stream depends on the seed (or the next output of a generator) and on
    `facts`, all public facts of the fit. Two fits that differ only in their records still have the
    same stream, so a seed must be used for one dataset only, and a generator must not be copied.
    """
    start: Start
    if random_state is None:
        return fresh_stream()
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        start = start_of_fit(random_state)
    elif isinstance(random_state, Integral) and int(random_state) >= 0:
        start = int(random_state)
    else:
        raise ValueError(
            "random_state must be a whole number ≥ 0, a Generator, a RandomState or None; got "
            f"{random_state!r}"
        )
    if isinstance(start, bytes):
        text = json.dumps(_simplify(facts), sort_keys=True)
        return stream(hmac.digest(start, text.encode(), "sha256"))
    text = json.dumps(_simplify({**facts, "random_state": start}), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return stream(int(digest, 16), random_state)


def _simplify(value: object) -> Any:
    """Convert a public fact to JSON values that are equal for equal facts (1, 1.0, NumPy's 1)."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, (np.ndarray, np.generic)):
        return _simplify(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _simplify(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_simplify(item) for item in value]
    return str(value)


def check_places(X: object) -> None:
    """Raise ValueError if a column's name is a number other than the column's position.

    scikit-learn compares text names with the names at fit, but ignores numbers, so that a changed
    order of such columns would not be noticed.
    """
    names = column_names(X)
    if any(isinstance(name, str) for name in names) or names == list(range(len(names))):
        return
    shown = ", ".join(map(str, names[:MOST_NAMED])) + (", …" if len(names) > MOST_NAMED else "")
    raise ValueError(
        f"the columns of X are called {shown}: numbers are not compared with the names at fit. "
        "Name them by texts (X.columns = X.columns.astype(str)), or 0, 1, 2, … in their order"
    )


def check_unmasked(values: object, name: str) -> None:
    """Raise ValueError if an array has masked values, whose mask would be ignored."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not have masked values: replace them by some other value")


def check_n_bins(n_bins: int | Sequence[int], n_columns: int) -> Ints:
    """Check `n_bins` and return it as an array of shape (n_columns,)."""
    numbers = np.asarray(n_bins)
    if numbers.dtype.kind not in "iuf" or not (numbers == np.floor(numbers)).all():
        raise ValueError(f"n_bins must be whole numbers; got {n_bins!r}")
    if numbers.ndim == 0:
        numbers = np.full(n_columns, numbers)
    if numbers.shape != (n_columns,):
        raise ValueError(
            f"n_bins must have an entry for each of the {n_columns} columns of X; "
            f"it has {numbers.size}"
        )
    if (numbers < 1).any() or (numbers > MOST_CODES).any():
        raise ValueError(f"n_bins must be between 1 and {MOST_CODES} for each column")
    return numbers.astype(np.int64)


def check_bounds(bounds: Any, n_columns: int) -> tuple[Floats, Floats]:
    """Check `bounds` and return the lowest and highest values, of shape () or (n_columns,)."""
    pair = isinstance(bounds, (tuple, list, np.ndarray)) and len(bounds) == 2
    sides = [np.asarray(side) for side in bounds] if pair else []
    if not pair or any(side.dtype.kind not in "iuf" for side in sides):
        raise ValueError(
            "bounds must be a pair (low, high), each a number or one number per column; got "
            f"{bounds!r}"
        )
    low, high = (side.astype(np.float64) for side in sides)
    for side in (low, high):
        if side.shape not in ((), (n_columns,)):
            raise ValueError(
                f"bounds must have an entry for each of the {n_columns} columns of "
                f"X; they have {side.size}"
            )
    return low, high


def ordered_columns(
    learner: str, ordered: Sequence[bool] | bool | None, by_default: bool, n_columns: int
) -> tuple[bool, ...]:
    """Check `ordered` and return a flag for each column; None means `by_default` for all."""
    flags = np.asarray(by_default if ordered is None else ordered)
    if flags.ndim == 0:
        flags = np.full(n_columns, flags)
    if flags.shape != (n_columns,) or flags.dtype.kind != "b":
        raise ValueError(
            f"{learner}: ordered must be True or False for each of {n_columns} columns; got "
            f"{ordered!r}"
        )
    return tuple(flags.tolist())


def check_estimate(learner: str, neighbours: str, n_estimate: int | None) -> None:
    """Check that `n_estimate` is given if the number of records is not public, and only then."""
    if (neighbours == ADD_REMOVE) != (n_estimate is not None):
        raise ValueError(
            f"{learner}: n_estimate must be given for neighbours = 'add-remove', and only then: "
            "a public estimate of the number of records"
        )


def check_codes(matrix: NDArray[Any], n_bins: Ints) -> Codes:
    """Check that a matrix has codes below `n_bins`, and return it as unsigned integers."""
    if matrix.dtype.kind != "u":
        codes = matrix.astype(np.int64) if matrix.dtype.kind in "ifb" else None
        if codes is None or not np.array_equal(codes, matrix) or (codes.size and codes.min() < 0):
            raise ValueError(
                "X must have codes 0, 1, …, n_bins - 1 (whole numbers). For numeric columns "
                "give their public bounds: bounds=(low, high)."
            )
        matrix = codes
    # Take the maximum column by column: NumPy's maximum along an axis is five times slower.
    too_large = [column.max(initial=0) for column in matrix.T] >= n_bins
    if too_large.any():
        column = int(np.argmax(too_large))
        raise ValueError(
            f"codes of column {column} must be below its n_bins, {int(n_bins[column])}; got "
            f"{int(matrix[:, column].max())}. Values outside the domain have no code"
        )
    return np.ascontiguousarray(matrix, dtype=code_type(n_bins))


def plain_number(value: Any) -> Any:
    """Convert a NumPy number or a fraction to Python's int or float; return others unchanged.

    A parameter grid may contain such numbers. NumPy's numbers may have fewer bits than Python's,
    and statements can store neither NumPy's numbers nor fractions.
    """
    value = value.item() if isinstance(value, np.generic) else value
    is_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    try:
        return float(value) if is_fraction else value
    except OverflowError:  # the value is refused later, as it is too large for a float
        return value


def refuse_others(name: str, others: Mapping[str, object]) -> None:
    """Raise TypeError if `fit` got other arguments than X, y and counts."""
    if "sample_weight" in others:
        raise TypeError(
            f"{name} has no sample_weight: noise is calibrated for records that count once, and "
            "a weight would need more noise. For rows that represent several records, give "
            "counts= (whole numbers)."
        )
    if others:
        raise TypeError(f"{name}: fit has only X, y and counts; got {', '.join(others)}")


def check_counts(counts: ArrayLike | None, n_rows: int) -> Ints:
    """Check `counts` and return the number of records that each row represents; None: 1 each."""
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    check_unmasked(counts, "counts")
    given = np.asarray(counts)
    numbers = given.dtype.kind in "iuf" and given.shape == (n_rows,)
    if not numbers or not (given == np.floor(given)).all() or (given < 1).any():
        raise ValueError(f"counts must be {n_rows} whole numbers ≥ 1")
    if given.astype(np.float64).sum() > MOST_RECORDS:
        raise ValueError(
            f"counts must add up to at most {MOST_RECORDS} records, or they would overflow"
        )
    return given.astype(np.int64)


def warn_of_index(X: object, **others: Any) -> None:
    """Warn if `y` or `counts` has another pandas index than X: rows are matched by position."""
    rows: Any = getattr(X, "index", None)
    for name, values in others.items():
        index: Any = getattr(values, "index", None)
        # A list also has an attribute `index` (its method), so check for `equals`.
        if hasattr(rows, "equals") and hasattr(index, "equals") and not rows.equals(index):
            warnings.warn(
                f"X and {name} have different indexes: they are joined by position. If they belong "
                f"together by index, give {name}.loc[X.index]",
                stacklevel=4,
            )


def warn_of_budget(learner: Any, n: int) -> None:
    """Warn if a seed may be guessed, or if δ is too large for the number of records.

    `privcurve release` warns of such a δ, too. With ``add-remove`` the number of records, `n`, is
    not public; the learner's estimate replaces it.
    """
    epsilon = plain_number(getattr(learner, "epsilon", math.inf))
    if not is_private(epsilon):
        return
    delta = plain_number(learner.delta)
    # Without a schema there is no warning: encoded data are mostly public benchmarks, for which the
    # seed may be a known number.
    if learner.schema is not None and isinstance(learner.random_state, Integral):
        warnings.warn(
            "random_state is a number: anyone who knows or guesses it can draw the noise "
            "again, and for them epsilon is infinite. For private records leave it out (None)",
            stacklevel=4,
        )
    at_most = None if learner.schema is None else learner.schema.at_most
    if at_most is not None:
        _, delta = group_guarantee(epsilon, delta, at_most)
    relation = learner._neighbours()
    number = getattr(learner, "n_estimate", None) if relation == ADD_REMOVE else n
    # If no number of records is public, assume the smallest possible number, two, as releases do.
    if is_large_delta(delta, number or 2):
        meaning = explain_delta(delta, number, relation, "" if at_most is None else "person")
        warnings.warn(f"{meaning}. {suggest_delta(number)}", stacklevel=4)


def warn_of_size(learner: Any, n: int) -> None:
    """Warn if the learner remarks that simpler learners often predict better from n records."""
    if remark := learner.size_remark(n):
        warnings.warn(remark, stacklevel=4)


def warn_of_order(classes: NDArray[Any], named: Sequence[object] | None) -> None:
    """Warn if classes are not sorted, as some of scikit-learn's tools assume that they are.

    `classes` are the fitted classes, and `named` the parameter `classes`. If labels were read as
    positions, `classes` are positions in `named`.
    """
    names = classes.tolist()
    given = None if named is None else np.asarray(named).tolist()
    if given is not None and names == list(range(len(names))) and given != sorted(given):
        warnings.warn(
            f"labels 0, 1, … of y are positions of the classes {given}, which are not "
            "sorted, so that a tool of scikit-learn numbers them otherwise. Its predictions are "
            "right, but this model gives classes the wrong names: sort the classes",
            stacklevel=3,
        )
    if names != sorted(names):
        warnings.warn(
            f"the classes are {names}, the negative one first, and not sorted: scikit-learn takes "
            "columns of predict_proba for those of sorted classes, so that roc_auc, log_loss, "
            "calibration and votes are wrong there. Predictions and accuracy are right.",
            stacklevel=3,
        )


def check_labels(
    given: NDArray[Any], classes: Sequence[object] | None, n_rows: int, learner: LearnerEntry
) -> tuple[NDArray[Any], Ints]:
    """Return the classes, and the position of each row's label among them.

    `given` are labels from `privcurve.given.read_labels`. Raises ValueError if a label is missing
    or not in `classes`, or if the learner does not support the number of classes.
    """
    if given.dtype == object:
        for row, label in enumerate(given):
            if is_absent(label):
                raise ValueError(f"y must have a label in every row; got {label!r} in row {row}")
    type_of(given)
    # Integers are always valid classes. Skip the check for them, which is slower than a small fit.
    if given.dtype.kind not in "iub":
        check_classification_targets(given)
    most = MOST_CLASSES if learner.multiclass else 2
    check_length(given, n_rows)
    if classes is None:
        labels = plain_classes(np.unique(given))
        if len(labels) < 2:
            held = f"only one class, {labels[0]!r}" if len(labels) else "no label"
            raise ValueError(
                f"y must have two classes; it has {held}. If both labels are public, give them: "
                "classes=(negative, positive)."
            )
        if len(labels) > most:
            raise ValueError(
                # scikit-learn's estimator checks look for the first two sentences.
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(given)}. {learner.refuses(n_classes=len(labels))}"
                if most == 2
                else f"y holds {len(labels)} classes, more than {most}"
            )
    else:
        labels = check_classes(classes, learner)
        if are_positions(given, labels.tolist().__contains__, len(labels)):
            labels = np.arange(len(labels))
    positions, unknown = np.zeros(n_rows, dtype=np.int64), np.ones(n_rows, dtype=bool)
    for position, label in enumerate(labels):
        matches = given == label
        unknown ^= matches
        positions += position * matches
    if unknown.any():
        raise ValueError(
            f"y must have labels of classes={classes!r}; got {given[unknown].tolist()[0]!r}"
        )
    return labels, positions


def check_length(labels: NDArray[Any], n_rows: int) -> None:
    """Raise ValueError if the number of labels differs from the number of rows of X."""
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(labels)}: inconsistent samples")


def check_classes(classes: Sequence[object], learner: LearnerEntry) -> NDArray[Any]:
    """Return the given classes as an array.

    Raises ValueError if they are not distinct labels, or if the learner does not support so many.
    """
    labels, most = np.asarray(classes), MOST_CLASSES if learner.multiclass else 2
    if labels.ndim != 1 or not 2 <= len(set(labels.tolist())) == len(labels) <= most:
        more = "" if most == 2 else f" or more (at most {most})"
        why = labels.ndim == 1 and learner.refuses(n_classes=len(labels))
        raise ValueError(
            f"classes must be two different labels{more}; got {classes!r}"
            + (f": {why}" if why else "")
        )
    if any(map(is_absent, labels.tolist())):
        raise ValueError(f"classes must be labels; got {classes!r}: a missing value is no class")
    return labels


def require(condition: object, fault: str) -> None:
    """Raise ValueError(`fault`) unless a condition on a model read from a file holds."""
    if not condition:
        raise ValueError(fault)


def all_between(numbers: NDArray[Any], low: int, high: int) -> bool:
    """Return whether all integers are at least `low` and below `high`."""
    return bool(((numbers >= low) & (numbers < high)).all())


def check_complete(shape: tuple[int, ...]) -> None:
    """Check that an array has the shape (n_trees, 2**depth − 1): inner nodes of complete trees."""
    complete = len(shape) == 2 and min(shape) > 0 and not (shape[1] + 1) & shape[1]
    require(complete, "its trees are not complete")
