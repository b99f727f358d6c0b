"""Columns of Arrow, in files and in frames, as the numbers and texts that are coded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from privcurve.datasets.columns import MISSING, NUMERIC, Column
from privcurve.datasets.dates import ISO
from privcurve.datasets.errors import DatasetError

if TYPE_CHECKING:
    from privcurve.datasets.domain import Domain

# A code such as 0150, or a pattern of such ones.
_LEADING_ZERO = re.compile(r"0[\d*]")


def as_read(values: Any, domain: Domain, column: Column | None) -> Any:
    """Give values of a column as a reader of text would, for them to be coded.

    Parameters
    ----------
    values : pyarrow.Array
    domain : Domain
    column : Column, optional
        Of the domain; None for the label.

    Returns
    -------
    ndarray or list of str
        Numbers of a numeric column, NaN where there is none. All else as texts: whole numbers
        without a point, truth values as the column lists them, times as it writes dates, and what
        is absent as one of the texts that mean so.

    Raises
    ------
    pyarrow.ArrowException, TypeError
        If no column can be made of this type.
    DatasetError
        If these are numbers, and the column's texts begin with zeros, which numbers have lost.
    """
    values = _plain(values)
    if column is None:
        return _texts(values, domain.missing[0], "", ())
    if column.kind == NUMERIC and not column.dates:
        return _numbers(values)
    _check_zeros(values.type, column)
    return _texts(values, _absent(column, domain.missing), column.dates, column.codes)


def _check_zeros(kind: Any, column: Column) -> None:
    from pyarrow import types

    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return
    zeros = next((text for text, _ in column.categories if _LEADING_ZERO.match(text)), None)
    if zeros is not None:
        raise DatasetError(
            f"{column.name!r} holds numbers ({kind}), but is described by texts such as {zeros!r}, "
            f"whose leading zeros numbers have lost: read or write it as text (in pandas, "
            f"dtype={{{column.name!r}: str}})"
        )


def _absent(column: Column, missing: Sequence[str]) -> str:
    """Give a text that stands for a missing value in a column of texts or dates."""
    if column.dates or column.patterns:
        return ""
    # A text that is listed is one, whatever it means elsewhere.
    titles = dict(column.categories)
    meant = (marker for marker in missing if titles.get(marker, MISSING) == MISSING)
    return next(meant, missing[0])


def _numbers(values: Any) -> Any:
    """Give numbers as an array with NaN where there is none, or texts as they are."""
    import pyarrow
    from pyarrow import compute, types

    if types.is_string(values.type) or types.is_large_string(values.type):
        return _texts(values, "", "", ())
    if types.is_boolean(values.type):
        values = compute.cast(values, pyarrow.int8())
    return compute.cast(values, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def _texts(values: Any, absent: str, form: str, listed: Collection[str]) -> list[str]:
    """Give values as texts: times in a form of `dates`, what is not there as `absent`."""
    import pyarrow
    from pyarrow import types

    kind = values.type
    if types.is_timestamp(kind) or types.is_date(kind):
        # Of those with a zone, the clock of UTC.
        values = values.cast(pyarrow.timestamp("us"), safe=False)
        times = values.to_pylist()
        if form in ("", ISO):
            days = types.is_date(kind)
            return [absent if v is None else (v.date() if days else v).isoformat() for v in times]
        return [absent if v is None else v.strftime(form) for v in times]
    if types.is_floating(kind):
        return [_number(value, absent) for value in values.cast(pyarrow.float64()).to_pylist()]
    if types.is_boolean(kind):
        spelt = {truth: spelt_truth(truth, listed) for truth in (True, False)}
        return [absent if v is None else spelt[v] for v in values.to_pylist()]
    texts = values.cast(pyarrow.string()).to_pylist()
    if types.is_string(kind) or types.is_large_string(kind):
        return [absent if text is None else _composed(text) for text in texts]
    return [absent if text is None else text for text in texts]


def _plain(values: Any) -> Any:
    from pyarrow import types

    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def _number(value: float | None, absent: str) -> str:
    if value is None or value != value:
        return absent
    return str(int(value)) if value.is_integer() else repr(value)


def spelt_truth(value: bool, listed: Collection[str]) -> str:
    """Spell a truth value as a column lists it; files of text write it in several ways."""
    spellings = (str(value).lower(), str(value), str(value).upper(), str(int(value)))
    return next((text for text in spellings if text in listed), spellings[0])


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
