"""Turn a YAML file's content into a description, or say all that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privcurve.coding import MOST_CLASSES, MOST_CODES
from privcurve.datasets.description import (
    DELIMITED,
    EXCEL,
    IDX,
    LIBSVM,
    PARQUET,
    TEST,
    TRAIN,
    WITH_FILES,
    Description,
    LabelSpec,
    Parser,
    Records,
    SourceFile,
)
from privcurve.datasets.domain import (
    CATEGORICAL,
    MISSING,
    NUMERIC,
    OTHER,
    Column,
    Domain,
    Label,
)
from privcurve.datasets.encode import pattern_faults
from privcurve.datasets.errors import Problems
from privcurve.datasets.numbers import ISO, days, tells_days
from privcurve.schema import nearest

DEFAULT_BINS = 10

# Kinds of columns that are numbers or categories once they are coded.
DATE = "date"
TEXT = "text"

# Keys of a description that are taken as they are written.
_AS_WRITTEN = ("title", "citation", "licence", "how_to_get", "public_benchmark", "budget")

# The column of labels in files whose fields are numbered.
LABEL = "label"


def build(
    name: str,
    path: Path,
    content: Mapping[str, Any],
    base: Description | None = None,
    new_files: frozenset[str] = frozenset(),
) -> Description:
    """Turn a YAML file's content, checked by the schema and written out, into a description.

    Content that contradicts itself is refused, naming all places. Of a variant, `base` is what it
    is based on, and `new_files` are the parts whose files are not those of `base`.
    """
    problems = Problems(name)

    def refuse(message: str) -> None:
        problems.add(f"{message} (in {path})")

    entries = content["columns"]
    public = content.get("public")
    if public is not None and any("public" in entry for entry in entries):
        refuse("public is said of columns one by one and in a list; keep one")
    names = {entry["name"]: None for entry in entries}
    for wanted in public or ():
        if wanted not in names:
            refuse(f"public: there is no column {wanted!r}{nearest(wanted, names).rstrip('.')}")
    columns = tuple(_column(entry, set(public or ())) for entry in entries)
    label = _label(content["label"])
    parser = _parser(content["parser"])
    files = {part: _files(given) for part, given in content.get("files", {}).items()}
    records = Records(**{**content.get("records", {}), "parts": _parts(content)})
    n_test = int(content.get("n_test", 0))

    for fault in (
        *_column_faults(entries, columns),
        *_label_faults(label, columns),
        *_parser_faults(parser, columns, label),
        *_file_faults(parser, files, records, n_test),
    ):
        refuse(fault)
    problems.check()

    raw_sizes = {
        part: size
        for part, size in ({} if base is None else base.raw_sizes).items()
        if part not in new_files
    }
    if "records" not in content:
        raw_sizes[TRAIN] = int(content["n_rows"])
    if n_test:
        raw_sizes[TEST] = n_test
    everywhere = content.get("clipping")
    return Description(
        name=name,
        path=path,
        source=content.get("folder", name if base is None else base.source),
        paths=(path,) if base is None else (path, *base.paths),
        **{"title": name} | {key: content[key] for key in _AS_WRITTEN if key in content},
        own_files=new_files,
        n_rows=int(content["n_rows"]),
        n_test=n_test,
        raw_sizes=raw_sizes,
        files=files,
        records=records,
        parser=parser,
        domain=Domain(
            columns,
            _named(label, bool(content.get("public_label", False))),
            _texts(content.get("missing", MISSING)),
            **{key: content[key] for key in ("unknown", "decimal") if key in content},
        ),
        label=label,
        bound_sources={entry["name"]: entry["source"] for entry in entries if "source" in entry},
        clipped=frozenset(e["name"] for e in entries if e.get("clipping", everywhere)),
    )


def _column_faults(entries: list[Mapping[str, Any]], columns: tuple[Column, ...]) -> list[str]:
    faults = []
    for name, count in Counter(column.name for column in columns).items():
        if count > 1:
            faults.append(f"the column {name!r} is described twice; keep one")
    for entry, column in zip(entries, columns, strict=True):
        if column.kind == NUMERIC:
            if column.dates and not tells_days(column.dates):
                faults.append(
                    f"format of {column.name!r}, {column.dates!r}, does not tell year, month and "
                    "day in the words of Python's strptime, such as %d.%m.%Y"
                )
            try:
                _ = column.edges
            except (ValueError, OverflowError) as error:
                faults.append(f"bounds of {column.name!r} {error}")
        else:
            if len(column.codes) < len(column.categories):
                twice = Counter(value for value, _ in column.categories).most_common(1)[0][0]
                faults.append(
                    f"a category of {column.name!r}, {twice!r}, is listed twice; keep one"
                )
            faults += pattern_faults(column) if column.patterns else []
            if not column.closed:
                faults.append(
                    f"groups of {column.name!r}: {OTHER} and {MISSING} are groups of their own, "
                    "for what fits no pattern and what is missing; take them out of the others"
                )
            if "n_bins" in entry:
                faults.append(f"n_bins of {column.name!r} follows from its categories; drop it")
        if column.n_bins > MOST_CODES:
            faults.append(
                f"{column.name!r} has {column.n_bins:,} codes, more than {MOST_CODES:,}: "
                "let values share a title (categories: {value: title}), or leave the column out"
            )
    return faults


def _label_faults(label: LabelSpec, columns: tuple[Column, ...]) -> list[str]:
    faults = []
    if label.column in {column.name for column in columns}:
        faults.append(f"{label.column!r} is the label and a column too; drop it from columns")
    for value in sorted(set(label.positive) & set(label.negative)):
        faults.append(f"the label {value!r} is positive and negative; keep one")
    for value, count in Counter(value for value, _ in label.classes).items():
        if count > 1:
            faults.append(f"the label {value!r} stands twice in classes; keep one")
    if label.classes and len(label.names) < 3:
        faults.append(
            f"label: classes are three or more, not {len(label.names)}; of two give positive and "
            "negative"
        )
    if len(label.names) > MOST_CLASSES:
        faults.append(f"label: classes are {len(label.names)}, more than {MOST_CLASSES}")
    return faults


def _named(label: LabelSpec, public: bool) -> Label:
    if label.classes:
        return Label(label.column, public=public, classes=label.names)
    negative, positive = label.names
    return Label(label.column, negative, positive, public)


def _parser_faults(parser: Parser, columns: tuple[Column, ...], label: LabelSpec) -> list[str]:
    faults = []
    try:
        # Python has codecs that are none of texts, such as rot13.
        "a".encode(parser.encoding)
    except (LookupError, ValueError):
        faults.append(f"parser: encoding {parser.encoding!r} is unknown; try utf-8")
    if parser.kind in (DELIMITED, EXCEL) and parser.header == bool(parser.fields):
        faults.append("parser needs either header: true or the list fields")
    if parser.kind == PARQUET and (parser.header or parser.fields):
        faults.append("a Parquet file names its fields itself; drop parser: header and fields")
    if parser.kind in (LIBSVM, IDX):
        if not parser.fields:
            faults.append("parser needs the list fields: names of the numbers, in their order")
        if label.column != LABEL:
            faults.append(
                f"the label of {parser.kind} files has no name: write label: column: label"
            )
    for key, kinds in parser.misplaced.items():
        faults.append(f"parser: {key} is for kind: {' or '.join(kinds)}; drop it")
    if parser.fields:
        numbered = parser.kind in (LIBSVM, IDX)
        names = (*parser.fields, LABEL) if numbered else parser.fields
        places = set(names)
        for name, count in Counter(names).items():
            if count > 1:
                faults.append(f"parser: fields has {name!r} twice; give each a name of its own")
        for wanted in (*(c.name for c in columns), label.column):
            if wanted not in places:
                faults.append(
                    f"parser: fields has no {wanted!r}{nearest(wanted, names).rstrip('.')}"
                )
    return faults


def _file_faults(
    parser: Parser, files: Mapping[str, tuple[SourceFile, ...]], records: Records, n_test: int
) -> list[str]:
    faults = []
    if (parser.kind in WITH_FILES) != (TRAIN in files):
        faults.append(
            "files: train is missing"
            if parser.kind in WITH_FILES
            else f"a {parser.kind} dataset has no files; drop them"
        )
    if records.parts:
        if n_test:
            faults.append("records: parts leaves no test part; drop n_test")
        if TEST in records.parts and TEST not in files:
            faults.append("records: parts has test, but files has none")
    elif (TEST in files) != (n_test > 0):
        faults.append("n_test and files: test belong together; give both or none")
    for file in (file for group in files.values() for file in group):
        if (file.labels is not None) != (parser.kind == IDX):
            faults.append(
                f"files: {file.name} needs labels, the file of its labels"
                if parser.kind == IDX
                else f"files: labels of {file.name} is for kind: idx; drop it"
            )
    places = [file.local or file.name for group in files.values() for file in group]
    for place, count in Counter(places).items():
        if count > 1:
            faults.append(f"files: {place} is given twice: its records would be there twice")
    return faults


def _column(entry: Mapping[str, Any], public_names: set[str]) -> Column:
    name, kind = entry["name"], entry["kind"]
    public = bool(entry.get("public", name in public_names))
    if kind in (NUMERIC, DATE):
        low, high = (_day(b) if kind == DATE else _float(b) for b in entry["bounds"])
        return Column(
            name,
            NUMERIC,
            (low, high),
            int(entry.get("n_bins", DEFAULT_BINS)),
            public=public,
            spacing=entry.get("spacing", "equal"),
            missing_bin=entry.get("missing") == "bin",
            dates=entry.get("format", ISO) if kind == DATE else "",
        )
    if kind == TEXT:
        groups = _grouped(entry["groups"])
        return Column(name, CATEGORICAL, categories=groups, public=public, patterns=True)
    return Column(name, CATEGORICAL, categories=_pairs(entry["categories"]), public=public)


def _grouped(groups: Any) -> tuple[tuple[str, str], ...]:
    """Return patterns with the titles of their groups; then those for all other texts and none."""
    if not isinstance(groups, Mapping):
        groups = {str(pattern): pattern for pattern in groups}
    pairs = [
        (pattern, str(title)) for title, patterns in groups.items() for pattern in _texts(patterns)
    ]
    listed = {pattern for pattern, _ in pairs}
    return (*pairs, *((title, title) for title in (OTHER, MISSING) if title not in listed))


def _pairs(listed: Any) -> tuple[tuple[str, str], ...]:
    """Return values with their titles, which in a list are the values themselves."""
    pairs = listed.items() if isinstance(listed, Mapping) else [(value, value) for value in listed]
    return tuple((str(value).strip(), str(title).strip()) for value, title in pairs)


def _texts(given: Any) -> tuple[str, ...]:
    """Return texts without blanks at their ends, as those of files are compared."""
    return tuple(str(v).strip() for v in (given if isinstance(given, list) else [given]))


def _day(bound: str) -> float:
    try:
        return float(days(bound))
    except ValueError:  # the 31st of February
        return float("nan")


def _float(bound: float) -> float:
    try:
        return float(bound)
    except OverflowError:  # an integer of more than 308 digits
        return float("inf")


def _label(entry: Mapping[str, Any]) -> LabelSpec:
    return LabelSpec(
        entry["column"],
        _texts(entry.get("negative", [])),
        _texts(entry.get("positive", [])),
        entry.get("strip", ""),
        _pairs(entry.get("classes", [])),
    )


def _parser(entry: Mapping[str, Any]) -> Parser:
    return Parser(**{**entry, "fields": tuple(entry.get("fields", ()))})


def _parts(content: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(content.get("records", {}).get("parts", ()))


def _files(given: Any) -> tuple[SourceFile, ...]:
    return tuple(_file(entry) for entry in (given if isinstance(given, list) else [given]))


def _file(entry: Mapping[str, Any]) -> SourceFile:
    local = entry.get("local")
    labels = entry.get("labels")
    return SourceFile(
        name=entry["name"] if local is None else Path(local).name,
        urls=tuple(entry.get("urls", ())),
        sha256=entry.get("sha256"),
        n_bytes=entry.get("bytes"),
        local=local,
        labels=None if labels is None else _file(labels),
    )
