"""Read Parquet files, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privcurve.datasets.errors import DatasetError
from privcurve.datasets.fetch import RawFile
from privcurve.datasets.problems import Problems
from privcurve.datasets.readers.arrow import as_read
from privcurve.datasets.readers.table import (
    Described,
    RawTable,
    at_once,
    positions,
    subject,
    unreadable,
)


def read(
    description: Described, file: RawFile, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Read one file, a piece at a time.

    Columns become what the same records in a file of text would be:
    :func:`privcurve.datasets.readers.arrow.as_read`.
    """
    import pyarrow
    from pyarrow import parquet

    source = str(file.path)
    try:
        with parquet.ParquetFile(source) as stored:
            place = positions(description, source, stored.schema_arrow.names, problems)
            known = {column.name: column for column in description.domain.columns}
            n_read = 0
            for batch in stored.iter_batches(at_once(len(place)), columns=list(place)):
                if most is not None:
                    batch = batch.slice(0, most - n_read)
                if not batch.num_rows:
                    return
                columns: dict[str, Any] = {}
                for name in place:
                    try:
                        columns[name] = as_read(
                            batch.column(name), description.domain, known.get(name)
                        )
                    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
                        raise DatasetError(
                            f"{subject(description)}{source}: {name!r} is of the type "
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
