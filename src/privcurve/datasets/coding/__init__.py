"""Coding: from Arrow arrays to codes by the domain alone, each value by itself.

:class:`Coder` codes the records of a dataset, :func:`read_codes` a file that a model is asked
about, and :func:`encode_frame` a frame. Each counts what becomes of the values of a column
(:class:`ColumnCounts`).
"""

from privcurve.datasets.coding.coder import (
    Coded,
    Coder,
    ColumnCoder,
    category_texts,
    label_texts,
    read_amounts,
)
from privcurve.datasets.coding.counts import DIGITS, FEW, NOTED, ColumnCounts, warnings_of
from privcurve.datasets.coding.frames import encode_frame, persons_of
from privcurve.datasets.coding.numbers import (
    ISO,
    Markers,
    amount_of,
    days_of,
    has_short_years,
    is_day_format,
    read_day,
    read_numbers,
    remove_grouping,
)
from privcurve.datasets.coding.persons import explain_alike
from privcurve.datasets.coding.texts import (
    MISSING_WORDS,
    TextCodes,
    matches,
    pattern_faults,
    strip_point,
)
from privcurve.datasets.coding.unlabelled import CodedPiece, NewRecords, read_codes
