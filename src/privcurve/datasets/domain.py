"""The domain: what is public about a dataset, and never computed from its rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from privcurve import coding
from privcurve.datasets.dates import written

NUMERIC = "numeric"
CATEGORICAL = "categorical"

# Titles that take missing values, and texts that are not listed.
MISSING = "?"
OTHER = "other"

# What may be said of a category that is not listed.
FAIL = "fail"


def _number(value: float) -> str:
    return f"{value:.10g}"


@dataclass(frozen=True)
class Column:
    """One column of the coded matrix.

    Attributes
    ----------
    name : str
    kind : str
        ``numeric`` or ``categorical``.
    bounds : tuple of two floats, optional
        Lowest and highest value of a numeric column, in the unit of the file.
    bins : int
        Number of bins between the bounds of a numeric column; 0 for a categorical one.
    categories : tuple of (value, title)
        Values of a categorical column as the file spells them, each with the title of
        its bin. Values of equal title share a bin.
    public : bool
        Whether the column is public in studies of partially private features.
    spacing : str
        Of a numeric column: ``equal`` width of all bins, or ``log`` or ``log1p``.
    missing_bin : bool
        Whether a numeric column has one more code, the last, for missing values.
    dates : str
        Of a numeric column whose values are dates, as days since 1970-01-01: how the file writes
        them, ``iso`` or a format of `strptime`.
    patterns : bool
        Whether the values of a categorical column are patterns, of which the first that fits a
        text counts: ``*`` is any text, and case does not matter. What fits none is ``other``.
    """

    name: str
    kind: str
    bounds: tuple[float, float] | None = None
    bins: int = 0
    categories: tuple[tuple[str, str], ...] = ()
    public: bool = False
    spacing: str = coding.EQUAL
    missing_bin: bool = False
    dates: str = ""
    patterns: bool = False

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Titles of the bins of a categorical column, in the order of their codes."""
        return tuple(dict.fromkeys(title for _, title in self.categories))

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """Code of each value of a categorical column, or of each pattern.

        Texts of a file are coded by :class:`privcurve.datasets.values.Codes`.
        """
        code = {title: k for k, title in enumerate(self.titles)}
        return {value: code[title] for value, title in self.categories}

    @property
    def n_bins(self) -> int:
        """How many codes the column has."""
        return self.bins + self.missing_bin if self.kind == NUMERIC else len(self.titles)

    @property
    def ordered(self) -> bool:
        """Whether codes stand in the order of what they mean (but a code for missing values)."""
        return self.kind == NUMERIC

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The ``bins + 1`` edges of a numeric column's bins; of dates, whole days."""
        if self.bounds is None:
            raise ValueError(f"the column {self.name!r} is categorical: it has no edges")
        found = coding.edges(*self.bounds, self.bins, self.spacing).tolist()
        if not self.dates:
            return tuple(found)
        if found[-1] - found[0] < self.bins:
            raise ValueError(f"leave {self.bins} bins less than a day each: give n_bins")
        return tuple(float(math.ceil(edge)) for edge in found)

    @cached_property
    def bin_names(self) -> tuple[str, ...]:
        """A readable condition for each code, such as ``13 <= education-num < 14.5``.

        The last numeric bin is closed. Values outside the bounds are clipped, so the
        first and the last bin hold them too.
        """
        if self.kind == CATEGORICAL:
            return tuple(f"{self.name} = {title}" for title in self.titles)
        low, high = self.edges[:-1], self.edges[1:]
        signs = ["<"] * (self.bins - 1) + ["<="]
        spelt = written if self.dates else _number
        between = tuple(
            f"{spelt(a)} <= {self.name} {sign} {spelt(b)}"
            for a, b, sign in zip(low, high, signs, strict=True)
        )
        return (*between, f"{self.name} is missing") if self.missing_bin else between


@dataclass(frozen=True)
class Label:
    """Names of the classes.

    Attributes
    ----------
    column : str
        The column of the file that holds the label.
    negative, positive : str
        What −1 and +1 stand for, of two classes.
    public : bool
        Whether the label is public in studies of partially private features.
    classes : tuple of str
        What 0, 1, … stand for, of more than two classes.
    """

    column: str
    negative: str = ""
    positive: str = ""
    public: bool = False
    classes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all classes; of two, the negative one first."""
        return self.classes or (self.negative, self.positive)


@dataclass(frozen=True)
class Domain:
    """Columns and label of a dataset: public knowledge.

    Attributes
    ----------
    columns : tuple of Column
    label : Label
    missing : tuple of str
        What raw data hold for a missing value, beside nothing at all.
    unknown : str
        ``fail``; or ``other``: unknown categories go to the category ``other`` of each column
        that has it.
    decimal : str
        What raw data write between a number's units and tenths.
    """

    columns: tuple[Column, ...]
    label: Label
    missing: tuple[str, ...] = (MISSING,)
    unknown: str = FAIL
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_bins(self) -> tuple[int, ...]:
        """How many codes each column has."""
        return tuple(column.n_bins for column in self.columns)

    @property
    def width(self) -> int:
        """Number of columns after one-hot coding."""
        return sum(self.n_bins)

    @property
    def bin_names(self) -> tuple[tuple[str, ...], ...]:
        """A readable condition for each code of each column."""
        return tuple(column.bin_names for column in self.columns)

    @property
    def public_columns(self) -> tuple[int, ...]:
        """Positions of the columns that are public."""
        return tuple(j for j, column in enumerate(self.columns) if column.public)

    @property
    def public_label(self) -> bool:
        """Whether the label is public."""
        return self.label.public

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.label.names)

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Which columns have codes in the order of what they mean."""
        return tuple(column.ordered for column in self.columns)

    def to_json(self) -> str:
        """Write the domain in its one canonical form (sorted keys, no blanks).

        What is as it is by default is left out where it came later than the first datasets:
        their text, and so their checksums, stay. So is how raw values are read (`missing`,
        `unknown`, `decimal`), on which no code depends: see :meth:`to_dict`.
        """
        columns = []
        for column in self.columns:
            entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == NUMERIC:
                entry["bounds"] = list(column.bounds or ())
                entry["bins"] = column.bins
                if column.spacing != coding.EQUAL:
                    entry["spacing"] = column.spacing
                if column.missing_bin:
                    entry["missing_bin"] = True
                if column.dates:
                    entry["dates"] = column.dates
            else:
                entry["categories"] = [list(pair) for pair in column.categories]
                if column.patterns:
                    entry["patterns"] = True
            columns.append(entry | {"public": column.public})
        label: dict[str, Any] = {"column": self.label.column}
        if self.label.classes:
            label["classes"] = list(self.label.classes)
        else:
            label |= {"negative": self.label.negative, "positive": self.label.positive}
        if self.label.public:
            label["public"] = True
        whole = {"columns": columns, "label": label}
        return json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def to_dict(self) -> dict[str, Any]:
        """Give all that coding new records takes, as plain JSON."""
        return {
            **json.loads(self.to_json()),
            "missing": list(self.missing),
            "unknown": self.unknown,
            "decimal": self.decimal,
        }

    @classmethod
    def from_dict(cls, whole: Mapping[str, Any]) -> Self:
        """Make a domain of what :meth:`to_dict` or :meth:`to_json` gave."""
        columns = []
        for entry in whole["columns"]:
            bounds = entry.get("bounds")
            given = {
                **entry,
                "bounds": None if bounds is None else (float(bounds[0]), float(bounds[1])),
                "categories": tuple((v, t) for v, t in entry.get("categories", [])),
            }
            columns.append(Column(**given))
        label = {**whole["label"], "classes": tuple(whole["label"].get("classes", ()))}
        reading = {key: whole[key] for key in ("unknown", "decimal") if key in whole}
        if "missing" in whole:
            reading["missing"] = tuple(whole["missing"])
        return cls(tuple(columns), Label(**label), **reading)
