"""A dataset's description: its YAML file, checked and turned into plain objects."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privcurve.datasets.domain import CATEGORICAL, NUMERIC, Column, Domain, Label
from privcurve.datasets.errors import DatasetError
from privcurve.schema import nearest

DEFAULT_BINS = 10


@dataclass(frozen=True)
class SourceFile:
    """One raw file.

    Attributes
    ----------
    name : str
        Its name in a mirror and in the cache.
    urls : tuple of str
        Public places, tried in this order.
    sha256 : str, optional
        Always given for a file that is downloaded.
    n_bytes : int, optional
        Its size.
    local : str, optional
        Path of a user's own file, from the working directory.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    n_bytes: int | None = None
    local: str | None = None


@dataclass(frozen=True)
class Parser:
    """How the raw file is read.

    Attributes
    ----------
    kind : str
        ``delimited``, ``libsvm``, ``sklearn`` or ``generated``.
    separator : str
        One character, or ``whitespace``.
    header : bool
        Whether the first line names the fields.
    fields : tuple of str
        Names of the fields in the file's order, if no header does it.
    comment : str
        Lines that start with it are left out; ``""`` for none.
    skip_rows : int
        Lines left out at the top.
    encoding : str
    loader : str
        The scikit-learn loader, or the generator.
    seed : int
        Seed of a generator.
    """

    kind: str
    separator: str = ","
    header: bool = False
    fields: tuple[str, ...] = ()
    comment: str = ""
    skip_rows: int = 0
    encoding: str = "utf-8-sig"
    loader: str = ""
    seed: int = 0


@dataclass(frozen=True)
class LabelSpec:
    """Where the label is and which values mean what; `strip` is cut off at the end."""

    column: str
    negative: tuple[str, ...]
    positive: tuple[str, ...]
    strip: str = ""


@dataclass(frozen=True)
class Description:
    """All that a dataset's YAML file says.

    Attributes
    ----------
    name : str
        File name without its ending.
    path : Path
        The YAML file.
    source : str
        Name of the dataset whose raw files are read: its own, or the one that it is based on.
    paths : tuple of Path
        All YAML files that it was read from.
    title, citation, licence : str
    n_rows : int
        Public number of training records.
    n_test : int
        Number of records in the canonical test set; 0 if there is none.
    files : mapping of str to SourceFile
        ``train``, and ``test`` if there is one; empty if nothing is to be fetched.
    parser : Parser
    domain : Domain
    label : LabelSpec
    missing : str
        What the file writes for a missing value.
    unknown : str
        ``fail``; or ``other``: unknown categories go to the category ``other`` of
        each column that declares it.
    bound_sources : mapping of str to str
        Where the bounds of each numeric column come from.
    """

    name: str
    path: Path
    source: str
    paths: tuple[Path, ...]
    title: str
    citation: str
    licence: str
    n_rows: int
    n_test: int
    files: Mapping[str, SourceFile]
    parser: Parser
    domain: Domain
    label: LabelSpec
    missing: str
    unknown: str
    bound_sources: Mapping[str, str]


def build(
    name: str, path: Path, content: Mapping[str, Any], base: Description | None = None
) -> Description:
    """Turn a YAML file's content, already checked by the schema, into a description.

    Parameters
    ----------
    name : str
    path : Path
        The file.
    content : mapping
    base : Description, optional
        That of the dataset that it is based on.

    Raises
    ------
    DatasetError
        If the content contradicts itself.
    """

    def refuse(message: str) -> DatasetError:
        return DatasetError(f"dataset {name!r}: {message} (in {path})")

    columns = tuple(_column(entry) for entry in content["columns"])
    label = _label(content["label"])
    parser = _parser(content["parser"])
    files = {role: _file(entry) for role, entry in content.get("files", {}).items()}
    n_test = int(content.get("n_test", 0))

    try:
        codecs.lookup(parser.encoding)
    except LookupError:
        raise refuse(f"parser: encoding {parser.encoding!r} is unknown; try utf-8") from None
    twice = [key for key, count in Counter(c.name for c in columns).items() if count > 1]
    if twice:
        raise refuse(f"the column {twice[0]!r} is described twice; keep one")
    for entry, column in zip(content["columns"], columns, strict=True):
        if column.bounds is not None and not column.bounds[0] < column.bounds[1]:
            raise refuse(f"bounds of {column.name!r} must be [low, high] with low < high")
        if column.kind == CATEGORICAL:
            if len(column.codes) < len(entry["categories"]):
                raise refuse(f"a category of {column.name!r} is listed twice; keep one")
            if "n_bins" in entry:
                raise refuse(f"n_bins of {column.name!r} follows from its categories; drop it")
    if label.column in {column.name for column in columns}:
        raise refuse(f"{label.column!r} is the label and a column too; drop it from columns")
    both = set(label.positive) & set(label.negative)
    if both:
        raise refuse(f"the label {both.pop()!r} is positive and negative; keep one")
    needs_files = parser.kind in ("delimited", "libsvm")
    if needs_files != ("train" in files):
        raise refuse(
            "files: train is missing"
            if needs_files
            else f"a {parser.kind} dataset has no files; drop them"
        )
    if ("test" in files) != (n_test > 0):
        raise refuse("n_test and files: test belong together; give both or none")
    if needs_files and parser.header == bool(parser.fields):
        raise refuse("parser needs either header: true or the list fields")
    if parser.fields:
        given = (*parser.fields, "label") if parser.kind == "libsvm" else parser.fields
        for wanted in (*(c.name for c in columns), label.column):
            if wanted not in given:
                raise refuse(
                    f"parser: fields has no {wanted!r}{nearest(wanted, given).rstrip('.')}"
                )
    return Description(
        name=name,
        path=path,
        source=name if base is None else base.name,
        paths=(path,) if base is None else (path, *base.paths),
        title=content["title"],
        citation=content["citation"],
        licence=content["licence"],
        n_rows=int(content["n_rows"]),
        n_test=n_test,
        files=files,
        parser=parser,
        domain=Domain(
            columns,
            Label(label.column, " or ".join(label.negative), " or ".join(label.positive)),
        ),
        label=label,
        missing=content.get("missing", "?"),
        unknown=content.get("unknown", "fail"),
        bound_sources={e["name"]: e["source"] for e in content["columns"] if "source" in e},
    )


def _column(entry: Mapping[str, Any]) -> Column:
    public = bool(entry.get("public", False))
    if entry["kind"] == NUMERIC:
        low, high = (float(bound) for bound in entry["bounds"])
        bins = int(entry.get("n_bins", DEFAULT_BINS))
        return Column(entry["name"], NUMERIC, (low, high), bins, public=public)
    listed = entry["categories"]
    pairs = listed.items() if isinstance(listed, Mapping) else [(value, value) for value in listed]
    categories = tuple((str(value), str(title)) for value, title in pairs)
    return Column(entry["name"], CATEGORICAL, categories=categories, public=public)


def _label(entry: Mapping[str, Any]) -> LabelSpec:
    def values(given: Any) -> tuple[str, ...]:
        return tuple(str(v) for v in (given if isinstance(given, list) else [given]))

    return LabelSpec(
        entry["column"],
        values(entry["negative"]),
        values(entry["positive"]),
        entry.get("strip", ""),
    )


def _parser(entry: Mapping[str, Any]) -> Parser:
    return Parser(**{**entry, "fields": tuple(entry.get("fields", ()))})


def _file(entry: Mapping[str, Any]) -> SourceFile:
    local = entry.get("local")
    return SourceFile(
        name=entry["name"] if local is None else Path(local).name,
        urls=tuple(entry.get("urls", ())),
        sha256=entry.get("sha256"),
        n_bytes=entry.get("bytes"),
        local=local,
    )
