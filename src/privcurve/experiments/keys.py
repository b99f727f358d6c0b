"""Which files of a store may hold a job's cells: told by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = re.compile(r"~([0-9a-f]{8})~(\d+)-of-(\d+)\.jsonl$")
# A power of two, like every number of shards; more than there will be.
MOST_PARTS = 2**16


class Keys:
    """The keys of the cells that a job may ask for or add; their remainders are shards.

    A file of the store is marked with what the keys of all its cells have in common: their
    remainder by some power of two. A reader with other remainders need not open it.

    Parameters
    ----------
    scheme : str
        What the keys are made of, eight hex digits: keys of two schemes can't be compared.
    values : iterable of int
    """

    def __init__(self, scheme: str, values: Iterable[int]) -> None:
        self._scheme = scheme
        self._values = frozenset(values)
        self._remainders: dict[int, set[int]] = {}

    def may_hold(self, name: str) -> bool:
        """Whether a file of this name can hold a cell with one of these keys."""
        mark = MARK.search(name)
        if mark is None or mark[1] != self._scheme:
            return True
        return int(mark[2]) in self._by(int(mark[3]))

    @property
    def mark(self) -> str:
        """How the name of a file ends, before ``.jsonl``, that holds cells of these keys alone."""
        parts = MOST_PARTS
        while len(self._by(parts)) > 1:
            parts //= 2
        return f"~{self._scheme}~{min(self._by(parts), default=0)}-of-{parts}"

    def _by(self, parts: int) -> set[int]:
        if parts not in self._remainders:
            self._remainders[parts] = {value % parts for value in self._values}
        return self._remainders[parts]


class Marks:
    """The marks of the files in a folder: a key that none of them allows has no cell there.

    Parameters
    ----------
    scheme : str
        That of the keys that will be asked about.
    names : iterable of str
        Of all files.
    """

    def __init__(self, scheme: str, names: Iterable[str]) -> None:
        self._any = False
        self._remainders: dict[int, set[int]] = {}
        for name in names:
            mark = MARK.search(name)
            if mark is None or mark[1] != scheme:
                self._any = True
            else:
                self._remainders.setdefault(int(mark[3]), set()).add(int(mark[2]))

    def may_hold(self, key: int) -> bool:
        """Whether one of the files can hold a cell with this key."""
        return self._any or any(key % parts in r for parts, r in self._remainders.items())
