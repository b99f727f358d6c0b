"""Coding: from Arrow arrays to codes by the domain alone, each value by itself.

:class:`Coder` codes the records of a dataset, :func:`read_codes` a file that a model is asked
about, and :func:`encode_frame` a frame. Each counts what becomes of the values of a column
(:class:`ColumnCounts`).
"""

from privcurve.datasets.coding.coder import (
    Coded,
    Coder,
    ColumnCoder,
    amounts,
    category_texts,
    labels,
)
from privcurve.datasets.coding.counts import FEW, ColumnCounts, warnings_of
from privcurve.datasets.coding.frames import encode_frame, persons_of
from privcurve.datasets.coding.numbers import (
    ISO,
    Markers,
    amount_of,
    days,
    read_numbers,
    remove_grouping,
    tells_days,
)
from privcurve.datasets.coding.texts import TextCodes, fits, pattern_faults, without_point
from privcurve.datasets.coding.unlabelled import NewRecords, Part, read_codes

__all__ = [
    "FEW",
    "ISO",
    "Coded",
    "Coder",
    "ColumnCoder",
    "ColumnCounts",
    "Markers",
    "NewRecords",
    "Part",
    "TextCodes",
    "amount_of",
    "amounts",
    "category_texts",
    "days",
    "encode_frame",
    "fits",
    "labels",
    "pattern_faults",
    "persons_of",
    "read_codes",
    "read_numbers",
    "remove_grouping",
    "tells_days",
    "warnings_of",
    "without_point",
]
