"""The word for proved noise in files: earlier versions had another one, and what they stored stays.

Ids of runs, streams of random numbers, tables, models and the names of files have `STORED`; people
read and write `SPOKEN`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from privcurve.lazy import pd

SPOKEN, STORED = "proved", "certified"

# Columns of calibrations, and of curves, which are named after them.
COLUMNS = ("calibration", "arm", "other")


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
    return _map_words(frame, spoken)


def _map_words(frame: pd.DataFrame, change: Callable[[Any], Any]) -> pd.DataFrame:
    columns = [name for name in COLUMNS if name in frame]
    return frame.assign(**{name: frame[name].map(change) for name in columns})


def _replace_word(text: Any, old: str, new: str) -> Any:
    # The name of a curve is, for example, `privgam~proved~delta=1e-05`, and that of a part of it
    # `adult/privgam~proved/best`.
    if not isinstance(text, str) or old not in text:
        return text
    return re.sub(rf"(?<![^~]){old}(?![^~/])", new, text)
