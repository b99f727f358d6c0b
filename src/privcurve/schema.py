"""Check YAML content against a JSON schema, with messages that name the remedy."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from privcurve import yaml_nodes
from privcurve.errors import ExpectedError

# If there are more known words than this, :func:`suggestion` suggests none of them: a comparison
# with ten thousand words takes a second.
MOST_COMPARED = 1000


# A place in the content: keys of mappings and positions in lists, from the top.
Place = tuple[str | int, ...]

# File extension of descriptions and studies.
ENDING = ".yaml"

# Maximum number of places that a message lists.
MOST_NAMED = 5

NOTHING = "must have a value; got nothing"

# For each pattern in schemas, the message on a text that does not match it.
_TEXTS = {
    r"\S": NOTHING,
    r"^[A-Za-z0-9_-]+\Z": "must have only letters, digits, - and _; got {!r}",
    r"\A[^\0-\x08\x0e-\x1f\x7f]*\Z": "must have only printable characters; leave out the others",
}

_TRUTH = "must be a text; YAML reads yes, no, on and off as truth values: put the word in quotes"


class Fault(NamedTuple):
    """A violation of a schema, perhaps at several places."""

    places: tuple[Place, ...]  # for an unknown key, the place includes the key
    message: str  # the message for the user, which names the places


# Name of a type in our schemas: positive infinity. The type `number` excludes it.
INFINITE = "infinite"


class SchemaError(ExpectedError, ValueError):
    """Content violates its schema; the message has a line for each fault."""


def suggestion(word: object, words: Iterable[str]) -> str:
    """Return the end of a sentence on an unknown word: ``"; did you mean 'x'?"`` or ``"."``.

    `words` are the known words, from which the most similar one is suggested.
    """
    words = list(words)
    if len(words) > MOST_COMPARED:
        return "."
    spelt = {one.casefold(): one for one in reversed(words)}
    near = difflib.get_close_matches(str(word).casefold(), spelt, n=1)
    return f"; did you mean {spelt[near[0]]!r}?" if near else "."


def misnamed_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder that are ignored, as their extension is not `ENDING`."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted(p for p in paths if p.suffix.lower() in (".yaml", ".yml") and p.suffix != ENDING)


def explain_ending(path: Path, folder: Path | str) -> str:
    """Return a message: the file `path` is ignored because of its extension; rename it."""
    return f"{folder}/{path.name} is not read: name it {path.stem}{ENDING}"


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; None if the file is empty.

    Keys and days are texts, exactly as in the file. Raises SchemaError if the file is not valid
    YAML or UTF-8, or if YAML would silently change one of its words (:func:`yaml_nodes.faults`).
    """
    return parse_yaml(_text(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Return the content of a YAML text, as :func:`read_yaml`; messages call the text `where`."""
    root, loader = _compose(text, where)
    if root is None:
        return None
    faults = yaml_nodes.faults(root, loader)
    if faults:
        # Readers of YAML accept these faults: they read 0150 as 104, and keep only the last of
        # several equal keys.
        raise SchemaError("\n".join(f"{where}: {fault}" for fault in faults))
    yaml_nodes.make_texts(root)
    try:
        return loader.construct_document(root)
    except yaml.YAMLError as error:
        raise _yaml_error(where, error) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path} is not valid YAML: {error}; save it as UTF-8") from None


def _yaml_error(where: str, error: yaml.YAMLError) -> SchemaError:
    reason = str(error).replace('in "<unicode string>", ', "")
    return SchemaError(f"{where} is not valid YAML: {reason}")


def _compose(text: str, where: str) -> tuple[yaml.Node | None, Any]:
    """Return the root node of a YAML document, and the loader that converts nodes to values."""
    # The compiled loader is ten times faster, but some builds of PyYAML lack it.
    make_loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        line = yaml_nodes.line_too_deep(yaml.parse(text, Loader=make_loader))
        if line is not None:
            raise SchemaError(
                f"{where}: line {line}: lists and mappings must be nested less deeply"
            )
        loader = make_loader(text)
        try:
            return loader.get_single_node(), loader
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _yaml_error(where, error) from None


def check(content: object, schema: Path, where: str, in_yaml: bool = True) -> None:
    """Check content against the JSON schema in a file; messages call the content `where`.

    With `in_yaml`, messages give remedies for YAML, otherwise for Python. Raises SchemaError, which
    names the place of each fault and, for an unknown key, the most similar known key.
    """
    messages = sorted(fault.message for fault in faults(content, schema, in_yaml))
    if messages:
        raise SchemaError("\n".join(f"{where}: {message}" for message in messages))


def faults(content: object, schema: Path, in_yaml: bool = True) -> list[Fault]:
    """Return the violations of a JSON schema; violations with the same cause are one fault.

    NaN is never allowed, as comparisons with the bounds in a schema do not detect it. Infinity is
    allowed only where the schema has the type ``infinite``.
    """
    errors = [
        error
        for error in _validator(schema, file_state(schema)).iter_errors(content)
        if not _is_nan(error.instance)
    ]
    # Several rules may restrict the type at a place. The rule that allows the fewest types is the
    # strictest: report only the error from this rule.
    closest: dict[Place, int] = {}
    for error in errors:
        if error.validator == "type":
            place = tuple(error.absolute_path)
            closest[place] = min(_n_types(error), closest.get(place, _n_types(error)))
    # Group the faults by pattern of places (`_in_entry`) and reason. A group maps the place of each
    # fault, which includes an unknown key, to the place that the message names.
    places: dict[tuple[Place, str], dict[Place, Place]] = {}
    for error in errors:
        place = tuple(error.absolute_path)
        reason = _reason(error) if in_yaml else _reason_in_python(error) or _reason(error)
        if error.validator == "type" and _n_types(error) > closest[place]:
            continue
        # Report unquoted yes and no at all places as one fault. Report any other reason as one
        # fault if the places are entries of the same list.
        key = ((), reason) if reason == _TRUTH else (_in_entry(place), reason)
        places.setdefault(key, {})[place + _unknown_keys(error)[:1]] = place
    for place in _nans(content):
        places.setdefault((_in_entry(place), _NO_NUMBER), {})[place] = place
    return [
        Fault(tuple(some), _message(reason, list(some.values()), content))
        for (_, reason), some in places.items()
    ]


def _in_entry(place: Place) -> Place:
    """Return a place with "" for positions in lists; so all entries of a list have one place."""
    return tuple(step if isinstance(step, str) else "" for step in place)


def _n_types(error: Any) -> int:
    allowed = error.validator_value
    return len(allowed) if isinstance(allowed, list) else 1


def _message(reason: str, places: list[Place], content: object) -> str:
    if reason == _TRUTH:
        names = [f"{_place(some, content)} ({_value_at(some, content)})" for some in places]
    else:
        names = list(dict.fromkeys(_place(some, content) for some in places))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    where = f"{', '.join(names[:MOST_NAMED])}{more}"
    return f"{where}: {reason}" if where else reason


def _value_at(place: Place, content: Any) -> Any:
    for step in place:
        content = content[step]
    return content


_NO_NUMBER = "must be a number; got .nan: write a number, or put a text in quotes"


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _nans(content: object) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each NaN; for a key that is NaN, the place of the mapping."""
    if isinstance(content, Mapping):
        if any(map(_is_nan, content)):
            yield ()
        items: Iterable[tuple[Any, Any]] = content.items()
    elif isinstance(content, list):
        items = enumerate(content)
    else:
        if _is_nan(content):
            yield ()
        return
    for key, value in items:
        yield from ((key, *rest) for rest in _nans(value))


def _unknown_keys(error: Any) -> tuple[str, ...]:
    """Return the unknown keys that an error of jsonschema is about; empty for other errors."""
    if error.validator != "additionalProperties" or not isinstance(error.instance, Mapping):
        return ()
    return tuple(key for key in error.instance if key not in error.schema.get("properties", {}))


class Lines:
    """Finds the line numbers of places in a YAML file."""

    def __init__(self, path: Path) -> None:
        self._root, _ = _compose(_text(path), str(path))

    def line_of(self, *place: str | int) -> int:
        """Return the line of a place, or of its nearest existing parent."""
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


def file_state(path: Path) -> tuple[int, ...]:
    """Return device, inode, time and size of a file, by which a cache detects changes of the file.

    Raises FileNotFoundError if there is no file.
    """
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=32)
def _validator(schema: Path, changed: tuple[int, ...]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # JSON Schema accepts 5.0 as an integer, but Python's ranges and random generators do not.
    checker = Draft202012Validator.TYPE_CHECKER
    types = checker.redefine_many(
        {
            "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
            "number": lambda _, value: checker.is_type(value, "number") and _is_finite(value),
            INFINITE: lambda _, value: isinstance(value, float) and value == math.inf,
        }
    )
    content = read_yaml(schema)
    _fill_in(content)
    return extend(Draft202012Validator, type_checker=types)(content)


def _fill_in(node: object) -> None:
    """Replace ``enum: module:function``, anywhere in a schema, by the words that it returns."""
    if isinstance(node, dict) and isinstance(listed := node.get("enum"), str):
        module, _, function = listed.partition(":")
        node["enum"] = getattr(import_module(module), function)()
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _fill_in(part)


def _is_finite(number: object) -> bool:
    # An int is finite, even if it has so many digits that it can't be converted to a float.
    return not isinstance(number, float) or math.isfinite(number)


def _reason_in_python(error: Any) -> str:
    """Return a message on a number in place of a text, or on a text in place of a number.

    The message says how to correct Python code. It is empty for other faults.
    """
    given, allowed = error.instance, error.validator_value
    wants_number = allowed in ("number", "integer", ["number", INFINITE])
    if error.validator != "type" or not (wants_number or "string" in allowed):
        return ""
    if isinstance(given, (bool, str)) and wants_number:
        kind = "text" if isinstance(given, str) else "truth value"
        return f"must be a number; got the {kind} {given!r}"
    if isinstance(given, (int, float)) and not wants_number:
        kind = "truth value" if isinstance(given, bool) else "number"
        return f"must be a text; got the {kind} {given!r}: write {str(given)!r}"
    return ""


def _reason(error: Any) -> str:
    """Return the message on a violation of the schema, with a remedy, but without the place."""
    if unknown := _unknown_keys(error):
        keys = list(error.schema.get("properties", {}))
        return " ".join(
            f"unknown key {key!r}{suggestion(key, keys)} Allowed: {', '.join(keys)}."
            for key in unknown
        )
    given, allowed = error.instance, error.validator_value
    if error.validator == "required":
        # jsonschema reports each missing key as an error, but only the error's message names the
        # key.
        missing = next(key for key in allowed if error.message.startswith(repr(key)))
        expected = "" if error.absolute_path else _expectation(error, ": ")
        return f"missing key {missing!r}{expected}"
    if error.validator == "not":
        return "does not belong here" + _expectation(error, ": it ")
    if error.validator == "minProperties":
        return f"must have at least {allowed} keys; got {len(given)}"
    if error.validator == "pattern" and allowed in _TEXTS:
        return _TEXTS[allowed].format(given)
    if error.validator == "minItems":
        least = "" if error.schema.get("maxItems") == allowed else "at least "
        entries = "entry" if allowed == 1 else "entries"
        return f"must have {least}{allowed} {entries}; got {len(given) or 'an empty list'}"
    if error.validator == "type" and given is None:
        return NOTHING
    if error.validator == "type" and allowed == "array":
        return f"must be a list; got {given!r}: write it in brackets, [a, b, …]"
    if error.validator == "type" and allowed == "object":
        no_keys = f"must have keys; got {given!r}: write it as {{key: value, …}}"
        return no_keys + _expectation(error, ". Expected: ")
    if isinstance(given, bool) and allowed in ("number", "integer"):
        return "must be a number; YAML reads it as a truth value"
    if isinstance(given, bool):
        return _TRUTH
    if allowed in ("number", ["number", INFINITE]) and _means_a_number(given):
        return (
            f"must be a number; YAML reads {given} as a text: remove the quotes, or write it with "
            "a point and a sign, as in 1.0e-6"
        )
    if allowed == "integer" and isinstance(given, float) and given.is_integer():
        return f"must be a whole number; got {given}: write {int(given)}"
    if error.validator == "type" and isinstance(given, float) and not _is_finite(given):
        sign = "-" if given < 0 else ""
        return f"must be finite; got {sign}.inf: write a number, or put a text in quotes"
    if error.validator == "type" and isinstance(given, (int, float)) and "string" in allowed:
        # The user may have written 1.0 for the category 1: suggest 1, which matches 1 and 1.0 in
        # the data. A quoted "1.0" would match only the text 1.0.
        is_whole = isinstance(given, float) and given.is_integer()
        remedy = f"write {int(given)}; or, for that text alone, " if is_whole else ""
        quoted = f"must be a text; YAML reads it as the number {given}: {remedy}put it in quotes"
        return quoted + _expectation(error, ". Expected: ")
    return error.message + _expectation(error, ". Expected: ")


def _expectation(error: Any, before: str) -> str:
    """Return `before` plus the schema's description of the value; "" without a description."""
    text = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    return f"{before}{text}" if text else ""


def _means_a_number(value: object) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _place(path: Place, content: Any) -> str:
    """Return a place as text, such as ``columns.age.bounds``; entries of lists appear by name."""
    steps = []
    for step in path:
        content = content[step]
        name = content.get("name") if isinstance(content, Mapping) else None
        is_named = isinstance(step, int) and isinstance(name, str) and name
        steps.append(str(name if is_named else step))
    return ".".join(steps)
