"""Convert the content of a YAML file to a description, or report all its faults."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privcurve import given
from privcurve.binning import EQUAL, WHOLE, spacing_towards_zero
from privcurve.coding import MOST_CLASSES, MOST_CODES
from privcurve.datasets import description as words
from privcurve.datasets import reading
from privcurve.datasets.coding import (
    ISO,
    has_short_years,
    is_day_format,
    pattern_faults,
    read_day,
    strip_point,
)
from privcurve.datasets.description import (
    Description,
    LabelSpec,
    Parser,
    SourceFile,
    Subsample,
    Unit,
)
from privcurve.datasets.domain import CATEGORICAL, MISSING, NUMERIC, OTHER, Column, Domain, Label
from privcurve.datasets.errors import Problems
from privcurve.schema import suggestion

# Number of bins of a numeric column that does not set `n_bins`. Another number would change the ids
# of stored runs.
DEFAULT_BINS = 10
# Number of bins of a numeric column in drafts of `privcurve describe`. Finer bins than DEFAULT_BINS
# make models more accurate (docs/studies.md), and a draft has no stored runs whose ids would
# change. Learners that need few bins merge neighbouring ones.
DRAFTED_BINS = 64

# `whole: true` gives all bins equally many whole numbers, if the bounds contain at most MOST_WHOLE
# whole numbers per bin. With more whole numbers, the bins follow the key `spacing` instead.
MOST_WHOLE = 4

# Kinds of columns that only descriptions have: a date column is encoded as a numeric column, and a
# text column as a categorical one.
DATE = "date"
TEXT = "text"

# `missing: bin` in the entry of a column gives the column a bin for missing values.
BIN = "bin"

# Keys whose values :func:`build` copies from the YAML file to the description without conversion.
_AS_WRITTEN = (
    "title", "citation", "licence", "how_to_get", "public_benchmark", "budget",
    "rows_per_part", "about",
)  # fmt: skip


def build(
    name: str,
    path: Path,
    content: Mapping[str, Any],
    base: Description | None = None,
    new_files: frozenset[str] = frozenset(),
) -> Description:
    """Convert the content of a YAML file to a description.

    `content` must fit the schema, with patterns of names expanded. For a variant (a description
    with ``based_on``), `base` is the description that the variant changes, and `new_files` has
    ``train`` or ``test`` if the variant has its own files of training or test records. Raises
    DatasetError with all contradictions in the content.
    """
    problems = Problems(name)
    entries = content["columns"]
    public = set(content.get("public", ()))
    columns = tuple(_build_column(entry, public) for entry in entries)
    if "edges" in content:
        columns = tuple(column.keep_exact() for column in columns)
    label = _build_label(content["label"])
    parser = Parser.from_dict(content["parser"])
    files = build_files(content)
    sample = content.get("records", {})
    records = Subsample(**{**sample, "parts": tuple(sample.get("parts", ()))})
    unit = Unit(**content["unit"]) if isinstance(content.get("unit"), Mapping) else None
    n_test = int(content.get("n_test", 0))
    for fault in (
        *_content_faults(content, records, unit),
        *column_faults(columns),
        *itertools.chain(*map(_entry_faults, entries, columns)),
        *_label_faults(label, columns),
        *_unit_faults(unit, columns, label, parser),
        *parser_faults(parser, columns, label.column, unit),
        *_file_faults(parser, files, records, n_test),
    ):
        problems.add(f"{fault} (in {path})")
    problems.check()

    raw_sizes = {} if base is None else dict(base.raw_sizes)
    for part in new_files:
        raw_sizes.pop(part, None)
    if "records" not in content and unit is None:
        raw_sizes[words.TRAIN] = int(content["n_rows"])
    if n_test and unit is None:
        raw_sizes[words.TEST] = n_test
    reading = {key: content[key] for key in ("unknown", "decimal", "thousands") if key in content}
    if "missing" in content:
        reading["missing"] = _list_texts(content["missing"])
    clipping = content.get("clipping")
    public_label = replace(
        Label.of(label.column, label.names, content.get("public_label", False)),
        type=given.type_of_classes(label_values(content["label"])),
        spellings=label.spellings,
        strip=label.strip,
    )
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
        unit=unit,
        parser=parser,
        domain=Domain(columns, public_label, **reading),
        label=label,
        bound_sources={entry["name"]: entry["source"] for entry in entries if "source" in entry},
        clipped=frozenset(e["name"] for e in entries if e.get("clipping", clipping)),
    )


# Faults -----------------------------------------------------------------------------------


def _find_duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _content_faults(
    content: Mapping[str, Any], records: Subsample, unit: Unit | None
) -> Iterator[str]:
    decimal = content.get("decimal", ".")
    if content.get("thousands") == decimal:
        yield f"thousands and decimal are both {decimal!r}: a number would mean two things"
    if content.get("rows_per_part") and (records != Subsample() or unit is not None):
        key = "records" if unit is None else "unit"
        yield f"rows_per_part is for all records of the files; drop it, or {key}"
    names = dict.fromkeys(entry["name"] for entry in content["columns"])
    if "public" in content and any("public" in entry for entry in content["columns"]):
        yield "public is said of columns one by one and in a list; keep one"
    for name in content.get("public", ()):
        if name not in names:
            yield f"public: there is no column {name!r}{suggestion(name, names).rstrip('.')}"


def column_faults(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a message for each fault of a column that makes encoding impossible."""
    for name in _find_duplicates(column.name for column in columns):
        yield f"the column {name!r} is described twice; keep one"
    for column in columns:
        if column.kind == NUMERIC:
            if column.dates and not is_day_format(column.dates):
                yield (
                    f"format of {column.name!r}, {column.dates!r}, must contain year, month and "
                    "day in the syntax of Python's strptime, such as %d.%m.%Y"
                )
            try:
                column.format_bounds()
            except (ValueError, OverflowError) as error:
                yield f"bounds of {column.name!r} {error}"
        else:
            for value in _find_duplicates(value for value, _ in column.categories)[:1]:
                yield f"a category of {column.name!r}, {value!r}, is listed twice; keep one"
            if column.patterns and not {MISSING, OTHER} <= set(column.titles):
                yield (
                    f"groups of {column.name!r}: {OTHER} and {MISSING} are groups of their own, "
                    "for what fits no pattern and what is missing; take them out of the others"
                )
        if column.n_bins > MOST_CODES:
            yield (
                f"{column.name!r} has {column.n_bins:,} codes, more than {MOST_CODES:,}: "
                "let values share a title (categories: {value: title}), or leave the column out"
            )


def _entry_faults(entry: Mapping[str, object], column: Column) -> Iterator[str]:
    if column.patterns:
        yield from pattern_faults(column)
        listed = entry["groups"] if isinstance(entry["groups"], list) else []
        for text in _find_duplicates(map(str, listed)):
            yield f"groups of {column.name!r}: {text!r} is listed twice; keep one"
    if column.dates and is_day_format(column.dates):
        yield from _pivot_faults(entry, column)
    texts = [text for text, title in column.categories if title != MISSING]
    values = {text.casefold() for text in texts} if column.patterns else {*texts}
    for marker in column.missing:
        word = marker.casefold() if column.patterns else marker
        if values & {word, strip_point(word)}:
            yield (
                f"missing of {column.name!r}: {marker!r} is a value of the column, too; keep one"
            )
    if entry.get("whole") and not all(float(bound).is_integer() for bound in column.bounds or ()):
        got = f"got {entry['bounds']}"
        yield f"bounds of {column.name!r} must be whole numbers, as whole says; {got}"
    if column.kind != NUMERIC and "n_bins" in entry:
        yield f"n_bins of {column.name!r} follows from its categories; drop it"


def _pivot_faults(entry: Mapping[str, Any], column: Column) -> Iterator[str]:
    name, first, last = column.name, column.pivot, column.pivot + 99
    is_short = has_short_years(column.dates)
    if is_short and "pivot" not in entry:
        yield (
            f"format of {name!r}, {column.dates!r}, has years of two digits, but no century: "
            "add the first of the hundred years that they cover, such as pivot: 1930 for 1930 "
            "to 2029"
        )
    elif "pivot" in entry and not is_short:
        yield f"pivot of {name!r} is for a format with years of two digits (%y); drop it"
    elif is_short and not all(first <= int(str(bound)[:4]) <= last for bound in entry["bounds"]):
        yield f"bounds of {name!r} go beyond {first} to {last}, the years that pivot allows"


def _label_faults(label: LabelSpec, columns: tuple[Column, ...]) -> Iterator[str]:
    n_classes = len(label.names)
    if label.column in {column.name for column in columns}:
        yield f"{label.column!r} is the label and a column too; drop it from columns"
    for value in sorted(set(label.positive) & set(label.negative)):
        yield f"the label {value!r} is positive and negative; keep one"
    for value in _find_duplicates(value for value, _ in label.classes):
        yield f"the label {value!r} is listed twice in classes; keep one"
    if label.classes and n_classes < 3:
        yield (
            f"label: classes must be three or more; got {n_classes}. For two classes give "
            "positive and negative"
        )
    if n_classes > MOST_CLASSES:
        yield f"label: classes must be at most {MOST_CLASSES}; got {n_classes}"


def _unit_faults(
    unit: Unit | None, columns: tuple[Column, ...], label: LabelSpec, parser: Parser
) -> Iterator[str]:
    if unit is None:
        return
    with_names = [
        kind.name
        for kind in reading.kinds().values()
        if kind.has_files and kind.naming != reading.BY_NUMBER
    ]
    if parser.kind not in with_names:
        yield (
            f"unit requires kind: {' or '.join(with_names)}; records of {parser.kind} name no "
            "person"
        )
    if unit.column in {column.name for column in columns}:
        yield (
            f"{unit.column!r} is the unit and a column too: a name of a person is not learned "
            "from; drop it from columns"
        )
    if unit.column == label.column:
        yield f"{unit.column!r} is the unit and the label; name the column that tells persons apart"


def parser_faults(
    parser: Parser, columns: tuple[Column, ...], label: str, unit: Unit | None = None
) -> Iterator[str]:
    """Yield a message for each contradiction in a parser, and for each missing field.

    If the parser lists fields, the list must include all `columns`, the label and the column of
    persons (``unit.column``).
    """
    try:
        # Try the encoding: some of Python's codecs, such as rot13, do not convert texts to bytes.
        "a".encode(parser.encoding)
    except (LookupError, ValueError):
        yield f"parser: encoding {parser.encoding!r} is unknown; try utf-8"
    kind = reading.kinds()[parser.kind]
    if kind.naming == reading.BY_LINE and parser.header == bool(parser.fields):
        yield "parser needs either header: true or the list fields"
    if kind.has_files and kind.naming == reading.BY_FILE and (parser.header or parser.fields):
        name = kind.name.capitalize()
        yield f"a {name} file names its fields itself; drop parser: header and fields"
    is_numbered = kind.naming == reading.BY_NUMBER
    if is_numbered and not parser.fields:
        yield "parser needs the list fields: names of the numbers, in their order"
    if is_numbered and label != words.LABEL:
        yield f"the label of {parser.kind} files has no name: write label: column: label"
    for key in [key for key in parser.to_dict() if key not in ("kind", "fields", *kind.keys)]:
        having = [other.name for other in reading.kinds().values() if key in other.keys]
        yield f"parser: {key} is for kind: {' or '.join(having)}; drop it"
    if parser.fields:
        names = dict.fromkeys(fields := (*parser.fields, *[words.LABEL] * is_numbered))
        for name in _find_duplicates(fields):
            yield f"parser: fields has {name!r} twice; give each a name of its own"
        persons = [] if unit is None else [unit.column]
        for name in (*(column.name for column in columns), label, *persons):
            if name not in names:
                yield f"parser: fields has no {name!r}{suggestion(name, names).rstrip('.')}"


def _file_faults(
    parser: Parser, files: Mapping[str, tuple[SourceFile, ...]], records: Subsample, n_test: int
) -> Iterator[str]:
    kind = reading.kinds()[parser.kind]
    if not kind.has_files and words.TRAIN in files:
        yield f"a {parser.kind} dataset has no files; drop them"
    if records.parts:
        if n_test:
            yield "records: parts leaves no test part; drop n_test"
        if words.TEST in records.parts and words.TEST not in files:
            yield "records: parts has test, but files has none"
    elif (words.TEST in files) != (n_test > 0):
        yield "n_test and files: test belong together; give both or none"
    all_files = [file for group in files.values() for file in group]
    for file in all_files:
        if file.labels is None and kind.has_labels:
            yield f"files: {file.name} needs labels, the file of its labels"
        if file.labels is not None and not kind.has_labels:
            yield f"files: labels of {file.name} is for kind: idx; drop it"
    for place in _find_duplicates(file.local or file.name for file in all_files):
        yield f"files: {place} is given twice: its records would be there twice"


# Parts of a description ---------------------------------------------------------------------


def _build_column(entry: Mapping[str, Any], public_names: Collection[str]) -> Column:
    name, kind = entry["name"], entry["kind"]
    public = bool(entry.get("public", name in public_names))
    missing = () if entry.get("missing", BIN) == BIN else _list_texts(entry["missing"])
    if kind in (NUMERIC, DATE):
        low, high = map(_read_bound, entry["bounds"])
        spacing = spacing_towards_zero(entry.get("spacing", EQUAL), low, high)
        n_bins, n_values = int(entry.get("n_bins", DEFAULT_BINS)), high - low + 1
        if entry.get("whole") and n_values <= MOST_WHOLE * n_bins:
            # Give all bins equally many whole numbers; the new number of bins may be smaller.
            spacing, n_bins = WHOLE, math.ceil(n_values / math.ceil(n_values / n_bins))
        return Column(
            name,
            NUMERIC,
            (low, high),
            n_bins,
            public=public,
            spacing=spacing,
            units=entry.get("units", ""),
            missing_bin="missing" in entry,
            dates=entry.get("format", ISO) if kind == DATE else "",
            pivot=entry.get("pivot", Column.pivot),
            missing=missing,
        )
    is_text = kind == TEXT
    listed = _pair_patterns(entry["groups"]) if is_text else _pair_titles(entry["categories"])
    if missing and MISSING not in dict(listed):
        listed = (*listed, (MISSING, MISSING))
    return Column(
        name, CATEGORICAL, categories=listed, public=public, patterns=is_text, missing=missing
    )


def _pair_patterns(groups: Any) -> tuple[tuple[str, str], ...]:
    """Return pairs (pattern, title of its group).

    If there is no pattern `other`, a group with the title and the pattern `other` is added;
    likewise for `?`.
    """
    if not isinstance(groups, Mapping):
        groups = {str(pattern): pattern for pattern in groups}
    pairs = [
        (pattern, str(title)) for title, texts in groups.items() for pattern in _list_texts(texts)
    ]
    patterns = {pattern for pattern, _ in pairs}
    return (*pairs, *((title, title) for title in (OTHER, MISSING) if title not in patterns))


def _pair_titles(listed: Any) -> tuple[tuple[str, str], ...]:
    """Return pairs (value, title of its category); if `listed` is a list, value and title agree."""
    pairs = listed.items() if isinstance(listed, Mapping) else [(value, value) for value in listed]
    return tuple((str(value).strip(), str(title).strip()) for value, title in pairs)


def _list_texts(values: object) -> tuple[str, ...]:
    """Return the values of a list, or a single value, as texts without blanks at their ends."""
    return tuple(str(v).strip() for v in (values if isinstance(values, list) else [values]))


def _read_bound(bound: float | str) -> float:
    """Convert a bound to a float; a date, given as text, becomes days since 1970-01-01."""
    try:
        return float(read_day(bound) if isinstance(bound, str) else bound)
    except ValueError:  # a day that does not exist, such as February 31
        return float("nan")
    except OverflowError:  # an integer that is too large for a float
        return float("inf")


def label_values(entry: Mapping[str, Any]) -> list[Any]:
    """Return the label of each class, if `entry` gives one label per class.

    The list is empty if a class has several labels or none, or if `classes` maps labels to titles.
    """
    if "classes" in entry:
        return list(entry["classes"]) if isinstance(entry["classes"], list) else []
    sides = [entry.get("negative"), entry.get("positive")]
    values = [side[0] if isinstance(side, list) and len(side) == 1 else side for side in sides]
    return [] if any(value is None or isinstance(value, list) for value in values) else values


def _build_label(entry: Mapping[str, Any]) -> LabelSpec:
    return LabelSpec(
        entry["column"],
        _list_texts(entry.get("negative", [])),
        _list_texts(entry.get("positive", [])),
        entry.get("strip", ""),
        _pair_titles(entry.get("classes", [])),
    )


def build_files(content: Mapping[str, Any]) -> dict[str, tuple[SourceFile, ...]]:
    """Return the raw files that a description names, by part (``train``, ``test``)."""
    return {
        part: tuple(map(_build_file, entry if isinstance(entry, list) else [entry]))
        for part, entry in content.get("files", {}).items()
    }


def _build_file(entry: Mapping[str, Any]) -> SourceFile:
    local, labels = entry.get("local"), entry.get("labels")
    return SourceFile(
        name=entry["name"] if local is None else Path(local).name,
        urls=tuple(entry.get("urls", ())),
        sha256=entry.get("sha256"),
        n_bytes=entry.get("bytes"),
        local=local,
        labels=None if labels is None else _build_file(labels),
    )
