"""Read the datasets that ship with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privcurve.datasets.description import Description
from privcurve.datasets.errors import Problems
from privcurve.datasets.reading.formats import FileKind
from privcurve.datasets.reading.table import RawTable


def read(
    description: Description, file: None, problems: Problems, most: int | None = None
) -> Iterator[RawTable]:
    """Yield the records of a dataset of scikit-learn in one piece, up to `most` records.

    Columns have scikit-learn's feature names, and labels are its target names.
    """
    from sklearn import datasets

    bunch = getattr(datasets, description.parser.loader)()
    columns: dict[str, Any] = {
        str(name): bunch.data[:, j] for j, name in enumerate(bunch.feature_names)
    }
    columns[description.label.column] = [str(bunch.target_names[k]) for k in bunch.target]
    source = f"sklearn.datasets.{description.parser.loader}"
    yield RawTable(source, columns, range(1, len(bunch.target) + 1), "record").head(most)


KIND = FileKind("sklearn", read, keys=("loader",), has_files=False)
