"""Check a description and its data files: report all faults at once, with line and remedy."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from privcurve import schema
from privcurve.binning import MIXED, MIXED_HIGH, WHOLE
from privcurve.datasets import catalogue, reading
from privcurve.datasets.blanks import blanks
from privcurve.datasets.build import build
from privcurve.datasets.coding import (
    FEW,
    Coder,
    ColumnCoder,
    Markers,
    amount_of,
    days_of,
    explain_alike,
    label_texts,
    remove_grouping,
)
from privcurve.datasets.describing.columns import FINE
from privcurve.datasets.describing.profile import count_some
from privcurve.datasets.describing.text import write_flow
from privcurve.datasets.description import TEST, Description, LabelSpec, Subsample
from privcurve.datasets.domain import MISSING, NUMERIC, OTHER, Column, Domain
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.load import REFUSED, check_kept, checksums, load
from privcurve.datasets.reading import RawTable, cells_of, count_cells, fetch
from privcurve.datasets.rows import label_persons
from privcurve.datasets.variants import names_of, write_out
from privcurve.schema import MOST_NAMED, Lines, suggestion

Done = TypeVar("Done")

# Names in quotes, and numbers. Messages that differ only in these report the same kind of fault, so
# `_shorten` groups them.
_PARTICULAR = re.compile(r"'[^']*'|\d[\d.,]*")
# Placeholders for blank classes, so that the columns can be checked before the owner fills them in.
_UNDECIDED = {"positive": "\0+", "negative": "\0-", "classes": ["\0+", "\0-", "\0"]}

# Limits for values that are in no bin: at most MOST_REFUSED distinct ones are counted, to limit
# memory, and a message shows at most _SHOWN of them.
MOST_REFUSED = 1000
_SHOWN = 5


class Fault(NamedTuple):
    """A message on a fault, with the line of the description to change."""

    line: int
    message: str


@dataclass
class RefusedValues:
    """Counts of refused values: values that are in no bin, or labels that are in no class."""

    refused: Counter[str] = field(default_factory=Counter)  # up to `MOST_REFUSED` distinct values
    more: int = 0  # number of refused values beyond the ones counted in `refused`

    def refuse(self, values: Counter[str]) -> None:
        """Add counts of refused values."""
        self.more += count_some(self.refused, values, MOST_REFUSED)

    @property
    def frequent_values(self) -> str:
        """The most frequent refused values and their counts, as a text for messages."""
        most = self.refused.most_common(_SHOWN)
        rest = len(self.refused) - len(most)
        values = ", ".join(f"{value!r} ({n:,})" for value, n in most)
        return values + (f" and {'over ' if self.more else ''}{rest:,} more" if rest else "")


class Tally(RefusedValues):
    """Counts of the values of a column: missing, clipped, refused, and in each bin."""

    def __init__(self, domain: Domain, column: Column) -> None:
        super().__init__()
        self.column, self.decimal = column, domain.decimal
        self._coder = ColumnCoder(domain, column)
        self.counts = self._coder.counts
        # Number of present values in each bin of a numeric column.
        self.in_bins: NDArray[np.int64] = np.zeros(column.bins, dtype=np.int64)
        # The smallest and largest value in each bin, clipped to the bounds.
        self._lowest = np.full(column.bins, math.inf)
        self._highest = np.full(column.bins, -math.inf)

    def add(self, values: object) -> None:
        """Encode values, and count them."""
        coded = self._coder.code(values)
        if coded.amounts is None:
            self.refuse(Counter(coded.wrong.values()))
            return
        cells = cells_of(values) if coded.wrong else []
        self.refuse(Counter(str(cells[row]).strip() for row in coded.wrong))
        present = ~coded.absent & (coded.codes >= 0)
        numbers, codes = coded.amounts[present], coded.codes[present]
        self.in_bins += np.bincount(codes, minlength=len(self.in_bins))
        within = np.clip(numbers, *(self.column.bounds or (-math.inf, math.inf)))
        np.minimum.at(self._lowest, codes, within)
        np.maximum.at(self._highest, codes, within)

    @property
    def crowded_bin(self) -> tuple[int, float] | None:
        """The bin of a numeric column with more than half of the present values, and this share.

        None if there is no such bin, if all values in it are equal, or if the column has fewer than
        `FEW` present values.
        """
        if self.counts.n_present < FEW or not self.in_bins.any():
            return None
        fullest = int(self.in_bins.argmax())
        share = float(self.in_bins[fullest]) / self.counts.n_present
        hides = share > 0.5 and self._lowest[fullest] < self._highest[fullest]
        return (fullest, share) if hides else None

    @property
    def loses_all(self) -> bool:
        """Whether encoding makes the column constant: all values are `other`, or in one bin.

        A numeric column whose values are all equal does not count, as encoding loses nothing.
        """
        if self.column.kind == NUMERIC:
            return self.crowded_bin is not None and self.crowded_bin[1] == 1
        return FEW <= self.counts.n_present == self.counts.other


@dataclass
class LabelTally(RefusedValues):
    """Counts of the values of a label.

    `in_classes` counts the values that belong to a class, `refused` the other values.
    """

    label: LabelSpec = field(kw_only=True)
    n: int = 0  # number of records
    in_classes: Counter[str] = field(default_factory=Counter)

    def add(self, values: Any) -> None:
        """Count values of the label."""
        self.n += len(values)
        refused: Counter[str] = Counter()
        for cell, count in count_cells(values):
            text = label_texts(self.label, [cell])[0] or ""
            (self.in_classes if text in self.label.codes else refused)[text] += count
        self.refuse(refused)


@dataclass
class Report:
    """The result of a check: faults, remarks, and counts of each column.

    `n_blanks` is the number of faults that are blank keys; `remarks` need no action. `tallies` and
    `n_rows` count the records of all files together.
    """

    name: str
    path: Path
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Fault] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    n_rows: int = 0
    n_blanks: int = 0
    # Whether each class has enough records to hold some out, as `privcurve compare` does.
    can_compare: bool = True

    @property
    def is_ready(self) -> bool:
        """Whether there are no faults."""
        return not self.faults


def check(name: str, watch: Callable[[RawTable], None] | None = None) -> Report:
    """Check the description of a dataset, and whether its files agree with it.

    `watch` is called with each piece of records. Only the data owner may see the report: its counts
    and messages are computed from the records.

    Raises DatasetError if the description does not exist or is not YAML.
    """
    path = catalogue.find(name)
    report = Report(name, path)
    _Checker(report, watch).run()
    report.faults = _shorten(report.faults)
    return report


def description_faults(path: Path) -> list[str]:
    """Return messages on the faults of a description; no data file is read."""
    checker = _Checker(Report(path.stem, path), None)
    if "based_on" in checker.content:
        checker._check_schema(deepcopy(checker.content))
    else:
        checker._build()
    return [fault.message.partition(" (also line")[0] for fault in checker.report.faults]


def _shorten(faults: list[Fault]) -> list[Fault]:
    """Sort faults by line; if one line has many similar faults, replace most by their number."""
    alike: dict[tuple[int, str], list[Fault]] = {}
    for fault in sorted(faults, key=lambda fault: (fault.line, fault.message)):
        alike.setdefault((fault.line, _PARTICULAR.sub("", fault.message)), []).append(fault)
    shortened = []
    for (line, _), group in alike.items():
        shortened += group[:MOST_NAMED]
        if len(group) > MOST_NAMED:
            shortened.append(Fault(line, f"{len(group) - MOST_NAMED:,} more like these."))
    return shortened


def propose_bins(column: Column) -> str:
    """Return advice on how a numeric column can get bins that distinguish more values.

    The advice depends on the description, never on the records.
    """
    (low, high), n_bins = column.bounds or (0.0, 0.0), FINE["n_bins"]
    if column.dates and column.bins < n_bins < high - low:
        return f"Write n_bins: {n_bins}."
    if column.dates or column.spacing in (MIXED, MIXED_HIGH, WHOLE):
        return "Give narrower bounds, if narrower ones are public."
    return f"Write spacing: {FINE['spacing']}, n_bins: {n_bins}."


class _Checker:
    def __init__(self, report: Report, watch: Callable[[RawTable], None] | None) -> None:
        self.report, self.watch = report, watch
        self.content: dict[str, Any] = catalogue.content_of(report.path)
        self.lines = Lines(report.path)
        # Index of each column's entry in `columns` of the description, by the column's name.
        self.positions: dict[str, int] = {}
        self.label_decided = True

    def add(self, message: str, *place: str | int) -> None:
        self.report.faults.append(Fault(self.lines.line_of(*place), message))

    def note(self, message: str, *place: str) -> None:
        self.report.remarks.append(Fault(self.lines.line_of(*place), message))

    def add_all(self, messages: Any, *place: str | int) -> None:
        """Add each message as a fault, with a line of the description.

        If the message names a column, the fault gets the line of the column's entry. Otherwise it
        gets the line of the key at `place`; without `place`, the line of the key that the message
        begins with.
        """
        for message in messages:
            text = message.removesuffix(f" (in {self.report.path})")
            near = [p for name, p in self.positions.items() if f"{name!r}" in text]
            keys = [word.strip(":") for word in text.split()[:2]]
            top = next(((key,) for key in keys if key in self.content), ())
            self.add(text, *(("columns", near[0]) if near else place or top))

    def _attempt(self, step: Callable[[], Done], *place: str) -> Done | None:
        """Return ``step()``. If it raises DatasetError, return None.

        The faults of the error are added at `place`.
        """
        try:
            return step()
        except DatasetError as error:
            self.add_all(error.faults, *place)
            return None

    def run(self) -> None:
        description = self._build()
        if description is None:
            return
        files = self._attempt(lambda: fetch(description), "files")
        if files is None:
            return
        self._attempt(lambda: checksums(files), "files")
        domain = description.domain
        for question in _question_markers(domain):
            self.note(question, "missing")
        tallies = [Tally(domain, column) for column in domain.columns]
        label = LabelTally(label=description.label)
        problems = Problems(self.report.name)
        trained: dict[str, int] = {}
        unit_problems = Problems(self.report.name)
        coder = Coder(domain, description.path, unit_problems)
        n_of: dict[str, Counter[str]] = {"n_rows": Counter(), "n_test": Counter()}
        for part in description.read_parts:
            n_before = label.n + problems.n_unread
            counts_before = [(tally.counts.n, tally.counts.clipped) for tally in tallies]
            try:
                for file in files.get(part, (None,)):
                    for table in reading.read(description, file, problems):
                        for tally in tallies:
                            tally.add(table.columns[tally.column.name])
                        label.add(table.columns[description.label.column])
                        persons = n_of["n_rows" if part in description.parts else "n_test"]
                        persons.update(coder.name_persons(description, table))
                        if self.watch is not None:
                            self.watch(table)
            except DatasetError as error:
                self.add_all(error.faults, "files", part)
                return
            if not problems.full:
                self._check_size(description, part, label.n + problems.n_unread - n_before)
            for tally, (n, clipped) in zip(tallies, counts_before, strict=True):
                n_clipped = tally.counts.clipped - clipped
                self._check_clipping(description, part, tally, n_clipped, tally.counts.n - n)
            if part in description.parts:
                trained = dict(label.in_classes)
        self.add_all(problems.messages, "parser")
        for remark in problems.remarks:
            self.note(remark, "parser")
        if not problems.any:
            self._check_unit(description, n_of, unit_problems)
        self._check_labels(label, trained)
        for tally in tallies:
            for message, key in _find_faults(tally):
                self.add(message, "columns", self.positions[tally.column.name], key)
        self._check_lost(description, tallies)
        self.report.tallies = tallies
        self.report.n_rows = label.n
        if self.report.is_ready:
            self._check_rare(description, trained)

    def _build(self) -> Description | None:
        """Build the description without its faulty columns; return None if it can't be built."""
        if "based_on" in self.content:
            description = self._attempt(lambda: catalogue.description_of(self.report.path))
            if description is None:
                return None
            self.positions = dict.fromkeys(description.domain.names, 0)
            return description
        content = deepcopy(self.content)
        skipped, elsewhere = self._check_schema(content)
        columns = content.get("columns")
        if elsewhere or not isinstance(columns, list):
            return None
        content["columns"] = [entry for k, entry in enumerate(columns) if k not in skipped]
        for k, entry in enumerate(columns):
            if k not in skipped:
                try:
                    self.positions.update(dict.fromkeys(names_of(entry["name"]), k))
                except ValueError as error:
                    self.add(str(error), "columns", k)
                    return None
        if not content["columns"]:
            return None
        return self._attempt(lambda: build(self.report.name, self.report.path, write_out(content)))

    def _check_schema(self, content: dict[str, Any]) -> tuple[set[int], bool]:
        """Add a fault for each blank, and for each violation of the schema.

        Returns the indices of the columns that can't be checked further, and whether a fault
        outside the columns prevents all further checks. In `content`, the blank of the unit is
        removed, and the blanks of the label get placeholders.
        """
        left_blank = blanks(content)
        self.report.n_blanks = len(left_blank)
        for blank in left_blank:
            self.add(blank.message, *blank.place)
            if blank.place == ("unit",):
                del content["unit"]
            elif blank.place[0] == "label":
                content["label"][blank.key] = _UNDECIDED[blank.key]
                self.label_decided = False
        blank_places = {blank.place for blank in left_blank}
        skipped = {k for place in blank_places for k in place[1:2] if isinstance(k, int)}
        elsewhere = False
        for places, message in schema.faults(content, catalogue.SCHEMA):
            faulty = [place for place in places if place not in blank_places]
            if not faulty:
                continue
            others = sorted(
                {self.lines.line_of(*place) for place in faulty} - {self.lines.line_of(*faulty[0])}
            )
            also = f" (also line {', '.join(map(str, others))})" if others else ""
            self.add(f"{message.removesuffix('.')}{also}.", *faulty[0])
            for place in faulty:
                if len(place) > 1 and place[0] == "columns" and isinstance(place[1], int):
                    skipped.add(place[1])
                else:
                    elsewhere = True
        return skipped, elsewhere

    def _check_size(self, description: Description, part: str, n_read: int) -> None:
        key = "n_test" if part == TEST and description.n_test else "n_rows"
        expected = description.raw_sizes.get(part, n_read)
        if not n_read:
            self.add("the file holds no records.", "files", part)
        elif n_read != expected:
            self.add(
                f"the file holds {n_read:,} records, not {expected:,}. If it is the one that is "
                f"meant, and its number of records may be known, write {key}: {n_read}.",
                key,
            )

    def _check_unit(
        self, description: Description, n_of: dict[str, Counter[str]], problems: Problems
    ) -> None:
        """Add a fault if `n_rows` or `n_test` is wrong, given the limit of records per person.

        `n_of` has, for the keys ``n_rows`` and ``n_test``, the number of records of each person.
        """
        if (unit := description.unit) is None:
            return
        names = chain.from_iterable(n_of.values())
        if alike := explain_alike(unit.column, names, shown=True):
            self.note(alike, "unit")
        for key, persons in n_of.items():
            # With `balance` or `first`, the number of kept records does not follow from `persons`
            # and `at_most`, so it can't be checked here.
            if persons and not (description.records.balance or description.records.first):
                n_kept = sum(min(n, unit.at_most) for n in persons.values())
                check_kept(description, n_kept, persons.total(), key, problems)
        self.add_all(problems.messages, "unit")

    def _check_clipping(
        self, description: Description, part: str, tally: Tally, n_clipped: int, n: int
    ) -> None:
        name, share = tally.column.name, n_clipped / n if n else 0.0
        if share > REFUSED and name not in description.clipped:
            where = f" ({part})" if part == TEST else ""
            self.add(
                f"{share:.0%} of the values of {name!r}{where} lie outside its bounds: check their "
                "unit. If it must be so, say clipping: expected.",
                "columns",
                self.positions[name],
                "bounds",
            )

    def _check_lost(self, description: Description, tallies: list[Tally]) -> None:
        """Add a fault for each entry of `columns` whose column becomes constant by encoding.

        An entry that describes several columns, by a pattern of names, gets a fault if at least
        half of these columns become constant.
        """
        entries: dict[int, list[Tally]] = {}
        for tally in tallies:
            entries.setdefault(self.positions[tally.column.name], []).append(tally)
        for position, entry in entries.items():
            lost = [
                tally
                for tally in entry
                if tally.loses_all
                and tally.column.name not in description.clipped
                and tally.counts.share(tally.counts.clipped) <= REFUSED
            ]
            if 2 * len(lost) < len(entry) or not lost:
                continue
            names = ", ".join(repr(tally.column.name) for tally in lost[:MOST_NAMED])
            more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
            each = " each" if len(lost) > 1 else ""
            what, key = (
                (f"{OTHER!r}{each}: compare the spelling of the listed categories with the file"),
                "kind",
            )
            finer_bins = ""
            if lost[0].column.kind == NUMERIC:
                what = (
                    f"in one bin{each}, though they differ: compare the bounds with the unit of "
                    "the file"
                )
                key = "bounds"
                advice = propose_bins(lost[0].column)
                finer_bins = f" If they are, {advice[0].lower()}{advice[1:]}"
            self.add(
                f"all values of {names}{more} are {what}.{finer_bins} So nothing can be learned "
                "from them: correct it, or remove them from columns.",
                "columns",
                position,
                key,
            )

    def _check_labels(self, tally: LabelTally, trained: dict[str, int]) -> None:
        if not self.label_decided:
            return
        label = tally.label
        if tally.refused:
            self.add(
                f"the label {label.column!r} has values outside its classes: "
                f"{tally.frequent_values}. List each under its class; remove records without a "
                "label from the file.",
                "label",
            )
        elif trained and len({label.codes[text] for text in trained}) < 2:
            self.add(
                f"all records have the label {next(iter(trained))!r}: there is nothing to tell "
                f"apart. Check {'classes' if label.classes else 'positive and negative'}, or the "
                "file.",
                "label",
            )

    def _check_rare(self, description: Description, trained: Mapping[str, int]) -> None:
        """Add a remark for each class that has only one record (one person, if ε protects persons).

        ``privcurve compare`` needs two of each class, one to train on and one to test on. `trained`
        maps each text of the label to its number of records in the training files.
        """
        label, whose, sizes = description.label, "record", Counter[int]()
        for text, n in trained.items():
            sizes[label.codes[text]] += n
        if description.records != Subsample() or description.unit:
            key = "unit" if description.unit else "records"
            data = self._attempt(lambda: load(self.report.name), key)
            if data is None:
                return
            sizes = Counter(data.y.tolist())
            if data.persons is not None:
                whose, sizes = "person", Counter(label_persons(data.y, data.persons)[0].tolist())
        for code, size in sizes.items():
            if size == 1:
                name = label.names[code if label.classes else int(code > 0)]
                self.report.can_compare = False
                self.note(
                    f"the class {name!r} has 1 {whose}, and privcurve compare, which holds some "
                    "out, needs 2 of each class: join it with another class, or leave it out of "
                    "the file",
                    "label",
                )


def _question_markers(domain: Domain) -> Iterator[str]:
    """Yield a question for each marker of missing values within the bounds of a column.

    A column's own markers give no question: the owner listed them for this column on purpose.
    """
    columns_of: dict[str, list[str]] = {}
    for column in domain.columns:
        for word in domain.missing:
            if word not in column.missing and _is_within(word, column, domain.decimal):
                columns_of.setdefault(word, []).append(column.name)
    for word, names in columns_of.items():
        yield (
            f"missing: {write_flow(word)} lies within the bounds of {reading.list_names(names)}, "
            "and counts as missing there. If it is a value there, take it out of this list, and "
            f"write missing: [{write_flow(word)}] under the columns where it marks a missing value."
        )


def _is_within(word: str, column: Column, decimal: str) -> bool:
    """Return whether a marker of missing values, read as a number or date, is within the bounds."""
    if column.bounds is None:
        return False
    marked = days_of([word], column) if column.dates else Markers([word], decimal).amounts
    return any(column.bounds[0] <= value <= column.bounds[1] for value in marked)


def _propose_thousands(tally: Tally) -> str:
    """Return advice to set a thousands mark, if it turns all refused values into numbers.

    Returns "" if no thousands mark does so.
    """
    decimal, texts = tally.decimal, list(tally.refused)
    for mark in "., '".replace(decimal, ""):
        plain = remove_grouping(texts, decimal, mark)
        if plain != texts and all(amount_of(text, decimal) is not None for text in plain):
            say = f"say thousands: {write_flow(mark)}"
            return f" If {mark!r} stands between thousands there, {say}."
    return ""


def _find_faults(tally: Tally) -> Iterator[tuple[str, str]]:
    """Yield (message, key) for each fault of the values of a column.

    `key` is the key of the description that the owner should change.
    """
    column = tally.column
    if tally.counts.gaps:
        remedy = f"list {MISSING!r} among its categories"
        if column.kind == NUMERIC:
            remedy = "set missing: bin, which gives them a code of their own"
        elif MISSING in column.codes:
            remedy = "add '' to missing"
        yield f"{column.name!r} is missing in {tally.counts.gaps:,} records: {remedy}.", "kind"
    if tally.refused:
        values = tally.frequent_values
        if column.kind == NUMERIC:
            what = "dates of its format" if column.dates else "numbers"
            others = "format" if column.dates else "describe the column as text"
            yield (
                f"{column.name!r} holds what are no {what}: {values}.{_propose_thousands(tally)} "
                "If they stand for a missing value, add them to missing; else correct the file, or "
                f"{others}.",
                "kind",
            )
        else:
            hint = suggestion(next(iter(tally.refused)), column.codes).rstrip(".")
            yield (
                f"{column.name!r} holds what is none of its categories: {values}{hint}. List all "
                f"that there can be, from what is public; or list {OTHER!r}, with unknown: other.",
                "categories",
            )
