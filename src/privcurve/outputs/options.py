"""The options of an output: what each means, and which values it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REQUIRED: Any = object()


@dataclass(frozen=True)
class Option:
    """One option of an output.

    Attributes
    ----------
    meaning : str
        Shown when a value is refused.
    kinds : tuple of type
        What a value may be; a whole number counts as a float.
    default : object
        `REQUIRED` if there is none.
    """

    meaning: str
    kinds: tuple[type, ...]
    default: Any = None

    def admits(self, value: Any) -> bool:
        """Whether a value is of the right kind; true and false are no numbers."""
        if value is None:
            return self.default is None
        if isinstance(value, bool):
            return bool in self.kinds
        whole_for_float = isinstance(value, int) and float in self.kinds
        return isinstance(value, self.kinds) or whole_for_float


NAME = Option("file name below results/tables and results/figures, without ending", (str,))
TEXT: tuple[type, ...] = (str,)
NUMBER: tuple[type, ...] = (float,)
COUNT: tuple[type, ...] = (int,)
LIST: tuple[type, ...] = (list, tuple)

PAPER = Option("a folder of resources/printed; by default the study's paper", TEXT)
