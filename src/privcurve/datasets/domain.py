"""The domain: what is public about a dataset, and never computed from its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from privcurve.coding import MIXED, MIXED_HIGH
from privcurve.datasets.columns import CATEGORICAL, FAIL, MISSING, NUMERIC, OTHER, Column, Label

__all__ = ["CATEGORICAL", "FAIL", "MISSING", "NUMERIC", "OTHER", "Column", "Domain", "Label"]

# Keys of a column that came later than the first datasets.
_LATER = ("spacing", "missing_bin", "dates", "patterns", "merged")


@dataclass(frozen=True)
class Domain:
    """Columns and label of a dataset: public knowledge.

    Attributes
    ----------
    columns : tuple of Column
    label : Label
    missing : tuple of str
        Words for a missing value in raw data, beside an empty cell.
    unknown : str
        ``fail``; or ``other``: unknown categories go to the category ``other`` of each column
        that has it.
    decimal : str
        The mark before tenths in raw data.
    thousands : str
        The mark between thousands; ``""`` for none.
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
    def public_names(self) -> tuple[str, ...]:
        """Names of the columns that are public, and of the label if that is, sorted."""
        names = [column.name for column in self.columns if column.public]
        return tuple(sorted([*names, *([self.label.column] if self.label.public else [])]))

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

    @property
    def mixed_bins(self) -> tuple[int, ...] | None:
        """How many bins of each column are mixed; None if none are."""
        bins = tuple(
            column.bins if column.spacing in (MIXED, MIXED_HIGH) and not column.merged else 0
            for column in self.columns
        )
        return bins if any(bins) else None

    def merge_bins(self, groups: Sequence[Sequence[int]]) -> Self:
        """Return the domain whose codes are groups of these: of numbers neighbours, merged.

        `groups` has the group of each code, by column.
        """
        columns = tuple(
            column.merge_bins(own) if column.kind == NUMERIC else column
            for column, own in zip(self.columns, groups, strict=True)
        )
        return replace(self, columns=columns)

    def to_json(self) -> str:
        """Write the domain in its one canonical form (sorted keys, no blanks).

        Keys that are younger than the first datasets are left out where they have their defaults,
        so that the checksums of those datasets stay. Left out too is how raw values are read
        (`missing`, `unknown`, `decimal`, `thousands`), on which no code depends: :meth:`to_dict`.
        """
        columns = []
        for column in self.columns:
            entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == NUMERIC:
                entry |= {"bounds": list(column.bounds or ()), "bins": column.bins}
            else:
                entry["categories"] = [list(pair) for pair in column.categories]
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

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def to_dict(self) -> dict[str, Any]:
        """Return all that coding new records takes, as plain JSON."""
        return {
            **json.loads(self.to_json()),
            "missing": list(self.missing),
            "unknown": self.unknown,
            "decimal": self.decimal,
            **({"thousands": self.thousands} if self.thousands else {}),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Make a domain of what :meth:`to_dict` or :meth:`to_json` gave."""
        columns = []
        for entry in facts["columns"]:
            pairs = tuple((value, title) for value, title in entry.get("categories", ()))
            values = {**entry, "categories": pairs}
            if entry.get("bounds") is not None:
                values["bounds"] = tuple(map(float, entry["bounds"]))
            values["merged"] = tuple(map(float, entry.get("merged", ())))
            columns.append(Column(**values))
        label = {**facts["label"], "classes": tuple(facts["label"].get("classes", ()))}
        reading = {key: facts[key] for key in ("unknown", "decimal", "thousands") if key in facts}
        if "missing" in facts:
            reading["missing"] = tuple(facts["missing"])
        return cls(tuple(columns), Label(**label), **reading)
