"""Write the draft of a description as a YAML file, which the owner then completes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from privcurve.datasets.describing.columns import Proposal
from privcurve.datasets.describing.label import Classes
from privcurve.datasets.reading import Format
from privcurve.datasets.variants import escape_name

# Words that YAML reads as texts without quotes, unless they are in _NOT_BARE.
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./%-]*")
_NUMBERED = re.compile(r"(.*\D)(0|[1-9]\d*)")
# Columns share an entry, and so their bounds, only if their largest numbers differ by at most this
# factor; with wider bounds, small numbers would fall into one bin.
_MAGNITUDE = 10
_NOT_BARE = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

_UNIT = (
    "{{column: {first}, at_most: how many records of each}}, if {names} people: ε then "
    "protects persons; none, if each record is another person's"
)
# Comments that a draft puts next to the keys of the label.
_OF_LABEL = {
    "positive": "the label of positive records",
    "negative": "the label of negative records",
    "classes": "every possible class: [low, middle, high], or {value: class, …}",
}
_PRIVATE = """\
# {name}: drafted by privcurve describe, to be finished by hand. What stands here is public, and
# goes into every model: write only what is known without the records (a codebook, a law, what is
# possible), never what the screen showed of them. Fill in each line marked "decide", then:
#   privcurve check {name}
"""
# Comment next to n_rows: a warning that n_rows is not always public.
_ADD_REMOVE = (
    "# (A release with --neighbours add-remove protects this number, too: n_rows would be public",
    "# knowledge as soon as others saw this file. Keep it to yourself then.)",
)
_GUESS = "  # the encoding is a guess: if letters are wrong, name another (cp1250, …)"
_PUBLIC = """\
# {name}: drafted by privcurve describe --public. Bounds and categories are those of the file: right
# only if its records are public. Of others they would be a leak that no ε counts.
#   privcurve check {name}
"""


@dataclass(frozen=True)
class Draft:
    """The draft of a description, with remarks on the table for its owner."""

    name: str
    format: Format
    decimal: str
    thousands: str
    missing: list[str]  # words that mark a missing value
    files: Mapping[str, str]  # path of each file, by part (`train`, `test`)
    n_rows: int  # number of training records, including unreadable ones
    n_test: int
    columns: Mapping[str, Proposal]  # proposals for all fields except the label
    shares: Mapping[str, float]  # share of missing values, by column
    label: str
    classes: Classes
    public: bool  # whether the records are public
    n_read: int  # number of training records that can be read
    faults: tuple[str, ...]  # messages about lines of the files that can't be read
    remarks: tuple[str, ...] = ()  # remarks that need no action

    @cached_property
    def entries(self) -> dict[str, Proposal]:
        """Proposals for the columns that are used, by name or pattern.

        Columns with similar proposals, and names that differ only in a number (x2, x3, x4), share
        one entry, whose name is a pattern (``x{2..4}``).
        """
        return dict(
            _merge_columns({key: column for key, column in self.columns.items() if column.kind})
        )

    @property
    def blanks(self) -> int:
        """Number of blanks for the owner to fill in; a blank that columns share counts once."""
        keys = (self.classes.keys, *(column.keys for column in self.entries.values()))
        n_blank = sum(value is None for entry in keys for value in entry.values())
        n_shared = len(self._anchors) - len(set(self._anchors.values()))
        return n_blank - n_shared + bool(self._persons)

    @property
    def _persons(self) -> list[str]:
        """Names of the columns that may contain names of persons with several records each."""
        return [key for key, column in self.columns.items() if column.is_person]

    @cached_property
    def _anchors(self) -> dict[str, str]:
        """The YAML anchor of each column that shares its groups of words with other columns.

        Columns with the same frequent texts share their groups, so that the owner decides on them
        only once. The model does not reveal which columns share groups.
        """
        alike: dict[frozenset[str], list[str]] = {}
        for key, column in self.entries.items():
            if column.words and column.keys.get("groups", ()) is None:
                alike.setdefault(column.words, []).append(key)
        several = [names for names in alike.values() if len(names) > 1]
        return {name: f"words{k}" for k, names in enumerate(several, 1) for name in names}

    @property
    def text(self) -> str:
        """The content of the YAML file."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield (_PUBLIC if self.public else _PRIVATE).format(name=self.name)
        if self.public:
            yield "public_benchmark: true  # the records themselves are public"
        else:
            yield "# budget: {epsilon: 3}  # of all releases together (docs/releases.md)"
            yield "# about: {owner: , purpose: }  # for the card of a release: decide asks for it"
        yield f"n_rows: {self.n_rows}  # the number of records, taken to be public"
        if not self.public:
            yield from _ADD_REMOVE
        if persons := self._persons:
            first, *others = map(write_scalar, persons)
            names = " or ".join([first, *others]) + " names"
            yield _write_line("unit", None, _UNIT.format(first=first, names=names))
        if "test" in self.files:
            yield f"n_test: {self.n_test}"
        yield "files:"
        for part, path in self.files.items():
            yield f"  {part}: {{local: {write_scalar(path)}}}"
        parser = dict(self.format.parser)
        if "fields" in parser:
            parser["fields"] = [escape_name(name) for name in parser["fields"]]
        yield f"parser: {write_flow(parser)}" + _GUESS * self.format.is_guessed
        if self.decimal != ".":
            yield f"decimal: {write_scalar(self.decimal)}"
        if self.thousands:
            yield f"thousands: {write_scalar(self.thousands)}"
        yield f"missing: {write_flow(self.missing)}  # what the file writes for a missing value"
        yield "unknown: other  # unlisted categories become other, where that is listed"
        yield "columns:"
        for key, column in self.entries.items():
            yield from (f"  - name: {write_scalar(key)}", f"    kind: {column.kind}")
            yield from (f"    {line}" for line in self._column_lines(key, column))
        unused = [key for key, column in self.columns.items() if not column.kind]
        if unused:
            yield f"# not used: {', '.join(map(write_scalar, unused))}"
        yield from ("label:", f"  column: {write_scalar(self.label)}")
        for key, values in self.classes.keys.items():
            yield f"  {_write_line(key, values, _OF_LABEL[key])}"

    def _column_lines(self, name: str, column: Proposal) -> Iterator[str]:
        """Yield the lines with the keys of a column.

        Of the columns that share groups of words, the first has the groups, and the others repeat
        them by an alias of YAML.
        """
        anchor = self._anchors.get(name, "")
        first = next((other for other, word in self._anchors.items() if word == anchor), name)
        for key, value in column.keys.items():
            line = _write_line(key, value, column.remarks.get(key))
            if key == "groups" and first != name:
                line = f"{key}: *{anchor}  # same as {write_scalar(first)}"
            elif key == "groups" and anchor:
                line = line.replace(f"{key}:", f"{key}: &{anchor}", 1)
            yield line


def _merge_columns(columns: Mapping[str, Proposal]) -> Iterator[tuple[str, Proposal]]:
    """Merge similar columns with consecutive numbers in their names: x2, x3, x4 become ``x{2..4}``.

    The largest numbers of merged columns must have the same magnitude: with shared bounds, much
    smaller numbers would fall into one bin. Which columns are merged depends on the records, but
    the owner's entries for them do not, and a model does not reveal the merging.
    """
    rest = list(columns.items())
    start = 0
    while start < len(rest):
        name, column = rest[start]
        match = _NUMBERED.fullmatch(name)
        name = escape_name(name)
        end = start + 1
        least = most = column.largest
        if match:
            # Go on while the next column has the next number in its name, and is similar.
            while end < len(rest):
                after, other = rest[end]
                if after != f"{match[1]}{int(match[2]) + end - start}":
                    break
                least, most = min(least, other.largest), max(most, other.largest)
                if most > _MAGNITUDE * least or not column.is_like(other):
                    break
                end += 1
            if end - start > 1:
                name = f"{escape_name(match[1])}{{{match[2]}..{int(match[2]) + end - start - 1}}}"
        yield name, column
        start = end


def _write_line(key: str, value: object, remark: str | None) -> str:
    if value is None:
        return f"{key}:  # decide: {remark}"
    return f"{key}: {write_flow(value)}" + (f"  # {remark}" if remark else "")


def write_flow(value: object) -> str:
    """Write a value as YAML on one line (flow style)."""
    if isinstance(value, Mapping):
        pairs = (f"{write_scalar(str(key))}: {write_flow(entry)}" for key, entry in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_flow, value)) + "]"
    return write_scalar(value)


def write_scalar(value: object) -> str:
    """Write a value such that YAML reads the same value."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _NOT_BARE:
        return value
    written = json.dumps(value, ensure_ascii=False)
    # Escape characters that JSON allows, but that end a line of YAML or are forbidden in YAML.
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in written)
