"""Find words that YAML would misread, in the nodes of a YAML document before it is loaded.

YAML guesses the types of words: ``0150`` is 104, ``12:30`` is 750, ``no`` is false. Descriptions,
studies and configuration share one rule: each word means what its text shows, or is an error. Keys
and days are texts, exactly as in the file.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
_STR, _INT, _FLOAT = f"{_TAG}str", f"{_TAG}int", f"{_TAG}float"
_DAY, _MERGE, _EQUALS = f"{_TAG}timestamp", f"{_TAG}merge", f"{_TAG}value"

# Tags of words that are read as texts.
_AS_WRITTEN = (_DAY, _MERGE, _EQUALS)
# Patterns of numbers that YAML reads as people do.
_LOOK = {_INT: re.compile(r"0|-?[1-9][0-9]*"), _FLOAT: re.compile(r"[^_:]*")}

# Maximum depth of nested lists and mappings, and number of entries. Files written by hand have a
# depth up to 10 and a few thousand entries; larger files are a mistake or an attack.
MOST_DEEP = 100
MOST_ENTRIES = 1_000_000
# Maximum number of characters of a word, and of line numbers, in a message.
MOST_SHOWN = 40
MOST_LINES = 9


def line_too_deep(events: Iterator[yaml.Event]) -> int | None:
    """Return the first line at which lists and mappings are nested too deeply, or None.

    The compiled loader would crash the process at a much deeper nesting.
    """
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEEP and event.start_mark:
            return int(event.start_mark.line) + 1
    return None


def faults(root: yaml.Node, loader: object) -> list[str]:
    """Return messages, with line numbers, on faults that YAML would silently accept in a document.

    `loader` is the loader that composed the document; it converts single words to values. If an
    alias is faulty, the result has only such faults: a node that contains itself can't be checked.
    """
    nodes, aliases = _nodes(root)
    if aliases:
        return aliases
    misread = [fault for node in nodes for fault in _misread_words(node, loader)]
    # Compare keys only if no word is misread: the loader may fail to read the value of such a word.
    others = misread or [fault for node in nodes for fault in _keys(node, loader)]
    repeated = [twice for node in nodes if not misread for twice in _repeated_keys(node, loader)]
    # The same fault on several lines gives one message.
    lines: dict[str, list[int]] = {}
    for line, message in sorted(others):
        lines.setdefault(message, []).append(line)
    messages = [
        f"line{'s' * (len(at) > 1)} {_list_lines(at)}: {message}" for message, at in lines.items()
    ]
    return messages + [message for _, message in sorted(repeated)]


def make_texts(root: yaml.Node) -> None:
    """Change the nodes of keys and days, in place: they are then loaded as texts, as written."""
    for node in _nodes(root)[0]:
        if isinstance(node, yaml.MappingNode):
            node.value = [
                (key if key.tag == _MERGE else _text(key), value) for key, value in node.value
            ]
        elif node.tag in (_DAY, _EQUALS):
            node.tag = _STR


def _text(key: yaml.ScalarNode) -> yaml.ScalarNode:
    return yaml.ScalarNode(_STR, key.value, key.start_mark, key.end_mark, style=key.style)


def _nodes(root: yaml.Node) -> tuple[list[yaml.Node], list[str]]:
    """Return the nodes of a document, each once, and messages on faulty aliases."""
    nodes: list[yaml.Node] = []
    # For the id of each node, the number of its entries if all aliases are expanded; 0 until this
    # number is computed.
    sizes: dict[int, int] = {}
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    while waiting:
        node, seen = waiting.pop()
        parts = _parts(node)
        if seen:
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
            continue
        if id(node) in sizes:
            if not sizes[id(node)]:
                line = node.start_mark.line + 1
                return nodes, [
                    f"line {line}: an alias must not be within the node that it refers to"
                ]
            continue
        sizes[id(node)] = 0
        nodes.append(node)
        waiting.append((node, True))
        waiting.extend((part, False) for part in parts)
    if sizes[id(root)] > MOST_ENTRIES:
        return nodes, [f"must have at most {MOST_ENTRIES:,} entries; its aliases expand to more"]
    return nodes, []


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


# Pairs of a line number and a message.
Faults = Iterator[tuple[int, str]]


def _misread_words(node: yaml.Node, loader: Any) -> Faults:
    """Yield a fault if a node has a tag, or is a word that YAML misreads, such as 0150 (octal)."""
    line = node.start_mark.line + 1
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    implied = loader.resolve(type(node), node.value if plain else None, (plain, not plain))
    if node.tag not in (implied, _STR):
        tag = node.tag.replace(_TAG, "!!")
        yield line, f"the tag {tag} has no meaning here; leave it out"
    elif isinstance(node, yaml.ScalarNode) and node.tag in (_DAY, _INT, _FLOAT):
        try:
            value = _value(node, loader)
        except ValueError as error:
            yield (
                line,
                f"YAML can't read {_shorten(node.value)}: {error}; correct it, or put it in quotes",
            )
            return
        text = value.isoformat() if node.tag == _DAY else str(value)
        look = _LOOK.get(node.tag)
        if node.tag == _FLOAT and math.isinf(value) and "inf" not in node.value.lower():
            yield line, f"a number must be at most 1.8e308; got {_shorten(node.value)}"
        elif not (look.fullmatch(node.value) if look else node.value == text):
            message = f"YAML reads {_shorten(node.value)} as {text}; put it in quotes, if it is "
            yield line, f"{message}not meant so, or write {text}"


def _keys(node: yaml.Node, loader: object) -> Faults:
    """Yield a fault for each key of a mapping that is not a single word, or that YAML misreads."""
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            yield line, "a key must be a word; got a list or a mapping"
            continue
        word = _word(key, loader)
        if str(word) == key.value:
            continue
        if not key.value:
            yield line, "a key must be a word; got nothing: put it in quotes"
        elif word is None or isinstance(word, bool):
            read = "nothing" if word is None else str(word).lower()
            yield line, f"YAML reads the key {key.value} as {read}; put the word in quotes"
        else:
            yield line, f"YAML reads {key.value} as {word}; put it in quotes"


def _repeated_keys(node: yaml.Node, loader: object) -> Faults:
    """Yield a fault for each repeated key of a mapping, with the lines of both keys."""
    lines: dict[Any, int] = {}
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if not isinstance(key, yaml.ScalarNode):
            continue
        word, line = _word(key, loader), key.start_mark.line + 1
        # Compare keys in the Unicode form NFC, in which keys that look equal are equal.
        alike = (word, unicodedata.normalize("NFC", key.value))
        before = next((lines[one] for one in alike if one in lines), None)
        if before is not None:
            yield line, f"the key {word!r} occurs twice, lines {before} and {line}; keep one"
        lines.update(dict.fromkeys(alike, line))


def _word(key: yaml.ScalarNode, loader: object) -> Any:
    return key.value if key.tag in _AS_WRITTEN else _value(key, loader)


def _list_lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:MOST_LINES]))
    return shown + (", …" if len(lines) > MOST_LINES else "")


def _value(node: yaml.ScalarNode, loader: Any) -> Any:
    """Return the value that YAML reads from a word."""
    return loader.yaml_constructors[node.tag](loader, node)


def _shorten(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
