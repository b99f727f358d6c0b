"""Find the keys that a draft leaves blank because a person has to decide what is public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from privcurve.schema import Place

# Words for messages: what the owner of the data should write at each blank key.
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

    place: Place  # path of the key in the description
    subject: str  # words for messages that name what the key describes, such as "the label"

    @property
    def key(self) -> str:
        """The name of the key, which is the last entry of its path."""
        return str(self.place[-1])

    @property
    def message(self) -> str:
        """A message that asks the owner for the value of the key."""
        return f"decide on {self.key} of {self.subject}: {WANTED[self.key]}."


def blanks(content: Mapping[str, object]) -> list[Blank]:
    """Return the blanks of a description in this order: unit, columns, label."""
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
