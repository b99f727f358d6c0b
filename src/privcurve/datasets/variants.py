"""Expand the short forms in a dataset's YAML file: patterns of names, and `based_on`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from privcurve.datasets.description import TRAIN
from privcurve.datasets.domain import NUMERIC
from privcurve.datasets.errors import Problems
from privcurve.schema import suggestion

_RANGE = re.compile(r"(?<!\\)\{(\d+)\.\.(\d+)\}")
_NO_RANGE = re.compile(r"\\(\{\d+\.\.\d+\})")
MOST_NAMES = 65536

# Keys whose values are mappings. A variant lists only the entries that differ from the base.
_IN_PART = ("files", "parser", "label")


def names_of(pattern: str) -> list[str]:
    r"""Return the names that a pattern such as ``pixel{0..783}`` stands for.

    ``\{`` before a range means a plain {.
    """
    texts = _RANGE.split(pattern)
    ranges = []
    size = 1
    for first, last in zip(texts[1::3], texts[2::3], strict=True):
        size *= max(int(last) - int(first) + 1, 0)
        if not 0 < size <= MOST_NAMES:
            raise ValueError(f"{pattern!r} must expand to 1 to {MOST_NAMES} names; got {size}")
        width = len(first) if first.startswith("0") else 0
        ranges.append([f"{k:0{width}d}" for k in range(int(first), int(last) + 1)])
    fixed = [_NO_RANGE.sub(r"\1", text) for text in texts[0::3]]
    return [
        fixed[0] + "".join(a + b for a, b in zip(chosen, fixed[1:], strict=True))
        for chosen in product(*ranges)
    ]


def escape_name(name: str) -> str:
    """Return the pattern that expands to exactly the given name."""
    return re.sub(r"(\{\d+\.\.\d+\})", r"\\\1", name)


def write_out(content: Mapping[str, Any]) -> dict[str, Any]:
    """Expand the patterns of names in a description, such as names of columns.

    All words that are compared with data files are normalized to NFC, so that texts that look equal
    are equal.
    """
    # File names are not normalized: a file system that distinguishes NFC from other forms would not
    # find the file under the normalized name.
    result = {
        key: value if key == "files" else compose_words(value) for key, value in content.items()
    }
    if "columns" in result:
        result["columns"] = [
            {**entry, "name": name}
            for entry in result["columns"]
            for name in names_of(entry["name"])
        ]
    if "fields" in result.get("parser", {}):
        result["parser"] = {**result["parser"], "fields": _expand_names(result["parser"]["fields"])}
    if "public" in result:
        result["public"] = _expand_names(result["public"])
    if isinstance(result.get("n_bins"), Mapping):
        result["n_bins"] = {
            name: bins for pattern, bins in result["n_bins"].items() for name in names_of(pattern)
        }
    return result


def _expand_names(patterns: Iterable[str]) -> list[str]:
    return [name for pattern in patterns for name in names_of(pattern)]


def compose_words(value: object) -> Any:
    """Normalize all texts in a value to NFC, including keys and entries of mappings and lists."""
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return {compose_words(key): compose_words(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [compose_words(entry) for entry in value]
    return value


def merge_content(
    base: Mapping[str, Any], changes: Mapping[str, Any], problems: Problems
) -> dict[str, Any]:
    """Merge the changes of a variant into the content of its base.

    `changes` is the content of the variant's file. Contradictions become faults in `problems`.
    """
    result = {**base, **changes}
    name = result.pop("based_on")
    if "files" in changes:
        # Records in the files of a variant are not public just because the records of the base
        # are.
        result["public_benchmark"] = changes.get("public_benchmark", False)
    if TRAIN in changes.get("files", {}):
        if "budget" not in changes:
            result.pop("budget", None)
    else:
        if "budget" in changes:
            problems.add(f"budget: the records belong to {name} and share its budget: set it there")
        if result.get("public_benchmark") and not base.get("public_benchmark"):
            problems.add(
                f"public_benchmark: the records belong to {name}, which does not mark them as "
                "public: mark them there, or leave it out"
            )
    for key in _IN_PART:
        if key in base and key in changes:
            result[key] = {**base[key], **changes[key]}
    if "classes" in changes.get("label", {}):
        _remove_keys(result["label"], ("positive", "negative"))
    elif {"positive", "negative"} & set(changes.get("label", {})):
        _remove_keys(result["label"], ("classes",))
    kinds = [content.get("parser", {}).get("kind") for content in (base, changes)]
    if kinds[1] not in (None, kinds[0]):
        result["parser"] = changes["parser"]
    columns = {column["name"]: column for column in base["columns"]}
    for column in changes.get("columns", ()):
        old = columns.get(column["name"], {})
        other_kind = column.get("kind", old.get("kind")) != old.get("kind")
        columns[column["name"]] = column if other_kind else {**old, **column}
    n_bins = result.pop("n_bins", {})
    if not isinstance(n_bins, Mapping):
        n_bins = {key: n_bins for key, column in columns.items() if column.get("kind") == NUMERIC}
    for key in n_bins:
        if key not in columns:
            problems.add(f"n_bins: {name} has no {key!r}{suggestion(key, columns)}")
    result["columns"] = [
        {**column, "n_bins": n_bins[key]} if key in n_bins else column
        for key, column in columns.items()
    ]
    if "public" in changes:
        result["columns"] = [
            {key: value for key, value in column.items() if key != "public"}
            for column in result["columns"]
        ]
    if "parts" in changes.get("records", {}) and "n_test" not in changes:
        result.pop("n_test", None)
    return result


def _remove_keys(entry: dict[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        entry.pop(key, None)
