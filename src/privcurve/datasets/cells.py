"""What one typed cell means: the text that a file of text would hold for it.

A cell of a file of text is a text. Cells of Parquet, Excel and frames have types, and the type of a
column depends on all of its cells. So each is read by itself, as the text of its value; what reads
a column at once (:mod:`privcurve.datasets.readers.typed`) returns the same.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Names of the types whose one value says that there is none; two of them are those of pandas.
ABSENT = frozenset({"NoneType", "NAType", "NaTType"})

# Of decimals: more than a number of any file has.
_MOST_PLACES = 400

_FULL = np.float64().itemsize

_TRUTHS = {True: ("true", "True", "TRUE", "1"), False: ("false", "False", "FALSE", "0")}


class NoColumnError(TypeError):
    """Values of which no column can be made; the message begins with a verb.

    Parameters
    ----------
    kind : object
        The type of the values, or of one of them.
    why : object
        Of several lines the first is told.
    """

    def __init__(self, kind: object, why: object) -> None:
        reason = str(why).partition("\n")[0]
        super().__init__(f"is of the type {kind}, of which no column can be made ({reason})")


def text_of(value: Any, listed: Collection[str] = (), decimal: str = ".") -> str | None:
    """Return the text that a file of text holds for a value; None where there is no value.

    A value that can be written in several ways (true and 1, 3 and 3.0, a day with midnight or
    without) is written in the first way that is `listed`. Lists, mappings and the like, and bytes
    that are not UTF-8, raise :class:`NoColumnError`.
    """
    if isinstance(value, str):
        return composed(value)
    spellings = _spellings(value, decimal)
    return next((text for text in spellings if text in listed), next(iter(spellings), None))


def composed(text: str) -> str:
    """Bring a text into Unicode's composed form (NFC), as descriptions are."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def distinct(values: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the different cells of a column, and where among them each record's stands.

    Parameters
    ----------
    values : sequence of str or None, or pyarrow.Array of texts

    Returns
    -------
    cells : list
        In the order in which they come; None where there is no value.
    places : ndarray of shape (n_rows,)
    """
    if not hasattr(values, "dictionary_encode"):
        place: dict[Any, int] = {}
        each = (place.setdefault(value, len(place)) for value in values)
        places = np.fromiter(each, dtype=np.intp, count=len(values))
        return list(place), places
    encoded = values if hasattr(values, "indices") else values.dictionary_encode()
    cells = texts_of(encoded.dictionary)
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(cells))
        cells.append(None)
    return cells, indices.to_numpy(zero_copy_only=False).astype(np.intp, copy=False)


def counted(values: Any) -> Iterator[tuple[Any, int]]:
    """Yield the different cells of a column, each with how often it is there."""
    cells, places = distinct(values)
    yield from zip(cells, np.bincount(places, minlength=len(cells)).tolist(), strict=True)


def texts_of(values: Any) -> list[Any]:
    """Return the cells of a column one by one, texts in Unicode's composed form."""
    if not hasattr(values, "to_pylist"):
        return list(values)
    return [text if text is None else composed(text) for text in values.to_pylist()]


def _spellings(value: Any, decimal: str) -> tuple[str, ...]:
    """Return the ways in which a value is written, the common one first; none of no value."""
    if isinstance(value, np.generic):
        value = as_python(value)
    if type(value).__name__ in ABSENT:
        return ()
    if isinstance(value, bool):
        return _TRUTHS[value]
    if isinstance(value, (int, float, Decimal)):
        return _number_spellings(value, decimal)
    if isinstance(value, datetime):
        time = clock_of_utc(value)
        day = (time.date().isoformat(),) if time.time() == datetime.min.time() else ()
        return (time.isoformat(), time.isoformat(" "), *day)
    if isinstance(value, date):
        return (value.isoformat(),)
    if isinstance(value, bytes):
        try:
            return (composed(value.decode()),)
        except UnicodeDecodeError as error:
            raise NoColumnError("bytes", error) from None
    if isinstance(value, (Sequence, Mapping, Set, np.ndarray)):
        raise NoColumnError(type(value).__name__, "it is no single value")
    return (composed(str(value)),)


def as_python(value: np.generic) -> Any:
    """Return a scalar of NumPy as Python has it; numbers of few digits as they are written."""
    if isinstance(value, np.floating):
        return float(str(value)) if value.itemsize < _FULL else float(value)
    if isinstance(value, np.datetime64):
        unit = "D" if np.datetime_data(value)[0] in "YMWD" else "us"
        item: Any = value.astype(f"datetime64[{unit}]").item()
        # Of years that Python does not know, the text.
        return str(value) if isinstance(item, int) else item
    return str(value) if isinstance(value, np.timedelta64) else value.item()


def _number_spellings(value: int | float | Decimal, decimal: str) -> tuple[str, ...]:
    exact = str(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return ()
        if not value.is_finite() or abs(value.adjusted()) > _MOST_PLACES:
            return (exact.lower().removesuffix("inity"),)
        is_whole, short = value == value.to_integral_value(), f"{value:f}".rstrip("0")
    elif isinstance(value, float):
        if not math.isfinite(value):
            return () if math.isnan(value) else (exact,)
        is_whole, short = value.is_integer(), exact
    else:
        is_whole, short = True, exact
    if is_whole:
        whole = str(int(value))
        return (whole, f"{whole}{decimal}0", f"{whole}.0", exact)
    return (short.replace(".", decimal), short, exact)


def clock_of_utc(time: datetime) -> datetime:
    """Return a time without its zone; of one with a zone, what the clock of UTC shows."""
    if hasattr(time, "to_pydatetime"):
        time = time.to_pydatetime(warn=False)
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
