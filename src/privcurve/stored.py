"""Words of files that differ from the words that people read: stored files stay as they are.

Ids of runs, streams of random numbers, tables, models and the names of files have `STORED` for
proved noise; people read and write `SPOKEN`. Files of earlier versions have the names of methods in
a column `OLD_METHOD`; every file is written with `METHOD`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from privcurve.lazy import pd

SPOKEN, STORED = "proved", "certified"

METHOD, OLD_METHOD = "method", "arm"

# Columns of calibrations, and of curves, which are named after them.
COLUMNS = ("calibration", METHOD, "other")


def stored(word: Any) -> Any:
    """Return a calibration, or the name of a curve, as files have it; anything else as it is."""
    return _replace_word(word, SPOKEN, STORED)


def spoken(word: Any) -> Any:
    """Return a calibration, or the name of a curve, as people read it; anything else as it is."""
    return _replace_word(word, STORED, SPOKEN)


def stored_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as files have it."""
    return _map_words(frame, stored)


def spoken_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of a file as people read it."""
    return _map_words(frame.rename(columns={OLD_METHOD: METHOD}), spoken)


def columns_in(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """Return the columns of a file that hold what readers call `names`."""
    is_old = OLD_METHOD in columns
    return [OLD_METHOD if is_old and name == METHOD else name for name in names]


def _map_words(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    columns = [name for name in COLUMNS if name in frame]
    return frame.assign(**{name: frame[name].map(change) for name in columns})


def _replace_word(text: Any, old: str, new: str) -> Any:
    # The name of a curve is, for example, `privgam~proved~delta=1e-05`, and that of a part of it
    # `adult/privgam~proved/best`.
    if not isinstance(text, str) or old not in text:
        return text
    return re.sub(rf"(?<![^~]){old}(?![^~/])", new, text)
