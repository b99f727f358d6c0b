"""Columns of Arrow, in files and in frames, as the numbers and texts that are coded."""

from __future__ import annotations

import unicodedata
from typing import Any

from privcurve.datasets.dates import ISO


def as_numbers(values: Any) -> Any:
    """Give numbers as an array with NaN where there is none, or texts as they are."""
    import pyarrow
    from pyarrow import compute, types

    values = _plain(values)
    if types.is_string(values.type) or types.is_large_string(values.type):
        return as_texts(values, "")
    if types.is_boolean(values.type):
        values = compute.cast(values, pyarrow.int8())
    return compute.cast(values, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def as_texts(values: Any, missing: str, form: str = "") -> list[str]:
    """Give values as texts: times in a form of `dates`, what is absent as `missing`."""
    import pyarrow
    from pyarrow import types

    values = _plain(values)
    kind = values.type
    if types.is_timestamp(kind) or types.is_date(kind):
        # Of those with a zone, the clock of UTC.
        values = values.cast(pyarrow.timestamp("us"), safe=False)
        times = values.to_pylist()
        if form in ("", ISO):
            return [missing if v is None else v.isoformat() for v in times]
        return [missing if v is None else v.strftime(form) for v in times]
    if types.is_floating(kind):
        return [_number(value, missing) for value in values.cast(pyarrow.float64()).to_pylist()]
    texts = values.cast(pyarrow.string()).to_pylist()
    if types.is_string(kind) or types.is_large_string(kind):
        return [missing if text is None else _composed(text) for text in texts]
    return [missing if text is None else text for text in texts]


def _plain(values: Any) -> Any:
    from pyarrow import types

    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def _number(value: float | None, missing: str) -> str:
    if value is None or value != value:
        return missing
    return str(int(value)) if value.is_integer() else repr(value)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
