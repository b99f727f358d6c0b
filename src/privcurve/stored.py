"""Translate words between stored files and the API, where they differ: so old files stay valid.

Ids of runs, random streams, tables, models and names of files contain the word `STORED` for proved
noise, where users read and write `SPOKEN`. The column with names of methods is `OLD_METHOD` in
files of earlier versions, and `METHOD` in new files.
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
    """Convert a calibration, or the name of a curve, to its form in files; other values stay."""
    return _replace_word(word, SPOKEN, STORED)


def spoken(word: object) -> Any:
    """Convert a calibration, or the name of a curve, to its form in the API; other values stay."""
    return _replace_word(word, STORED, SPOKEN)


def stored_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the words of a frame to their form in files."""
    return _map_words(frame, stored)


def spoken_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the words and the column names of a stored frame to their form in the API."""
    return _map_words(frame.rename(columns={OLD_METHOD: METHOD}), spoken)


def columns_in(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the names that a file with these `columns` uses for the current column `names`."""
    is_old = OLD_METHOD in columns
    return [OLD_METHOD if is_old and name == METHOD else name for name in names]


def _map_words(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    columns = [name for name in COLUMNS if name in frame]
    return frame.assign(**{name: frame[name].map(change) for name in columns})


def _replace_word(text: object, old: str, new: str) -> Any:
    # Names of curves are like `privgam~proved~delta=1e-05`, or like `adult/privgam~proved/best`.
    if not isinstance(text, str) or old not in text:
        return text
    return re.sub(rf"(?<![^~]){old}(?![^~/])", new, text)
