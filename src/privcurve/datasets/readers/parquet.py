"""Read Parquet files, a piece at a time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from privcurve.datasets.description import Description
from privcurve.datasets.domain import NUMERIC
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.table import RawTable, at_once, positions, unreadable


def read(
    description: Description, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one file, a piece at a time.

    Numbers of numeric columns stay numbers. All else becomes text: a whole number without a
    point, ``true`` and ``false``, dates as ISO writes them, and what is absent as the description
    writes a missing value.
    """
    import pyarrow
    from pyarrow import parquet

    source = str(file.path)
    try:
        with parquet.ParquetFile(source) as stored:
            place = positions(description, source, stored.schema_arrow.names, problems)
            numeric = {
                c.name for c in description.domain.columns if c.kind == NUMERIC and not c.dates
            }
            n_read = 0
            for batch in stored.iter_batches(at_once(len(place)), columns=list(place)):
                if most is not None:
                    batch = batch.slice(0, most - n_read)
                if not batch.num_rows:
                    return
                columns: dict[str, Any] = {}
                for name in place:
                    try:
                        values = batch.column(name)
                        columns[name] = (
                            _numbers(values)
                            if name in numeric
                            else _texts(values, description.missing[0])
                        )
                    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
                        raise DatasetError(
                            f"dataset {description.name!r}: {source}: {name!r} is of the type "
                            f"{batch.schema.field(name).type}, of which no column can be made "
                            f"({str(error).splitlines()[0]}). Leave it out of {description.path}, "
                            "or write it in another way."
                        ) from None
                yield RawTable(
                    source, columns, range(n_read + 1, n_read + batch.num_rows + 1), "record"
                )
                n_read += batch.num_rows
    except pyarrow.ArrowException as error:
        raise unreadable(description, source, error) from error


def _numbers(values: Any) -> Any:
    """Give numbers as an array with NaN where there is none, or texts as they are."""
    import pyarrow
    from pyarrow import compute, types

    values = _plain(values)
    if types.is_string(values.type) or types.is_large_string(values.type):
        return _texts(values, "")
    if types.is_boolean(values.type):
        values = compute.cast(values, pyarrow.int8())
    return compute.cast(values, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)


def _texts(values: Any, missing: str) -> list[str]:
    import pyarrow
    from pyarrow import types

    values = _plain(values)
    kind = values.type
    if types.is_timestamp(kind):
        # Of those with a zone, the clock of UTC.
        values = values.cast(pyarrow.timestamp("us"), safe=False)
        return [missing if v is None else v.isoformat() for v in values.to_pylist()]
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
