"""Define the description of a dataset: classes for the content of its YAML file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from privcurve.coding import MERGING
from privcurve.datasets.domain import FAIL, MISSING, Domain

TRAIN = "train"
TEST = "test"

# The kinds of files to which other modules refer by name; `reading.kinds` returns all kinds.
DELIMITED = "delimited"
PARQUET = "parquet"

# Value of `balance` in `records`: keep random records of the frequent labels, instead of the first
# ones.
RANDOM = "random"

# A table with more than MOST_VALUES values (records × columns) is encoded in parts of about
# VALUES_OF_PART values, so that it need not fit into memory.
MOST_VALUES = 100_000_000
VALUES_OF_PART = 30_000_000

# Version of the encoding. Raise it when an encoded value changes: then data that an earlier version
# encoded are encoded again.
CODING = 3
# Version that takes the place of CODING in the digests of datasets from downloaded files and plain
# delimited texts. A new version encodes these datasets as before, so it need not encode them again.
FIRST_CODING = 1

# Name of the label's column in files whose fields have numbers instead of names (LIBSVM, idx).
LABEL = "label"


@dataclass(frozen=True)
class SourceFile:
    """One raw file: an entry of ``files`` in dataset.schema.yaml.

    `local` is the path of a user's own file; other files are downloaded.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    n_bytes: int | None = None
    local: str | None = None
    labels: SourceFile | None = None


@dataclass(frozen=True)
class Parser:
    """How the raw file is read: ``parser`` in dataset.schema.yaml, which explains each key.

    :class:`reading.FileKind` says which of these keys a kind of files has.
    """

    kind: str
    separator: str = ","
    header: bool = False
    fields: tuple[str, ...] = ()
    extra_fields: str = "fail"
    comment: str = ""
    skip_rows: int = 0
    encoding: str = "utf-8-sig"
    zero_based: bool = False
    sheet: str = ""
    rows: int = 0
    blocks: int = 1
    loader: str = ""
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that differ from their defaults, as plain JSON."""
        values = {key.name: getattr(self, key.name) for key in fields(self)}
        changed = {k: v for k, v in values.items() if v != getattr(Parser, k, None)}
        return changed | ({"fields": list(self.fields)} if self.fields else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Make a parser from a description's content, or from the result of :meth:`to_dict`."""
        return cls(**{**content, "fields": tuple(content.get("fields", ()))})


@dataclass(frozen=True)
class Subsample:
    """A public rule that selects some of the records: ``records`` in dataset.schema.yaml.

    `parts` names the groups of files (``train``, ``test``) from which the rule selects. By default
    it selects from the training files, and all test records are kept.
    """

    parts: tuple[str, ...] = ()
    first: int = 0
    balance: str = ""
    seed: int = 0


@dataclass(frozen=True)
class Unit:
    """The unit of privacy, if it is not the record: ``unit`` in dataset.schema.yaml."""

    column: str  # the column that names the person of each record; not a feature
    at_most: int  # maximum number of records of each person that are kept
    seed: int = 0  # public seed for the choice of the records that are kept


def _join_values(values: Iterable[str]) -> str:
    """Return the name of a class: its values, joined by "or".

    Values that differ only in case are spellings of one value; only the first of them is named.
    """
    spelt: dict[str, str] = {}
    for value in values:
        spelt.setdefault(value.casefold(), value)
    return " or ".join(spelt.values())


@dataclass(frozen=True)
class LabelSpec:
    """The column of the label and the meaning of its values: ``label`` in dataset.schema.yaml.

    With two classes, `negative` and `positive` list the values of each class. With more classes,
    `classes` pairs each value with the title of its class.
    """

    column: str
    negative: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    strip: str = ""
    classes: tuple[tuple[str, str], ...] = ()

    @property
    def spellings(self) -> tuple[tuple[str, str], ...]:
        """Pairs (value, name of its class); empty if every value is the name of its class."""
        sides = zip((self.negative, self.positive), self.names, strict=False)
        pairs = self.classes or tuple((value, name) for side, name in sides for value in side)
        return () if all(value == name for value, name in pairs) else pairs

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the classes; with two classes, the negative one is first."""
        if self.classes:
            return tuple(dict.fromkeys(title for _, title in self.classes))
        return _join_values(self.negative), _join_values(self.positive)

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The number of each value's class: −1 or +1; with more classes 0, 1, …."""
        if self.classes:
            code = {title: k for k, title in enumerate(self.names)}
            return {value: code[title] for value, title in self.classes}
        return dict.fromkeys(self.negative, -1) | dict.fromkeys(self.positive, 1)

    @property
    def meaning(self) -> dict[str, Any]:
        """The fields that determine the encoded labels; a part of the description's digest."""
        content = asdict(self)
        if not self.classes:
            # Early versions had no key `classes`. Omit it, so that the digests of datasets which
            # they encoded do not change.
            del content["classes"]
        return content


@dataclass(frozen=True)
class Description:
    """The content of a dataset's YAML file; dataset.schema.yaml explains its keys."""

    name: str  # file name without extension
    path: Path  # the YAML file
    parser: Parser
    domain: Domain
    label: LabelSpec
    # Folder of the raw files in the mirror (PRIVCURVE_DATA) and the cache; by default the name of
    # the dataset, or of its base.
    source: str = ""
    paths: tuple[Path, ...] = ()  # the YAML file, and the file of the base
    title: str = ""
    citation: str = ""
    licence: str = ""
    how_to_get: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    public_benchmark: bool = False
    budget: Mapping[str, Any] = field(default_factory=dict)
    # The groups of files (`train`, `test`) that a variant replaces by files of its own.
    own_files: frozenset[str] = frozenset()
    n_rows: int = 0
    n_test: int = 0
    # Number of records in the files of each group (`train`, `test`), if it is stated.
    raw_sizes: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    records: Subsample = Subsample()
    unit: Unit | None = None
    # For each numeric column: where its bounds come from, such as a codebook.
    bound_sources: Mapping[str, str] = field(default_factory=dict)
    # Columns with `clipping: expected`: it is no error if most of their values are out of bounds.
    clipped: frozenset[str] = frozenset()
    # Number of records in each part of partitioned data. 0 means that the data are not partitioned,
    # None that they are partitioned only if the table has more than MOST_VALUES values.
    rows_per_part: int | None = None

    @property
    def part_rows(self) -> int:
        """Number of records in each part, a public number; 0 if the dataset is not partitioned."""
        n_columns = len(self.domain.columns)
        large = self.n_rows * n_columns > MOST_VALUES
        if self.rows_per_part is None and large and self.records == Subsample() and not self.unit:
            return max(1, VALUES_OF_PART // n_columns)
        return self.rows_per_part or 0

    @property
    def parts(self) -> tuple[str, ...]:
        """The groups of files (``train``, ``test``) from which training records are selected."""
        return self.records.parts or (TRAIN,)

    @property
    def read_parts(self) -> tuple[str, ...]:
        """The groups of files that are read: :attr:`parts`, and ``test`` if there is a test set."""
        return (*self.parts, TEST) if self.n_test else self.parts

    @property
    def read_files(self) -> dict[str, tuple[SourceFile, ...]]:
        """The raw files of each group in :attr:`read_parts`."""
        return {part: self.files[part] for part in self.read_parts if part in self.files}

    def source_files(self) -> Iterator[SourceFile]:
        """Yield every raw file that is read, including the files of labels."""
        for files in self.read_files.values():
            for file in files:
                yield from (file, file.labels) if file.labels else (file,)

    @property
    def records_name(self) -> str:
        """Name of the dataset that the training records belong to: this one, or its base."""
        base = self.paths[-1].stem
        return self.name if TRAIN in self.own_files else base

    def explain_missing(self, local: str) -> str:
        """Return a message that the user's own file `local` is missing, with the remedy."""
        advice = (
            f"Correct files: local in {self.path} (a path from the working folder, which is "
            f"{Path.cwd()})."
        )
        return f"there is no file {Path(local).absolute()}. {self.how_to_get or advice}"

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of all that determines the encoded data, except contents of local files.

        Keys without effect on the encoded data (such as title, citation and URLs) are left out.
        """
        local = any(file.local for file in self.source_files())
        domain = self.domain
        reading = (domain.missing, domain.unknown, domain.decimal)
        plain = self.parser.kind == DELIMITED and reading == ((MISSING,), FAIL, ".")
        meaning = {
            "coding": CODING if local and not plain else FIRST_CODING,
            "domain": domain.to_json(),
            "sizes": [self.n_rows, self.n_test, dict(self.raw_sizes)],
            "files": [file.sha256 or file.local for file in self.source_files()],
            "records": asdict(self.records),
            "parser": asdict(self.parser),
            "label": self.label.meaning,
            "missing": domain.missing[0] if len(domain.missing) == 1 else list(domain.missing),
            "unknown": domain.unknown,
        }
        if domain.decimal != ".":
            # Add the following keys only if they are used: the first encoded data had no such keys,
            # and their digests must not change.
            meaning["decimal"] = domain.decimal
        if domain.thousands:
            meaning["thousands"] = domain.thousands
        if own_words := {c.name: list(c.missing) for c in domain.columns if c.missing}:
            meaning["missing in columns"] = own_words
        if domain.mixed_bins is not None:
            meaning["merging"] = MERGING
        if self.unit is not None:
            # The value of `kept` names the rule for persons. It changes the digests of data from
            # earlier versions, which did not store persons, or took 3.0 and 3 for two persons, so
            # that these data are encoded again.
            meaning["unit"] = {**asdict(self.unit), "kept": "persons, 3.0 as 3"}
        text = json.dumps(meaning, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()
