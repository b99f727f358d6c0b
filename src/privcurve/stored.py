"""Words in stored files that differ from the words in the API, so that old files stay valid.

Ids of runs, random streams, tables, models and names of files have `STORED` for proved noise; users
read and write `SPOKEN`. Files of earlier versions have the names of methods in a column
`OLD_METHOD`; new files have `METHOD`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from privcurve.lazy import pd

SPOKEN, STORED = "proved", "certified"

METHOD, OLD_METHOD = "method", "arm"

# Columns with calibrations, or with names of curves, which contain calibrations.
COLUMNS = ("calibration", METHOD, "other")


def stored(word: object) -> Any:
    """Return a calibration or the name of a curve in its stored form; other values unchanged."""
    return _replace_word(word, SPOKEN, STORED)


def spoken(word: object) -> Any:
    """Return a calibration or the name of a curve in the API's form; other values unchanged."""
    return _replace_word(word, STORED, SPOKEN)


def stored_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the words of stored files."""
    return _map_words(frame, stored)


def spoken_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of a stored file with the words of the API."""
    return _map_words(frame.rename(columns={OLD_METHOD: METHOD}), spoken)


def columns_in(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the columns of a file for the current names `names`."""
    is_old = OLD_METHOD in columns
    return [OLD_METHOD if is_old and name == METHOD else name for name in names]


def _map_words(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    columns = [name for name in COLUMNS if name in frame]
    return frame.assign(**{name: frame[name].map(change) for name in columns})


def _replace_word(text: object, old: str, new: str) -> Any:
    # The name of a curve is, for example, `privgam~proved~delta=1e-05`; the name of a part of it is
    # `adult/privgam~proved/best`.
    if not isinstance(text, str) or old not in text:
        return text
    return re.sub(rf"(?<![^~]){old}(?![^~/])", new, text)
