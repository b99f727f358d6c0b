"""Fill in the blanks of a draft one by one: read an answer, check it, and write it down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets import catalogue
from privcurve.datasets.blanks import WANTED, Blank, blanks
from privcurve.datasets.build import build
from privcurve.datasets.drafts.text import flow
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.variants import written_out
from privcurve.files import replace_text
from privcurve.schema import Lines

# A key with nothing behind it but a remark, on a line of its own.
# An anchor stands for other columns of the same words.
_LINE = re.compile(
    r"(?P<head>\s*(?:- )?(?P<key>[a-z]+):(?:[ \t]+&\w+)?)"
    r"[ \t]*(?:#\s*(?:decide:\s*)?(?P<remark>.*?))?\s*"
)
_ALIAS = re.compile(r"\s*(?:- )?[a-z]+:[ \t]+\*\w")
_LISTS = ("bounds", "categories", "groups", "classes")

# What stands for blanks that are not decided yet, so that one answer can be checked.
_ANY: dict[str, Any] = {
    "bounds": [0, 1],
    "categories": ["a", "b"],
    "groups": ["a"],
    "format": "iso",
    "positive": "\0+",
    "negative": "\0-",
    "classes": ["\0+", "\0-", "\0"],
    "unit": "none",
}
_ANY_DAYS = ["2000-01-01", "2000-12-31"]
_ANY_COLUMN = {"name": "\0", "kind": "numeric", "bounds": [0, 1]}


class Question:
    """A blank of a draft, and where it is.

    Attributes
    ----------
    blank : Blank
    line : int
        Of the file.
    remark : str
        What the draft says of it, or what is wanted there.
    is_shared : bool
        Whether it is answered with that of another column.
    """

    def __init__(self, path: Path, blank: Blank) -> None:
        self.path, self.blank = path, blank
        self.line = Lines(path).of(*blank.place)
        text = self._lines()[self.line - 1]
        match = _LINE.fullmatch(text)
        self.is_shared = _ALIAS.match(text) is not None
        self._is_editable = match is not None and match["key"] == blank.key
        self.remark = (match and match["remark"]) or WANTED[blank.key]

    def _lines(self) -> list[str]:
        return self.path.read_bytes().decode("utf-8").splitlines(keepends=True)

    def answer(self, text: str) -> None:
        """Check an answer, and write it into the file.

        Parameters
        ----------
        text : str
            As in YAML; the brackets of a list may be left out, and quotes of a text.

        Raises
        ------
        DatasetError
            If it is not possible there; nothing is written.
        """
        if not self._is_editable:
            raise DatasetError(
                f"line {self.line} of {self.path} holds more than this key: write it there by hand"
            )
        value = self._value(text)
        self._check(value)
        lines = self._lines()
        old = lines[self.line - 1]
        match = _LINE.fullmatch(old)
        if match is None or match["key"] != self.blank.key:
            raise DatasetError(f"{self.path} was changed meanwhile: run the command again")
        end = old[len(old.rstrip("\r\n")) :]
        lines[self.line - 1] = f"{match['head']} {flow(value)}{end}"
        replace_text(self.path, "".join(lines))

    def _value(self, text: str) -> Any:
        """Read an answer."""
        key, text = self.blank.key, text.strip()
        is_list = text[:1] in ("[", "{")
        try:
            if key in _LISTS:
                return schema.parse_yaml(text if is_list else f"[{text}]", key)
            if is_list or text[:1] in ("'", '"'):
                return schema.parse_yaml(text, key)
        except schema.SchemaError as error:
            raise DatasetError(str(error)) from None
        return text

    def _check(self, value: Any) -> None:
        """Refuse what the schema, or the rest of the column or label, does not allow."""
        content = deepcopy(catalogue.content_of(self.path))
        for other in blanks(content):
            entry: Any = content
            for step in other.place[:-1]:
                entry = entry[step]
            is_day = other.key == "bounds" and entry.get("kind") == "date"
            entry[other.key] = _ANY_DAYS if is_day else _ANY[other.key]
            if other.place == self.blank.place:
                entry[other.key] = value
        depth = len(self.blank.place)
        told = [
            fault.message
            for fault in schema.faults(content, catalogue.SCHEMA)
            for place in fault.places
            if place[:depth] == self.blank.place
        ]
        if told:
            raise DatasetError("\n".join(told))
        alone = {**catalogue.NO_FILES, "label": content["label"], "columns": content["columns"]}
        if self.blank.key == "unit":
            alone["unit"] = value
        elif self.blank.place[0] == "columns":
            alone["columns"] = [content["columns"][self.blank.place[1]]]
            alone["label"] = {"column": "\0", "positive": "\0+", "negative": "\0-"}
        else:
            alone["columns"] = [_ANY_COLUMN]
        if schema.faults(alone, catalogue.SCHEMA):
            return  # something else is wrong with it: privcurve check tells
        try:
            build(self.path.stem, self.path, written_out(alone))
        except (DatasetError, ValueError) as error:
            faults = error.faults if isinstance(error, DatasetError) else (str(error),)
            told = [one.removesuffix(f" (in {self.path})") for one in faults]
            raise DatasetError("\n".join(told)) from None


def questions(path: Path) -> list[Question]:
    """Return what is blank in a draft, in the order of its lines.

    Raises
    ------
    DatasetError
        If it is not YAML.
    """
    content: Mapping[str, Any] = catalogue.content_of(path)
    every = (Question(path, one) for one in blanks(content))
    return sorted((one for one in every if not one.is_shared), key=lambda one: one.line)
