"""Check YAML content against a JSON schema, with messages that name the mend."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

# Comparing a word with each of ten thousand takes a second.
MOST_COMPARED = 1000

# Numbers that are in YAML what they are to a person; days and times are what they are written.
_TIME = "tag:yaml.org,2002:timestamp"
_MEANT = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]*)"),
    "tag:yaml.org,2002:float": re.compile(r"[^_:]*"),
}
MERGE = "tag:yaml.org,2002:merge"


class SchemaError(ValueError):
    """Content that its schema does not allow; one line a fault."""


def nearest(word: object, known: Iterable[str]) -> str:
    """End a sentence about an unknown word: ``"; did you mean 'x'?"``, or ``"."``.

    Parameters
    ----------
    word : object
        What was written.
    known : iterable of str
        What could have been meant.

    Returns
    -------
    str
    """
    known = list(known)
    if len(known) > MOST_COMPARED:
        return "."
    near = difflib.get_close_matches(str(word), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def read_yaml(path: Path, words: Collection[str] = ()) -> Any:
    """Read a YAML file.

    Parameters
    ----------
    path : Path
    words : collection of str
        Keys below which all is meant as it is written, numbers too: 1.10 is no 1.1, nor +1 a 1.

    Returns
    -------
    object

    Raises
    ------
    SchemaError
        If it is not valid YAML, repeats a key, or holds a number or a time that YAML reads as
        another one, naming file and place.
    """
    # The compiled loader is ten times as fast, but not in every build of PyYAML.
    make_loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open(encoding="utf-8") as stream:
        try:
            loader = make_loader(stream)
            try:
                root = loader.get_single_node()
                if root is None:
                    return None
                misread = _misread(root, loader, words) or _repeated(root, loader)
                content = None if misread else loader.construct_document(root)
            finally:
                loader.dispose()
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise SchemaError(f"{path} is not valid YAML: {error}") from None
    if misread:
        # YAML's readers say no word of it: they keep the last of two keys, and take 0150 for 104.
        raise SchemaError("\n".join(f"{path}: {fault}" for fault in misread))
    return content


def _nodes(root: yaml.Node) -> Iterator[yaml.Node]:
    """Give each node once, though an alias names it twice."""
    seen: set[int] = set()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            nodes.extend(part for pair in node.value for part in pair)
        yield node


def _repeated(root: yaml.Node, loader: Any) -> list[str]:
    """Name each key that a mapping has twice, with both lines."""
    faults = []
    for node in _nodes(root):
        if not isinstance(node, yaml.MappingNode):
            continue
        lines: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            word = key.value if key.tag == MERGE else loader.construct_object(key)
            if word in lines:
                twice = f"lines {lines[word]} and {line}"
                faults.append((line, f"the key {word!r} stands twice, {twice}; keep one"))
            lines[word] = line
    return [fault for _, fault in sorted(faults)]


def _misread(root: yaml.Node, loader: Any, words: Collection[str]) -> list[str]:
    """Name what is another number in YAML, 0150 (octal), 12:30 (sixties), 1_000, or no day."""
    faults = []
    as_written = _as_written(root, words)
    for node in _nodes(root):
        if node.tag not in _MEANT and node.tag != _TIME:
            continue
        line = node.start_mark.line + 1
        try:
            value = loader.construct_object(node)
        except ValueError as error:
            faults.append((line, f"line {line}: {node.value} can't be: {error}"))
            continue
        text = value.isoformat() if node.tag == _TIME else str(value)
        if node.tag == _TIME or id(node) in as_written:
            right = node.value == text
        else:
            right = bool(_MEANT[node.tag].fullmatch(node.value))
        if not right:
            said = f"line {line}: YAML reads {node.value} as {text}; put it in quotes, if it is "
            faults.append((line, f"{said}not meant so, or write {text}"))
    return [fault for _, fault in sorted(faults)]


def _as_written(root: yaml.Node, words: Collection[str]) -> set[int]:
    """Return the nodes that are meant as they are written: keys, and what is below some of them."""
    found = set()
    for node in _nodes(root):
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            found.add(id(key))
            if isinstance(key, yaml.ScalarNode) and key.value in words:
                found.update(map(id, _nodes(value)))
    return found


def check(content: Any, schema: Path, where: str) -> None:
    """Check content against a schema.

    Parameters
    ----------
    content : object
        As read from YAML.
    schema : Path
        JSON schema, in YAML.
    where : str
        What the message calls the content, usually its file.

    Raises
    ------
    SchemaError
        Naming each fault by its place; an unknown key with the nearest known one.
    """
    found = sorted(message for _, message in faults(content, schema))
    if found:
        raise SchemaError("\n".join(f"{where}: {fault}" for fault in found))


def faults(content: Any, schema: Path) -> list[tuple[tuple[str | int, ...], str]]:
    """Give what a schema does not allow: where in the content, and a message that says it too."""
    validator = _validator(schema, state(schema))
    return [
        (tuple(error.absolute_path) + _unknown(error)[:1], _fault(error, content))
        for error in validator.iter_errors(content)
    ]


def _unknown(error: Any) -> tuple[str, ...]:
    """Give the keys that a schema does not know, if that is the fault."""
    if error.validator != "additionalProperties" or not isinstance(error.instance, Mapping):
        return ()
    return tuple(key for key in error.instance if key not in error.schema.get("properties", {}))


class Lines:
    """On which line of a YAML file something stands.

    Parameters
    ----------
    path : Path
        A file that :func:`read_yaml` reads.
    """

    def __init__(self, path: Path) -> None:
        self._root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)

    def of(self, *place: str | int) -> int:
        """Give the line of a place, or of the nearest that is there on the way to it.

        Parameters
        ----------
        *place : str or int
            Keys of mappings and positions in lists, from the top.
        """
        node, line = self._root, 1
        for step in place:
            if isinstance(node, yaml.MappingNode):
                pairs = [(key, value) for key, value in node.value if key.value == str(step)]
                if not pairs:
                    break
                key, node = pairs[0]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                node = node.value[step]
                line = node.start_mark.line + 1
            else:
                break
        return line


def state(path: Path) -> tuple[int, ...]:
    """Give what changes when a file does, as a key of what was read of it: inode, time, size.

    Raises
    ------
    FileNotFoundError
    """
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=32)
def _validator(schema: Path, changed: tuple[int, ...]) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(read_yaml(schema))


def _fault(error: Any, content: Any) -> str:
    place = _place(list(error.absolute_path), content)
    prefix = f"{place}: " if place else ""
    unknown = _unknown(error)
    if unknown:
        known = list(error.schema.get("properties", {}))
        hints = []
        for key in unknown:
            hints.append(f"unknown key {key!r}{nearest(key, known)} Allowed: {', '.join(known)}.")
        return prefix + " ".join(hints)
    if error.validator == "required":
        # There is an error for each key that is missing, which only its message names.
        missing = next(key for key in error.validator_value if error.message.startswith(repr(key)))
        return prefix + f"missing key {missing!r}"
    if error.validator == "not":
        return prefix + "does not belong here"
    if error.validator == "minProperties":
        return (
            prefix
            + f"says too little: it has {len(error.instance)} of at least "
            + (f"{error.validator_value} keys")
        )
    if error.validator == "minItems":
        n = len(error.instance)
        return prefix + (f"{n} of {error.validator_value} entries" if n else "the list is empty")
    if error.validator == "type" and error.validator_value == "array":
        if error.instance is None:
            return f"{prefix}nothing is written there"
        return f"{prefix}{error.instance!r} is no list: write it in brackets, [a, b, …]"
    if isinstance(error.instance, bool):
        return (
            f"{prefix}{error.instance}: YAML reads yes, no, on and off as truth values; "
            "put the word in quotes"
        )
    if error.validator_value == "number" and _means_a_number(error.instance):
        return (
            f"{prefix}YAML reads {error.instance} as a text: take it out of quotes, or write it "
            "with a point and a sign, as in 1.0e-6"
        )
    described = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    return prefix + error.message + (f". Expected: {described}" if described else "")


def _means_a_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _place(path: list[str | int], content: Any) -> str:
    """Name a place of the file; an entry of a list by its name rather than its position."""
    steps = []
    for step in path:
        content = content[step]
        named = isinstance(step, int) and isinstance(content, Mapping) and "name" in content
        steps.append(str(content["name"] if named else step))
    return ".".join(steps)
