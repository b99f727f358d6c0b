"""YAML in plain Python, node by node: a word is read as it is written, or refused.

Keys and days are texts, as they stand there. Other words must look like what YAML reads: no 0150
(which is 104), no 12:30 (750), no +5, no tag. NaN and repeated keys are refused anywhere.
"""

import datetime
import math
import re
import unicodedata

import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import extend


class RefusedError(Exception):
    """What the documentation does not allow; the text says what."""


INTEGER = re.compile(r"0|-?[1-9][0-9]*")
TAGS = "tag:yaml.org,2002:"
TRUE = ("yes", "true", "on")
MOST_DEEP, MOST_ENTRIES = 100, 1_000_000


def read(data):
    """Read the bytes of a file."""
    try:
        text = data.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_DEEP:
                raise RefusedError("too deep")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise RefusedError(f"no YAML: {error}") from None
    return None if root is None else value_of(root, ())


def value_of(node, above):
    if id(node) in above:
        raise RefusedError("an alias inside of what it stands for")
    above = (*above, id(node))
    if not isinstance(node, yaml.ScalarNode):
        check_tag(node, f"{TAGS}{'map' if isinstance(node, yaml.MappingNode) else 'seq'}")
    if isinstance(node, yaml.MappingNode):
        return mapping_of(node, above)
    if isinstance(node, yaml.SequenceNode):
        return [value_of(entry, above) for entry in node.value]
    return scalar_of(node)


def check_tag(node, implied):
    if node.tag not in (implied, f"{TAGS}str"):
        raise RefusedError(f"the tag {node.tag}")


def mapping_of(node, above):
    """Later keys replace nothing: a key that stands twice is refused, ``<<`` too."""
    own, merged, keys = {}, {}, []
    for key_node, entry in node.value:
        key = key_of(key_node)
        if unicodedata.normalize("NFC", key) in keys:
            raise RefusedError(f"the key {key!r} stands twice")
        keys.append(unicodedata.normalize("NFC", key))
        if key_node.tag == f"{TAGS}merge":
            merged = merged_of(entry, above)
        else:
            own[key] = value_of(entry, above)
    return {**merged, **own}


def key_of(node):
    """Return a key as it stands in the file; one that YAML reads as something else is refused."""
    if not isinstance(node, yaml.ScalarNode):
        raise RefusedError("a key that is a list")
    if node.tag in (f"{TAGS}merge", f"{TAGS}timestamp", f"{TAGS}value"):
        return node.value
    value = scalar_of(node)
    if str(value) != node.value:
        raise RefusedError(f"YAML reads the key {node.value} as {value}")
    return node.value


def merged_of(node, above):
    entries = node.value if isinstance(node, yaml.SequenceNode) else [node]
    merged = {}
    for entry in entries:
        content = value_of(entry, above)
        if not isinstance(content, dict):
            raise RefusedError("<< takes mappings alone")
        # Of several, the first that has a key gives it.
        merged = {**content, **merged}
    return merged


def scalar_of(node):
    plain = not node.style
    implied = yaml.SafeLoader("").resolve(yaml.ScalarNode, node.value, (plain, not plain))
    check_tag(node, implied)
    kind, text = node.tag.removeprefix(TAGS), node.value
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
    if kind == "merge":
        raise RefusedError("<< is for keys")
    if kind == "timestamp":
        check_time(text)
    return text


def check_time(text):
    """Refuse what is no day, and a time that is not as ISO writes it."""
    try:
        read = datetime.date if len(text) == 10 else datetime.datetime
        if read.fromisoformat(text).isoformat() == text:
            return
    except ValueError:
        pass
    raise RefusedError(f"{text} is no day, or a time in another form")


def float_of(text):
    lower = text.lower()
    if lower.lstrip("+-") == ".inf":
        return -math.inf if lower.startswith("-") else math.inf
    if lower == ".nan":
        return math.nan
    if "_" in text or ":" in text or math.isinf(float(text)):
        raise RefusedError(f"{text} is another number in YAML, or none")
    return float(text)


# Schemas -------------------------------------------------------------------------------


def validator_of(path):
    """Return a validator of a schema, whose numbers are finite but where it says otherwise."""

    def is_number(_, value):
        return (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and not (isinstance(value, float) and not math.isfinite(value))
        )

    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "number": is_number,
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "infinite": lambda _, value: isinstance(value, float) and math.isinf(value),
        }
    )
    return extend(Draft202012Validator, type_checker=types)(yaml.safe_load(path.read_text()))


def check_numbers(content):
    """Refuse NaN, which says nothing, wherever it stands."""
    if isinstance(content, dict):
        check_numbers(list(content.values()))
    elif isinstance(content, list):
        for entry in content:
            check_numbers(entry)
    elif isinstance(content, float) and math.isnan(content):
        raise RefusedError("NaN")
