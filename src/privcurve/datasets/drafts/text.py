"""Write a draft as a YAML file that a person goes on with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from privcurve.datasets.drafts.columns import Proposal
from privcurve.datasets.drafts.label import Classes
from privcurve.datasets.drafts.sniff import Format
from privcurve.datasets.variants import as_pattern

# Words that YAML reads as they are meant.
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./%-]*")
_NUMBERED = re.compile(r"(.*\D)(0|[1-9]\d*)")
# Numbers that are larger than others by more are of another magnitude.
_MAGNITUDE = 10
_NOT_BARE = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

_PRIVATE = """\
# {name}: drafted by privcurve describe, to be finished by hand. What stands here is public, and
# goes into every model: write only what is known without the records (a codebook, a law, what is
# possible), never what the screen showed of them. Fill in each line marked "decide", then:
#   privcurve check {name}
"""
# A release for add-remove neighbours hides what this line would tell.
_ADD_REMOVE = (
    "# (A release with --neighbours add-remove protects this number, too: n_rows would be public",
    "# knowledge as soon as others saw this file. Keep it to yourself then.)",
)
_PUBLIC = """\
# {name}: drafted by privcurve describe --public. Bounds and categories are those of the file: right
# only if its records are public. Of others they would be a leak that no ε counts.
#   privcurve check {name}
"""


def written(
    name: str,
    how: Format,
    facts: Mapping[str, Any],
    decimal: str,
    columns: Mapping[str, Proposal],
    label: str,
    classes: Classes,
    public: bool,
) -> tuple[str, int]:
    """Return the text of a draft, and how many of its lines are to be decided."""
    lines = [(_PUBLIC if public else _PRIVATE).format(name=name)]
    if public:
        lines.append("public_benchmark: true  # the records themselves are public")
    else:
        lines.append("# budget: {epsilon: 3}  # of all releases together (docs/releases.md)")
    lines.append(f"n_rows: {facts['n_rows']}  # the number of records, taken to be public")
    if not public:
        lines += _ADD_REMOVE
    if "n_test" in facts:
        lines.append(f"n_test: {facts['n_test']}")
    lines.append("files:")
    lines += [f"  {part}: {{local: {scalar(path)}}}" for part, path in facts["files"].items()]
    lines.append(f"parser: {flow(_with_patterns(how.parser))}")
    if decimal != ".":
        lines.append(f"decimal: {scalar(decimal)}")
    lines.append(f"missing: {flow(facts['missing'])}  # what the file writes for a missing value")
    lines.append("unknown: other  # what categories lack goes to other, where that is listed")
    lines.append("columns:")
    used = {key: column for key, column in columns.items() if column.kind}
    alike = dict(_alike(used))
    for key, column in alike.items():
        lines += [f"  - name: {scalar(key)}", f"    kind: {column.kind}"]
        lines += [f"    {_line(k, v, column.remarks.get(k))}" for k, v in column.keys.items()]
    unused = [key for key in columns if key not in used]
    if unused:
        lines.append(f"# not used: {', '.join(map(scalar, unused))}")
    lines += ["label:", f"  column: {scalar(label)}"]
    for key, values in (("positive", classes.positive), ("negative", classes.negative)):
        lines.append(f"  {_line(key, values, f'the label of {key} records')}")
    n_blanks = sum(value is None for column in alike.values() for value in column.keys.values())
    n_blanks += (classes.positive is None) + (classes.negative is None)
    return "\n".join(lines) + "\n", n_blanks


def _alike(columns: Mapping[str, Proposal]) -> Iterator[tuple[str, Proposal]]:
    """Describe columns at once that differ in a number alone: x2, x3 and x4 by ``x{2..4}``.

    Numbers have to be of one magnitude: of others one bound would leave some in one bin. Which
    columns stand together is seen of the records, but a description says the same of them either
    way, and a model has no trace of it.
    """
    rest = list(columns.items())
    start = 0
    while start < len(rest):
        name, column = rest[start]
        match = _NUMBERED.fullmatch(name)
        name = as_pattern(name)
        end = start + 1
        least = most = column.largest
        if match:
            # What comes next in the file, as long as it is one more and alike.
            while end < len(rest):
                after, other = rest[end]
                if after != f"{match[1]}{int(match[2]) + end - start}":
                    break
                least, most = min(least, other.largest), max(most, other.largest)
                if most > _MAGNITUDE * least or not column.is_like(other):
                    break
                end += 1
            if end - start > 1:
                name = f"{as_pattern(match[1])}{{{match[2]}..{int(match[2]) + end - start - 1}}}"
        yield name, column
        start = end


def _with_patterns(parser: Mapping[str, Any]) -> dict[str, Any]:
    if "fields" not in parser:
        return dict(parser)
    return {**parser, "fields": [as_pattern(name) for name in parser["fields"]]}


def _line(key: str, value: Any, remark: str | None) -> str:
    if value is None:
        return f"{key}:  # decide: {remark}"
    return f"{key}: {flow(value)}" + (f"  # {remark}" if remark else "")


def flow(value: Any) -> str:
    """Write a value on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{scalar(str(key))}: {flow(entry)}" for key, entry in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """Write a value so that YAML reads it as what it is."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _NOT_BARE:
        return value
    written = json.dumps(value, ensure_ascii=False)
    # Some of what JSON leaves as it is would end a line of YAML, or is not allowed there.
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in written)
