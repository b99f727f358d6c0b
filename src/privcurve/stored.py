"""Translate words of stored files to the words of the API and back, so that old files stay valid.

The calibration with proved noise is called `STORED` in ids of runs, random streams, tables, models
and names of files, but `SPOKEN` in the API and in texts for users. The column with the names of
methods is called `OLD_METHOD` in files of earlier versions, and `METHOD` in new files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SPOKEN, STORED = "proved", "certified"

METHOD, OLD_METHOD = "method", "arm"

# Columns with calibrations, or with names of curves, which contain calibrations.
COLUMNS = ("calibration", METHOD, "other")


def stored(word: object) -> Any:
    """Convert a calibration or the name of a curve to words of files; keep other values."""
    return _replace_word(word, SPOKEN, STORED)


def spoken(word: object) -> Any:
    """Convert a calibration or the name of a curve to words of the API; keep other values."""
    return _replace_word(word, STORED, SPOKEN)


def stored_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the calibrations and names of curves in a frame to the words of files."""
    return _map_words(frame, stored)


def spoken_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the calibrations, names of curves and column names in a frame to words of the API."""
    return _map_words(frame.rename(columns={OLD_METHOD: METHOD}), spoken)


def columns_in(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Translate names of columns to the names in a file, which has the columns `columns`."""
    is_old = OLD_METHOD in columns
    return [OLD_METHOD if is_old and name == METHOD else name for name in names]


def _map_words(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    columns = [name for name in COLUMNS if name in frame]
    return frame.assign(**{name: frame[name].map(change) for name in columns})


def _replace_word(text: object, old: str, new: str) -> Any:
    # A word is replaced only between the marks ~ and /, as in the names of curves
    # `privgam~proved~delta=1e-05` and `adult/privgam~proved/best`.
    if not isinstance(text, str) or old not in text:
        return text
    return re.sub(rf"(?<![^~]){old}(?![^~/])", new, text)
