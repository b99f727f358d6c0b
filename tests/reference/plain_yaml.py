"""YAML in plain Python: what a file of ours may say, read node by node, or why it is refused."""

import datetime
import math
import re

import yaml


class RefusedError(Exception):
    """What the documentation does not allow; the text says what."""


INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
# Of a number with a point or an exponent, as people write it: no 1_000.5 and no 12:30.5.
FLOAT = re.compile(r"[-+]?[0-9]*\.?[0-9]*([eE][-+]?[0-9]+)?")
TAGS = "tag:yaml.org,2002:"
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TRUE = {"yes", "true", "on"}


def read(data):
    """Read the bytes of a file: nothing is read as another thing than a person means by it."""
    try:
        text = data.decode("utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise RefusedError(f"no YAML: {error}") from None
    return None if root is None else value_of(root, ())


def value_of(node, above):
    if id(node) in above:
        raise RefusedError("an alias inside of what it stands for")
    above = (*above, id(node))
    if node.tag.startswith("tag:yaml.org,2002:python/") or not node.tag.startswith(TAGS):
        raise RefusedError(f"the tag {node.tag}")
    if isinstance(node, yaml.MappingNode):
        return mapping_of(node, above)
    if isinstance(node, yaml.SequenceNode):
        return [value_of(entry, above) for entry in node.value]
    return scalar_of(node)


def mapping_of(node, above):
    """Later keys replace nothing: a key that stands twice is refused, a second ``<<`` too."""
    own, merged = {}, None
    for key_node, entry in node.value:
        if key_node.tag.endswith(":merge"):
            if merged is not None:
                raise RefusedError("<< stands twice")
            merged = merged_of(entry, above)
            continue
        if not isinstance(key_node, yaml.ScalarNode):
            raise RefusedError("a key that is a list")
        key = scalar_of(key_node)
        if isinstance(key, float):
            raise RefusedError(f"the key {key_node.value} is a number with a point")
        if key in own:
            raise RefusedError(f"the key {key!r} stands twice")
        own[key] = value_of(entry, above)
    return {**(merged or {}), **own}


def merged_of(node, above):
    entries = node.value if isinstance(node, yaml.SequenceNode) else [node]
    found = {}
    for entry in entries:
        content = value_of(entry, above)
        if not isinstance(content, dict):
            raise RefusedError("<< takes mappings alone")
        # Of several, the first that has a key gives it.
        found = {**content, **found}
    return found


def scalar_of(node):
    kind, text = node.tag.rpartition(":")[2], node.value
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in TRUE
    if kind == "int":
        if not INTEGER.fullmatch(text):
            raise RefusedError(f"{text} is another number in YAML")
        return int(text)
    if kind == "float":
        return float_of(text)
    if kind == "timestamp":
        if not DAY.fullmatch(text):
            raise RefusedError(f"{text} is a time")
        try:
            datetime.date.fromisoformat(text)
        except ValueError:
            raise RefusedError(f"{text} is no day") from None
        return text
    if kind == "str":
        return text
    raise RefusedError(f"{text} has the tag {node.tag}")


def float_of(text):
    lower = text.lower()
    if lower.lstrip("+-") == ".inf":
        return -math.inf if lower.startswith("-") else math.inf
    if lower == ".nan":
        return math.nan
    if not FLOAT.fullmatch(text):
        raise RefusedError(f"{text} is another number in YAML")
    return float(text)
