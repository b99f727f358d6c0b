"""Define the domain: the public facts about a dataset, never computed from its records."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property, lru_cache
from typing import Any, Self

from privcurve import binning, given
from privcurve.binning import MIXED, MIXED_HIGH, WHOLE

NUMERIC = "numeric"
CATEGORICAL = "categorical"

# Titles of two categories: for missing values (MISSING), and for unlisted texts (OTHER).
MISSING = "?"
OTHER = "other"

# Value of a domain's `unknown`: an unlisted category is an error.
FAIL = "fail"

# Date columns contain numbers of days since this day.
FIRST_DAY = date(1970, 1, 1)

# Fields of a column that the first datasets did not have. `to_json` omits them if they have their
# defaults, so that the checksums of those datasets do not change.
_LATER = ("spacing", "missing_bin", "dates", "pivot", "patterns", "merged")


def format_day(day: float) -> str:
    """Write a day as an ISO date."""
    return (FIRST_DAY + timedelta(days=int(day))).isoformat()


def format_value(value: float, dates: str = "", digits: int = 10) -> str:
    """Write a value of a numeric column with `digits` significant digits; a date as ISO date."""
    return format_day(value) if dates else f"{value:.{digits}g}"


def round_to(value: float, digits: int) -> float:
    """Round a value to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class Column:
    """One column of the encoded matrix."""

    name: str
    kind: str  # `numeric` or `categorical`
    # Lowest and highest value of a numeric column, in the unit of the file.
    bounds: tuple[float, float] | None = None
    bins: int = 0  # number of bins between the bounds of a numeric column; 0 if categorical
    # Pairs (value, title) of a categorical column: each value as spelt in the file, with the title
    # of its bin. Values with equal titles share a bin.
    categories: tuple[tuple[str, str], ...] = ()
    public: bool = False  # whether the column is public in studies of partially private features
    # Spacing of the bins of a numeric column, see `privcurve.binning.edges`.
    spacing: str = binning.EQUAL
    # Whether a numeric column has an additional last bin for missing values.
    missing_bin: bool = False
    # Format of a date column: `iso`, or a format of `strptime`; empty for other columns. A date is
    # encoded as the number of days since 1970-01-01.
    dates: str = ""
    # First of the hundred years that two digits can mean: by default 1969 to 2068, as in
    # `strptime`.
    pivot: int = 1969
    # Whether the values of a categorical column are patterns, in which `*` matches any text; case
    # is ignored. The first pattern that matches a text decides; a text that matches none is
    # `other`.
    patterns: bool = False
    # The `bins + 1` edges of a numeric column whose neighbouring bins were merged; else empty.
    merged: tuple[float, ...] = ()
    # The unit of a numeric column's values, such as mmHg; for readers.
    units: str = ""
    # Words for a missing value in this column alone, in addition to the domain's.
    missing: tuple[str, ...] = ()
    # Whether the edges are unrounded, as in earlier versions. Only edges of equally wide bins are
    # rounded at all, so the field is False for other spacings.
    exact: bool = False

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Titles of the bins of a categorical column, in the order of the bins."""
        return tuple(dict.fromkeys(title for _, title in self.categories))

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The bin of each value of a categorical column, or of each pattern.

        To encode texts of a file, use :class:`~privcurve.datasets.coding.TextCodes`, which also
        knows missing and unlisted texts.
        """
        code = {title: k for k, title in enumerate(self.titles)}
        return {value: code[title] for value, title in self.categories}

    @property
    def code_names(self) -> tuple[str, ...]:
        """The name of each bin: a condition on a number, or the title of a category."""
        return self.bin_names if self.kind == NUMERIC else self.titles

    @property
    def n_bins(self) -> int:
        """Number of bins of the column, including the bin for missing values."""
        return self.bins + self.missing_bin if self.kind == NUMERIC else len(self.titles)

    @property
    def ordered(self) -> bool:
        """Whether larger values have larger bins; the bin for missing values is an exception."""
        return self.kind == NUMERIC

    @property
    def is_whole(self) -> bool:
        """Whether all bins have equally many whole numbers: the spacing `whole`."""
        return self.spacing == WHOLE

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The ``bins + 1`` edges of a numeric column's bins; for dates, whole days."""
        if self.bounds is None:
            raise ValueError(
                f"the column {self.name!r} must be numeric to have edges; it is categorical"
            )
        if self.merged:
            return self.merged
        ends = binning.edges(*self.bounds, self.bins, self.spacing, self.exact).tolist()
        if not self.dates:
            return tuple(ends)
        if ends[-1] - ends[0] < self.bins:
            raise ValueError(f"leave {self.bins} bins less than a day each: give a smaller n_bins")
        return tuple(float(math.ceil(edge)) for edge in ends)

    @cached_property
    def levels(self) -> tuple[float, ...] | None:
        """A number in [0, 1] for each bin of a numeric column; None for a categorical column.

        The middle of the bin is scaled linearly: 0 for the lowest bin, 1 for the highest. It is ½
        for missing values, and if there is only one bin.
        """
        if self.kind != NUMERIC:
            return None
        middles = [a / 2 + b / 2 for a, b in itertools.pairwise(self.edges)]
        width = middles[-1] - middles[0]
        places = [(middle - middles[0]) / width for middle in middles] if width else [0.5]
        return (*places, *[0.5] * self.missing_bin)

    @cached_property
    def bin_names(self) -> tuple[str, ...]:
        """A readable condition for each bin, such as ``13 <= education-num < 14.5``.

        The condition of the last numeric bin includes its upper edge. Values outside the bounds are
        clipped, so that the first and last bin contain them, too.
        """
        if self.kind == CATEGORICAL:
            return tuple(f"{self.name} = {title}" for title in self.titles)
        # Write all digits of an edge, because a value equal to the written edge must be in the
        # upper bin.
        ends = [format_value(edge, self.dates, 10 if self.exact else 12) for edge in self.edges]
        if self.is_whole:
            lasts = [f"{edge - 1:.12g}" for edge in self.edges[1:]]
            between = tuple(
                f"{self.name} = {low}" if low == last else f"{low} <= {self.name} <= {last}"
                for low, last in zip(ends[:-1], lasts, strict=True)
            )
            return (*between, f"{self.name} is missing") if self.missing_bin else between
        signs = ["<"] * (self.bins - 1) + ["<="]
        between = tuple(
            f"{low} <= {self.name} {sign} {high}"
            for low, high, sign in zip(ends[:-1], ends[1:], signs, strict=True)
        )
        return (*between, f"{self.name} is missing") if self.missing_bin else between

    @property
    def short_names(self) -> tuple[str, ...]:
        """The conditions of :attr:`bin_names` with shorter numbers, and the titles of categories.

        Edges have three significant digits, or as many more as distinguish them.
        """
        if self.kind == CATEGORICAL:
            return self.titles
        if self.dates or self.is_whole:
            return self.bin_names
        digits = 3
        while digits < 12 and len({round_to(edge, digits) for edge in self.edges}) <= self.bins:
            digits += 1
        edges = tuple(round_to(edge, digits) for edge in self.edges)
        return replace(self, merged=edges, exact=False).bin_names

    @property
    def label(self) -> str:
        """The name of the column, followed by the unit of its values if it is known."""
        return f"{self.name} [{self.units}]" if self.units else self.name

    def crop(self, first: int, last: int, missing: bool) -> Column:
        """Return this numeric column restricted to the bins `first` to `last`, inclusive.

        `missing` says whether the result has a bin for missing values.
        """
        edges = self.edges[first : last + 2]
        bins = last - first + 1
        return replace(self, bins=bins, merged=edges, exact=False, missing_bin=missing)

    def merge_bins(self, groups: Sequence[int]) -> Column:
        """Return this numeric column with neighbouring bins merged.

        `groups` has a number for each bin; neighbouring bins with equal numbers are merged.
        """
        starts = [k for k in range(1, self.bins) if groups[k] != groups[k - 1]]
        if len(starts) == self.bins - 1:
            return self
        edges = tuple(self.edges[k] for k in (0, *starts, self.bins))
        return replace(self, bins=len(starts) + 1, merged=edges, exact=False)

    def keep_exact(self) -> Column:
        """Return this column with the unrounded edges of earlier versions.

        `exact` of the result is True if rounding would move an edge; only edges of equally wide
        bins are rounded.
        """
        plain = self.kind == NUMERIC and self.spacing == binning.EQUAL and not self.merged
        is_moved = plain and _is_moved(self.bounds, self.bins, self.dates)
        return replace(self, exact=is_moved)

    def format_bounds(self, digits: int = 10) -> tuple[str, str]:
        """Return the bounds of a numeric column as texts; of a date column, as ISO dates."""
        ends = self.edges[:: self.bins]
        if self.is_whole:
            ends = ends[0], ends[1] - 1
        low, high = (format_value(end, self.dates, digits) for end in ends)
        return low, high


@dataclass(frozen=True)
class Label:
    """The column of the label, and the names of the classes."""

    column: str  # name of the label's column in the data file
    negative: str = ""  # name of the class −1, if there are two classes
    positive: str = ""  # name of the class +1, if there are two classes
    public: bool = False  # whether the label is public in studies of partially private features
    classes: tuple[str, ...] = ()  # names of the classes 0, 1, …, if there are more than two
    # Type of the labels (:mod:`privcurve.given`), which are stored as texts. The type decides how
    # labels are read, but changes no bin, so it does not matter when domains are compared.
    type: str = field(default=given.TEXT, compare=False)
    # Pairs (label in the file, name of its class); empty if all labels are names of classes.
    spellings: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    # Suffix that is removed from the labels of a file, such as a full stop.
    strip: str = field(default="", compare=False)

    @classmethod
    def of(cls, column: str, names: Sequence[str], public: bool = False) -> Self:
        """Make a label from the names of its classes; with two classes, the negative one first."""
        if len(names) == 2:
            return cls(column, names[0], names[1], public)
        return cls(column, public=public, classes=tuple(names))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all classes; with two classes the negative one is first."""
        return self.classes or (self.negative, self.positive)

    @property
    def places(self) -> dict[str, int]:
        """Maps each class's name, and each label of the class in the file, to the class's index."""
        of_names = {name: k for k, name in enumerate(self.names)}
        return of_names | {text: of_names[name] for text, name in self.spellings}


@dataclass(frozen=True)
class Domain:
    """Columns and label of a dataset: public knowledge.

    Attributes
    ----------
    columns : tuple of Column
    label : Label
    missing : tuple of str
        Words for a missing value in raw data, in addition to an empty cell. A column can have
        further words for its own missing values (``Column.missing``).
    unknown : str
        ``fail``: an unlisted category is an error; ``other``: in each column that lists the
        category ``other``, unlisted categories become this category.
    decimal : str
        The decimal mark in raw data.
    thousands : str
        The thousands mark; ``""`` for none.
    """

    columns: tuple[Column, ...]
    label: Label
    missing: tuple[str, ...] = (MISSING,)
    unknown: str = FAIL
    decimal: str = "."
    thousands: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of bins of each column."""
        return tuple(column.n_bins for column in self.columns)

    @property
    def width(self) -> int:
        """Number of columns after one-hot encoding."""
        return sum(self.n_bins)

    @property
    def bin_names(self) -> tuple[tuple[str, ...], ...]:
        """For each column, the :attr:`Column.bin_names`: a readable condition for each bin."""
        return tuple(column.bin_names for column in self.columns)

    @property
    def levels(self) -> tuple[tuple[float, ...] | None, ...]:
        """For each column, the :attr:`Column.levels` of its bins; None for categorical columns."""
        return tuple(column.levels for column in self.columns)

    @property
    def public_columns(self) -> tuple[int, ...]:
        """Positions of the public columns."""
        return tuple(j for j, column in enumerate(self.columns) if column.public)

    @property
    def public_names(self) -> tuple[str, ...]:
        """Names of the public columns, sorted, including a public label."""
        names = [column.name for column in self.columns if column.public]
        return tuple(sorted([*names, *([self.label.column] if self.label.public else [])]))

    @property
    def public_label(self) -> bool:
        """Whether the label is public."""
        return self.label.public

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.label.names)

    def missing_in(self, column: Column) -> tuple[str, ...]:
        """Return the words for a missing value in a column: the domain's and the column's."""
        return tuple(dict.fromkeys((*self.missing, *column.missing)))

    @property
    def ordered(self) -> tuple[bool, ...]:
        """For each column, whether larger values have larger bins (:attr:`Column.ordered`)."""
        return tuple(column.ordered for column in self.columns)

    @property
    def mixed_bins(self) -> tuple[int, ...] | None:
        """Number of bins of each column with mixed or whole-number spacing; 0 for other columns.

        None if there is no such column. Learners that need few bins merge bins of these columns.
        """
        fine = (MIXED, MIXED_HIGH, WHOLE)
        bins = tuple(
            column.bins if column.spacing in fine and not column.merged else 0
            for column in self.columns
        )
        return bins if any(bins) else None

    def merge_bins(self, groups: Sequence[Sequence[int]]) -> Self:
        """Return the domain with neighbouring bins of numeric columns merged.

        `groups` has, for each column, a number for each bin; neighbouring bins with equal numbers
        are merged.
        """
        columns = tuple(
            column.merge_bins(of_column) if column.kind == NUMERIC else column
            for column, of_column in zip(self.columns, groups, strict=True)
        )
        return replace(self, columns=columns)

    def to_json(self) -> str:
        """Write the domain as canonical JSON (sorted keys, no blanks), for checksums.

        Keys that the first datasets did not have are omitted if they have their defaults, so that
        the checksums of those datasets do not change. Fields that say only how raw values are read
        (`missing`, `unknown`, `decimal`, `thousands`) and `units` are omitted, too; :meth:`to_dict`
        includes them.
        """
        columns = []
        for column in self.columns:
            entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == NUMERIC:
                entry |= {"bounds": list(column.bounds or ()), "bins": column.bins}
            else:
                entry["categories"] = [list(pair) for pair in column.categories]
            if not column.exact and column.keep_exact().exact:
                entry["rounded"] = True
            later = {key: getattr(column, key) for key in _LATER}
            entry |= {key: value for key, value in later.items() if value != getattr(Column, key)}
            columns.append(entry | {"public": column.public})
        label: dict[str, Any] = {"column": self.label.column}
        if self.label.classes:
            label["classes"] = list(self.label.classes)
        else:
            label |= {"negative": self.label.negative, "positive": self.label.positive}
        if self.label.public:
            label["public"] = True
        facts = {"columns": columns, "label": label}
        return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is needed to encode new records, as plain JSON."""
        facts = json.loads(self.to_json())
        for entry, column in zip(facts["columns"], self.columns, strict=True):
            if column.missing:
                entry["missing"] = list(column.missing)
            if column.units:
                entry["units"] = column.units
        if self.label.spellings:
            facts["label"]["spellings"] = [list(pair) for pair in self.label.spellings]
        if self.label.strip:
            facts["label"]["strip"] = self.label.strip
        return {
            **facts,
            "missing": list(self.missing),
            "unknown": self.unknown,
            "decimal": self.decimal,
            **({"thousands": self.thousands} if self.thousands else {}),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Make a domain from the result of :meth:`to_dict` or :meth:`to_json`."""
        columns = []
        for entry in facts["columns"]:
            pairs = tuple((value, title) for value, title in entry.get("categories", ()))
            values = {**entry, "categories": pairs}
            if entry.get("bounds") is not None:
                values["bounds"] = tuple(map(float, entry["bounds"]))
            values["merged"] = tuple(map(float, entry.get("merged", ())))
            values["missing"] = tuple(entry.get("missing", ()))
            is_rounded = values.pop("rounded", False)
            column = Column(**values)
            columns.append(column if is_rounded else column.keep_exact())
        label = {**facts["label"], "classes": tuple(facts["label"].get("classes", ()))}
        label["spellings"] = tuple((v, name) for v, name in label.get("spellings", ()))
        reading = {key: facts[key] for key in ("unknown", "decimal", "thousands") if key in facts}
        if "missing" in facts:
            reading["missing"] = tuple(facts["missing"])
        return cls(tuple(columns), Label(**label), **reading)


@lru_cache(maxsize=4096)
def _is_moved(bounds: tuple[float, float], bins: int, dates: str) -> bool:
    """Return whether rounding moves an edge of equally wide bins within `bounds`."""
    column = Column("", NUMERIC, bounds, bins, dates=dates)
    try:
        return column.edges != replace(column, exact=True).edges
    except (ValueError, OverflowError):  # invalid bounds, which another check reports
        return False
