"""Find names of columns and types of labels in what a user passes to the Python API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import ABSENT

# Methods of query objects (polars, DuckDB, Spark, Dask, Arrow, Ibis) that return a table.
_QUERIES = ("toPandas", "collect", "df", "compute", "to_table", "read_all", "execute")

# Names of the types of labels in model files.
TEXT = "text"
NUMBER = "number"
# Labels of float32 and float16. Labels of float64 are of the type NUMBER, as they may have been
# integers: pandas converts integers to float64 if one is missing.
FLOAT = "float"
TRUTH = "truth value"
DECIMAL = "decimal"
DAY = "date"
TIME = "time"
UTC_TIME = "time in UTC"

# Types of labels that JSON does not have: a model file stores such labels as texts.
OF_TEXTS = (DECIMAL, DAY, TIME, UTC_TIME)
# Labels of these types are compared as numbers: True equals 1 and 1.0.
NUMBERS = frozenset({NUMBER, FLOAT, TRUTH})

_OF_NUMPY = {"b": TRUTH, "i": NUMBER, "u": NUMBER, "f": NUMBER, "U": TEXT, "T": TEXT, "M": TIME}
# A label has the first type that fits. So subclasses come first: True is also an int, and a
# datetime is also a date.
_OF_PYTHON: Mapping[type, str] = {
    bool: TRUTH,
    int: NUMBER,
    float: NUMBER,
    str: TEXT,
    Decimal: DECIMAL,
    datetime: TIME,
    date: DAY,
}


def column_names(rows: Any) -> list[Any]:
    """Return the column names of a frame, a mapping or a structured array; else an empty list.

    Raises ValueError for a query that has not run yet.
    """
    # Some sparse arrays of SciPy are mappings, too, from positions to values; they have a shape.
    if isinstance(rows, Mapping) and not hasattr(rows, "shape"):
        return list(rows)
    if isinstance(rows, np.ndarray):
        return list(rows.dtype.names or ())
    if method := next((name for name in _QUERIES if hasattr(type(rows), name)), None):
        raise ValueError(
            f"rows must be in memory; got a {type(rows).__name__}, which is a query: give its "
            f"table, .{method}()"
        )
    # An Arrow table has values, not names, in `columns`.
    is_arrow = hasattr(type(rows), "column_names")
    return list(rows.column_names if is_arrow else getattr(rows, "columns", ()))


# Labels ------------------------------------------------------------------------------------------


def read_labels(y: object, warn: bool = False) -> NDArray[Any]:
    """Convert labels to an array, with a dtype of NumPy for numbers, truth values and times.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    warn : bool
        Whether to warn if y is a matrix of one column, as scikit-learn does.

    Returns
    -------
    ndarray of shape (n_rows,)
        The dtype is object if labels are dates, Decimals or times with a zone, if they have several
        types, or if some are missing.

    Raises
    ------
    ValueError
        If y is None or has several columns.
    """
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    column_names(y)
    # Without dtype=object, NumPy would convert a list of numbers and texts to texts.
    given = np.asarray(y, dtype=object if isinstance(y, Sequence) else None)
    labels = np.asarray(column_or_1d(given, warn=warn))
    if labels.dtype != object or any(map(is_absent, labels)):
        return labels
    is_plain = _types_among(labels) in ({NUMBER}, {TRUTH}, {TIME})
    return np.array([plain_label(label) for label in labels]) if is_plain else labels


def type_of(labels: NDArray[Any]) -> str:
    """Return the name of the type of labels; `labels` is a result of :func:`read_labels`.

    Raises ValueError if labels have several types, or a type that :func:`check_type` refuses.
    """
    if labels.dtype == object:
        types = _types_among(label for label in labels if not is_absent(label))
    elif labels.dtype in (np.float16, np.float32):
        types = {FLOAT}
    else:
        types = {_OF_NUMPY.get(labels.dtype.kind, str(labels.dtype))}
    if len(types) > 1:
        raise ValueError(
            f"y must hold labels of one type; got {', '.join(sorted(types))}: write all in one "
            "way, such as y.astype(str)"
        )
    return check_type(types.pop() if types else TEXT)


def _types_among(labels: Iterable[Any]) -> set[str]:
    """Return the names of the types of labels."""
    one_of_each = {type(label): label for label in labels}
    return set(map(name_type, one_of_each.values()))


def name_type(label: Any) -> str:
    """Return the type of a label, such as ``text``; for other objects, the name of their class."""
    if isinstance(label, np.generic):
        return _OF_NUMPY.get(label.dtype.kind, type(label).__name__)
    names = (name for kind, name in _OF_PYTHON.items() if isinstance(label, kind))
    name = next(names, type(label).__name__)
    return UTC_TIME if name == TIME and label.tzinfo is not None else name


def check_type(name: str) -> str:
    """Return `name`; raise ValueError if it is not the name of a type of labels."""
    if name not in _READERS:
        raise ValueError(
            "labels and categories must be texts, numbers, truth values, Decimals, dates or "
            f"times; got {name}: convert them to texts, such as with .astype(str)"
        )
    return name


def check_word(value: object) -> None:
    """Raise ValueError if a value is missing, or has another type than labels and categories."""
    if is_absent(value):
        raise ValueError(
            f"labels and categories must be values; got {value!r}, which means a missing one: "
            'drop it (in a Schema missing="bin" gives each column a code for missing values)'
        )
    check_type(name_type(value))


def is_absent(value: object) -> bool:
    """Return whether a value stands for a missing value: None, NaN, NaT or NA."""
    is_nan = isinstance(value, (float, np.floating, np.datetime64)) and value != value
    return type(value).__name__ in ABSENT or bool(is_nan)


def type_of_classes(classes: Any) -> str:
    """Return the name of the type that all classes have; ``text`` if they have several types."""
    types = _types_among(classes)
    return check_type(types.pop()) if len(types) == 1 else TEXT


def plain_label(value: Any) -> Any:
    """Convert a label from a type of NumPy or pandas to the type of Python.

    A time without a zone becomes a datetime64, and a time with a zone becomes a datetime in UTC.
    """
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            return value.astimezone(UTC)
        return np.datetime64(value.replace(tzinfo=None), "us")
    if isinstance(value, np.floating):
        # Convert through text: the float32 0.1 becomes 0.1, and not 0.10000000149.
        return float(str(value))
    is_plain = not isinstance(value, np.generic) or isinstance(value, np.datetime64)
    return value if is_plain else value.item()


def plain_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert the distinct labels of y to the classes of a model, in the same order.

    Whole numbers of float64 become integers: pandas converts integers to float64 if a label is
    missing, and no model may reveal whether one is missing.
    """
    if labels.dtype.kind == "M":
        return labels.astype("datetime64[us]")
    is_float = labels.dtype == np.float64
    return np.asarray([shorten(label) if is_float else label for label in labels.tolist()])


def shorten(label: object) -> Any:
    """Convert a float that is a whole number to an integer; return other labels unchanged."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _read_number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return shorten(float(text))


_READERS: Mapping[str, Callable[[str], Any]] = {
    TEXT: str,
    NUMBER: _read_number,
    FLOAT: float,
    TRUTH: lambda text: {"true": True, "1": True, "false": False, "0": False}[text.lower()],
    DECIMAL: Decimal,
    DAY: date.fromisoformat,
    TIME: lambda text: np.datetime64(text, "us"),
    UTC_TIME: lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
}


def read_classes(kind: str, names: Any) -> list[Any]:
    """Convert names of classes, which are texts, to labels of the type `kind`.

    Raises ValueError if the text of a name can't be read as a label of this type.
    """
    try:
        return [_READERS[kind](name) for name in names]
    except (KeyError, ValueError, ArithmeticError):
        raise ValueError(
            f"the classes must be of the type {kind}; got {', '.join(names)}"
        ) from None


def are_positions(labels: NDArray[Any], is_class: Callable[[int], bool], n_classes: int) -> bool:
    """Return whether labels are positions of classes, as some tools of scikit-learn pass them.

    Labels are positions if they are all integers from 0 to `n_classes` − 1, and at least one of
    them is not the label of a class (`is_class`).
    """
    if labels.dtype.kind not in "iu":
        return False
    numbers = np.unique(labels).tolist()
    return not all(map(is_class, numbers)) and set(numbers) <= set(range(n_classes))
