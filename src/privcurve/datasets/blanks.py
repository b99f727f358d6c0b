"""Keys that a draft leaves blank because a person has to decide what is public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from privcurve.schema import Place

# For each key that a draft may leave blank: what to write there, as part of a message.
WANTED = {
    "bounds": "[lowest, highest], for dates [first, last day], known without looking at the "
    "records",
    "categories": "a list of all possible values, from a codebook and not from the records",
    "groups": "a list of the relevant words, or groups of them by patterns; all others become "
    "other",
    "format": 'how a date is written, such as "%d.%m.%Y"',
    "pivot": "the first of the hundred years that two digits cover: 1930 for 1930 to 2029",
    "positive": "the value of positive records, in quotes",
    "negative": "the value of negative records, in quotes",
    "unit": "{column: …, at_most: …}, if that column names people of several records each (n_rows "
    "counts those that are kept); or none",
    "classes": "a list of all possible classes, or each value with its class",
}
_LABEL_KEYS = ("positive", "negative", "classes")


class Blank(NamedTuple):
    """A key without a value in a draft."""

    place: Place  # position in the description
    subject: str  # the column or the label, as named in messages

    @property
    def key(self) -> str:
        """The last key of the position."""
        return str(self.place[-1])

    @property
    def message(self) -> str:
        """A message that asks for the decision."""
        return f"decide on {self.key} of {self.subject}: {WANTED[self.key]}."


def blanks(content: Mapping[str, object]) -> list[Blank]:
    """Return the blank keys of a description: of unit, columns and label, in this order."""
    columns = content.get("columns")
    label = content.get("label")
    entries = columns if isinstance(columns, list) else []
    sides = label if isinstance(label, Mapping) else {}
    unit = [Blank(("unit",), "the records")] if content.get("unit", "") is None else []
    of_columns = [
        Blank(("columns", k, key), repr(entry.get("name")))
        for k, entry in enumerate(entries)
        if isinstance(entry, Mapping)
        for key, value in entry.items()
        if key in WANTED and value is None
    ]
    of_label = [
        Blank(("label", key), "the label")
        for key, value in sides.items()
        if key in _LABEL_KEYS and value is None
    ]
    return unit + of_columns + of_label
