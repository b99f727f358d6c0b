"""Fill in the blanks of a draft: check the owner's answers, and write them to the file."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets import catalogue
from privcurve.datasets.blanks import WANTED, Blank, blanks
from privcurve.datasets.build import BIN, build_files
from privcurve.datasets.coding import Coder, amount_of
from privcurve.datasets.describing.columns import CODES_OR_NUMBERS
from privcurve.datasets.describing.report import description_faults
from privcurve.datasets.describing.text import write_flow
from privcurve.datasets.description import TEST, TRAIN, Description, LabelSpec, Parser, Unit
from privcurve.datasets.domain import CATEGORICAL, MISSING, NUMERIC, OTHER, Column, Domain, Label
from privcurve.datasets.errors import DatasetError, Problems
from privcurve.datasets.reading import fetch, read
from privcurve.datasets.variants import write_out
from privcurve.files import replace_text
from privcurve.schema import Lines

# A line with a key and no value; a comment and an anchor may follow. (YAML's anchor names an entry,
# so that other columns can repeat it.)
_LINE = re.compile(
    r"(?P<head>\s*(?:- )?(?P<key>[a-z]+):(?:[ \t]+&\w+)?)"
    r"[ \t]*(?:#\s*(?:decide:\s*)?(?P<remark>.*?))?\s*"
)
_ALIAS = re.compile(r"\s*(?:- )?[a-z]+:[ \t]+\*\w")
# A line that begins with a key.
_KEY = re.compile(r"(?P<head>\s*(?P<key>[a-z_]+):).*")
# An answer which says that numbers are codes of categories, such as `codes: 1, 2`.
_CODES = re.compile(r"(?:codes|categories)\b\s*[:=]?\s*(?P<codes>.+)", re.IGNORECASE)
# A colon that would make YAML read a text as a pair of key and value.
_PAIR = re.compile(r":(\s|$)")
_LISTS = ("bounds", "categories", "groups", "classes")

# Keys that only numeric columns have. They are removed if the owner says that the numbers are
# codes.
_NUMBER_KEYS = ("n_bins", "spacing", "whole", "units")
# Changes of an entry in the file: maps a key of the entry to the pair (new key, new value), or to
# None if the key is removed.
Edits = Mapping[str, tuple[str, Any] | None]


class Question:
    """A question to the data owner about a blank of a draft; the answer is written to the file."""

    def __init__(self, path: Path, blank: Blank) -> None:
        self.path, self.blank = path, blank
        line = self._lines()[self.line - 1]
        match = _LINE.fullmatch(line)
        # An alias of YAML repeats the entry of another column, so the blank needs no separate
        # answer.
        self.is_shared = _ALIAS.match(line) is not None
        self._is_editable = match is not None and match["key"] == blank.key
        # The text of the question is the comment at this blank in the draft; without a comment, it
        # is the text that `WANTED` has for the key.
        self.remark = (match and match["remark"]) or WANTED[blank.key]
        self.prompt = blank.key
        if self.remark == CODES_OR_NUMBERS:
            self.remark = "are these numbers, or codes such as 1 for man, 2 for woman?"
            self.prompt = "[lowest, highest] possible; or codes: 1, 2, … (all that there can be)"

    @property
    def line(self) -> int:
        """The line of the blank, searched anew, because earlier answers may have removed lines."""
        return Lines(self.path).line_of(*self.blank.place)

    def _lines(self) -> list[str]:
        return self.path.read_bytes().decode("utf-8").splitlines(keepends=True)

    def answer(self, text: str) -> str:
        """Check an answer, given as YAML, and write it to the file.

        The brackets of a list and the quotes of a text may be omitted. For bounds, the answer
        ``codes: 1, 2`` turns the numeric column into a categorical one with these categories, one
        for other numbers, and one for missing values.

        If the answer sets the unit of privacy, ``n_rows`` and ``n_test`` are set to the numbers of
        records that remain with at most `at_most` of each person. The returned text shows these
        numbers, such as "n_rows: 90"; for other answers it is empty. Raises DatasetError, without
        writing, if the answer is invalid.
        """
        if not self._is_editable:
            raise DatasetError(
                f"line {self.line} of {self.path} must hold only this key; it holds more. Edit "
                "the line by hand"
            )
        key, codes = self.blank.key, _CODES.fullmatch(text.strip())
        entry: Any = catalogue.content_of(self.path)
        for step in self.blank.place[:-1]:
            entry = entry[step]
        edits: Edits
        if codes and key == "bounds" and entry.get("kind") == NUMERIC:
            values = self._read_value("categories", codes["codes"])
            if isinstance(values, list):
                values += [title for title in (OTHER, MISSING) if title not in values]
            removals = dict.fromkeys(name for name in _NUMBER_KEYS if name in entry)
            # Remove `missing: bin`, which only numeric columns may have. Keep a list of markers,
            # which a categorical column may have, too.
            removals |= {"missing": None} if entry.get("missing") == BIN else {}
            edits = {"kind": ("kind", CATEGORICAL), key: ("categories", values), **removals}
        else:
            edits = {key: (key, self._read_value(key, text))}
        lines = self._lines()
        of_file = Lines(self.path)
        places = {name: of_file.line_of(*self.blank.place[:-1], name) - 1 for name in edits}
        for name, edit in edits.items():
            lines[places[name]] = self._edit_line(lines[places[name]], name, edit)
        self._check("".join(lines))
        value = (edits[key] or (key, None))[1]
        kept = {}
        if key == "unit" and isinstance(value, Mapping):
            kept = _count_kept(self.path, Unit(**value))
        for name, n in kept.items():
            place = of_file.line_of(name) - 1
            lines[place] = re.sub(rf"^({name}:[ \t]*)\d+", rf"\g<1>{n}", lines[place])
        replace_text(self.path, "".join(lines))
        return ", ".join(f"{name}: {n:,}" for name, n in kept.items())

    def _edit_line(self, line: str, key: str, edit: tuple[str, Any] | None) -> str:
        """Return the line of `key` after an edit (see `Edits`); "" if it removes the key."""
        match = _LINE.fullmatch(line) if key == self.blank.key else _KEY.match(line)
        if match is None or match["key"] != key:
            raise DatasetError(
                f"{key} of {self.blank.subject} must be on a line of its own in {self.path}; "
                "edit it by hand"
            )
        if edit is None:
            return ""
        end = line[len(line.rstrip("\r\n")) :]
        return f"{match['head'].replace(key, edit[0], 1)} {write_flow(edit[1])}{end}"

    def _read_value(self, key: str, text: str) -> Any:
        """Parse the answer for a key as YAML; brackets of lists and quotes may be omitted."""
        text = text.strip()
        is_list = text[:1] in ("[", "{")
        try:
            if key in _LISTS and not is_list:
                listed = schema.parse_yaml(f"[{text}]", key)
                are_pairs = any(isinstance(entry, Mapping) for entry in listed)
                return schema.parse_yaml(f"{{{text}}}", key) if are_pairs else listed
            if is_list or text[:1] in ("'", '"') or key in (*_LISTS, "pivot"):
                return schema.parse_yaml(text, key)
            if _PAIR.search(text):
                raise DatasetError(
                    f"{text!r} is a pair in YAML: give only the value, as the file writes it; "
                    "quote it if the colon is part of it"
                )
        except schema.SchemaError as error:
            raise DatasetError(str(error)) from None
        return text

    def _check(self, text: str) -> None:
        """Raise DatasetError if the edited text of the description has new faults."""
        with tempfile.TemporaryDirectory() as folder:
            edited = Path(folder, self.path.name)
            edited.write_bytes(text.encode())
            before, after = description_faults(self.path), description_faults(edited)
        if faults := [message for message in after if message not in before]:
            raise DatasetError("\n".join(faults).removesuffix("."))


def _count_kept(path: Path, unit: Unit) -> dict[str, int]:
    """Return the numbers of records if at most ``unit.at_most`` of each person are kept.

    The keys of the result are ``n_rows`` and, if there are test records, ``n_test``. The result is
    empty if the files are missing or have unreadable records, which `check` reports. Raises
    DatasetError if the files lack the column of persons.
    """
    content = write_out(catalogue.content_of(path))
    label, parser = content["label"]["column"], Parser.from_dict(content["parser"])
    words = content.get("missing", MISSING)
    missing = tuple(map(str, words if isinstance(words, list) else [words]))
    # Only the persons matter here, but a description must have a column and a label: use the
    # label's column for both, and accept all its texts as `other`.
    column = Column(label, CATEGORICAL, categories=((OTHER, OTHER),))
    domain = Domain((column,), Label(label), missing, decimal=content.get("decimal", "."))
    description = Description(
        name=path.stem,
        path=path,
        parser=parser,
        domain=domain,
        label=LabelSpec(label),
        unit=unit,
        n_test=content.get("n_test", 0),
        files=build_files(content),
    )
    problems = Problems(path.stem)
    coder = Coder(domain, path, problems)
    n_kept = {}
    try:
        raw_files = fetch(description)
    except DatasetError:
        return {}
    for part, key in ((TRAIN, "n_rows"), (TEST, "n_test")):
        persons: Counter[str] = Counter()
        for file in raw_files.get(part, ()):
            for table in read(description, file, problems):
                persons.update(coder.name_persons(description, table))
        if persons:
            n_kept[key] = sum(min(n, unit.at_most) for n in persons.values())
    return {} if problems.any else n_kept


class CardQuestion:
    """An optional question to the data owner about the release card or the budget."""

    def __init__(self, path: Path, place: tuple[str, str], remark: str) -> None:
        self.path, self.place, self.remark = path, place, remark
        self.prompt = " ".join(place[1].split("_"))

    def answer(self, text: str) -> str:
        """Write an answer to the file; return "", as there is nothing to report.

        Raises DatasetError if the answer is invalid, or if the file must be edited by hand.
        """
        top, key = self.place
        content = catalogue.content_of(self.path)
        value: Any = text.strip()
        if top == "budget" and (amount := amount_of(value, ".")) is not None:
            value = int(amount) if amount.is_integer() else amount
        entry = {**(content.get(top) or {}), key: value}
        faults = schema.faults({**content, top: entry}, catalogue.SCHEMA)
        if messages := [fault.message for fault in faults if fault.places[0][:1] == (top,)]:
            raise DatasetError("\n".join(messages))
        text = self.path.read_bytes().decode("utf-8")
        # Replace the line of the key, or the comment by which a draft proposes the key.
        head = rf"{top}:" if top in content else rf"# {top}:"
        mapping = r"\{.*\}" if content.get(top, True) else ""
        line = re.compile(rf"^{head}[ \t]*{mapping}(?P<end>[ \t]*(?:#.*)?)\r?$", re.MULTILINE)
        new = f"{top}: {write_flow(entry)}"
        if match := line.search(text):
            text = f"{text[: match.start()]}{new}{text[match.start('end') :]}"
        elif top in content:
            raise DatasetError(f"{top} in {self.path} has several lines: write {key} there by hand")
        else:
            end = "\r\n" if "\r\n" in text else "\n"
            text = f"{text.rstrip()}{end}{new}{end}"
        replace_text(self.path, text)
        return ""


_CARD_KEYS = {
    ("about", "owner"): "who is responsible for the records and releases models of them?",
    ("about", "contact"): "who answers questions? An address, or a page",
    ("about", "purpose"): "what is a model for, and what is it not for?",
    ("about", "legal_basis"): "on what legal basis are the records used: a law, consent, a "
    "contract?",
    ("about", "retention"): "how long are records and model stored?",
    (
        "budget",
        "epsilon",
    ): "what is the largest epsilon of all releases together, such as 3?",
}


def card_questions(path: Path) -> list[CardQuestion]:
    """Return a question for each of `_CARD_KEYS` that a description of private records lacks.

    The keys are for the release card and for the budget of all releases. The list is empty if the
    records are public, or if the description is based on another one.
    """
    content: Mapping[str, Any] = catalogue.content_of(path)
    if content.get("public_benchmark") or "based_on" in content:
        return []
    return [
        CardQuestion(path, place, remark)
        for place, remark in _CARD_KEYS.items()
        if place[1] not in (content.get(place[0]) or {})
    ]


def questions(path: Path) -> list[Question]:
    """Return the questions about the blanks of a draft, in the order of their lines.

    Raises DatasetError if the file is not YAML.
    """
    content: Mapping[str, Any] = catalogue.content_of(path)
    blank_keys = (Question(path, blank) for blank in blanks(content))
    return sorted((key for key in blank_keys if not key.is_shared), key=lambda key: key.line)
