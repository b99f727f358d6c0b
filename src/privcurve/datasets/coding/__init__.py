"""Encoding: convert the columns of a file or frame to bins.

The bin of a value depends on the domain alone. :class:`Coder` encodes the records of a dataset,
:func:`read_codes` a file for prediction, and :func:`encode_frame` a frame. All three count how many
values of each column are missing, clipped or unlisted (:class:`ColumnCounts`).
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
