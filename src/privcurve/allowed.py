"""Whether a JSON schema allows some content: quickly, and without a word why not.

A run reads a hundred files and finds nothing wrong with them; jsonschema takes a quarter of a
second to say so. What is not allowed here is put to it, which says why.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

Test = Callable[[Any], bool]


class UndecidedError(ValueError):
    """A word of a schema that is not known here, or content that is not decided here."""


def compiled(schema: Mapping[str, Any]) -> Test:
    """Give the test of a JSON schema (draft 2020-12).

    Parameters
    ----------
    schema : mapping

    Returns
    -------
    callable
        Given content as read from YAML or JSON. Where it does not decide, it raises UndecidedError.

    Raises
    ------
    UndecidedError
        If the schema has a word that is not known here.
    """
    return _Schemas(schema).test(schema)


class _Schemas:
    """The schemas within one."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._definitions = whole.get("$defs", {})
        self._made: dict[str, Test] = {}

    def test(self, schema: Any) -> Test:
        if isinstance(schema, bool):
            return lambda value: schema
        unknown = set(schema) - _SILENT - set(_WORDS)
        if unknown:
            raise UndecidedError(f"the word {min(unknown)!r} of a schema")
        tests = [_WORDS[word](self, schema) for word in schema if word in _WORDS]
        return tests[0] if len(tests) == 1 else _all(tests)

    def reference(self, schema: Mapping[str, Any]) -> Test:
        before, _, name = schema["$ref"].partition("#/$defs/")
        if before or name not in self._definitions:
            raise UndecidedError(f"the reference {schema['$ref']!r} of a schema")

        def test(value: Any) -> bool:
            # Made when it is asked for: a definition may refer to itself.
            if name not in self._made:
                self._made[name] = self.test(self._definitions[name])
            return self._made[name](value)

        return test


def _all(tests: list[Test]) -> Test:
    return lambda value: all(test(value) for test in tests)


# A word says nothing of values of another type than its own; true and false are no numbers.


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or value.is_integer())


_TYPES: Mapping[str, Test] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_whole,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _type(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    wanted = schema["type"]
    if isinstance(wanted, str):
        return _TYPES[wanted]
    tests = [_TYPES[name] for name in wanted]
    return lambda value: any(test(value) for test in tests)


def _one_of_values(values: list[Any]) -> Test:
    if any(isinstance(value, (list, dict)) for value in values):
        raise UndecidedError("a value of a schema that is a list or a mapping")
    return lambda value: any(
        value == one and isinstance(value, bool) == isinstance(one, bool) for one in values
    )


def _unique(value: Any) -> bool:
    if not isinstance(value, list):
        return True
    try:
        return len({(isinstance(one, bool), one) for one in value}) == len(value)
    except TypeError:
        raise UndecidedError("a list of lists or mappings that are to be unique") from None


def _number(holds: Callable[[Any, Any], bool], word: str) -> Callable[..., Test]:
    def make(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
        bound = schema[word]
        return lambda value: not _is_number(value) or holds(value, bound)

    return make


def _length(kind: type[Sized], holds: Callable[[int, int], bool], word: str) -> Callable[..., Test]:
    def make(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
        bound = schema[word]
        return lambda value: not isinstance(value, kind) or holds(len(value), bound)

    return make


def _pattern(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    search = re.compile(schema["pattern"]).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _required(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    names = schema["required"]
    return lambda value: not isinstance(value, dict) or all(name in value for name in names)


def _dependent(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    needed = schema["dependentRequired"]
    return lambda value: (
        not isinstance(value, dict)
        or all(name in value for key, names in needed.items() if key in value for name in names)
    )


def _properties(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    tests = {name: schemas.test(one) for name, one in schema["properties"].items()}
    return lambda value: (
        not isinstance(value, dict)
        or all(test(value[name]) for name, test in tests.items() if name in value)
    )


def _additional(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    known = schema.get("properties", {})
    test = schemas.test(schema["additionalProperties"])
    return lambda value: (
        not isinstance(value, dict)
        or all(test(one) for name, one in value.items() if name not in known)
    )


def _names(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    test = schemas.test(schema["propertyNames"])
    return lambda value: not isinstance(value, dict) or all(map(test, value))


def _items(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    test = schemas.test(schema["items"])
    return lambda value: not isinstance(value, list) or all(map(test, value))


def _not(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    test = schemas.test(schema["not"])
    return lambda value: not test(value)


def _if(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
    test = schemas.test(schema["if"])
    then, other = (schemas.test(schema.get(word, True)) for word in ("then", "else"))
    return lambda value: then(value) if test(value) else other(value)


def _combined(holds: Callable[[int, int], bool], word: str) -> Callable[..., Test]:
    def make(schemas: _Schemas, schema: Mapping[str, Any]) -> Test:
        tests = [schemas.test(one) for one in schema[word]]
        return lambda value: holds(sum(test(value) for test in tests), len(tests))

    return make


# Words that allow all, or are read with others.
_SILENT = {"$schema", "$defs", "title", "description", "then", "else"}

_WORDS: Mapping[str, Callable[[_Schemas, Mapping[str, Any]], Test]] = {
    "$ref": _Schemas.reference,
    "type": _type,
    "const": lambda schemas, schema: _one_of_values([schema["const"]]),
    "enum": lambda schemas, schema: _one_of_values(schema["enum"]),
    "minimum": _number(lambda value, bound: not value < bound, "minimum"),
    "maximum": _number(lambda value, bound: not value > bound, "maximum"),
    "exclusiveMinimum": _number(lambda value, bound: not value <= bound, "exclusiveMinimum"),
    "exclusiveMaximum": _number(lambda value, bound: not value >= bound, "exclusiveMaximum"),
    "minLength": _length(str, operator.ge, "minLength"),
    "minItems": _length(list, operator.ge, "minItems"),
    "maxItems": _length(list, operator.le, "maxItems"),
    "minProperties": _length(dict, operator.ge, "minProperties"),
    "maxProperties": _length(dict, operator.le, "maxProperties"),
    "uniqueItems": lambda schemas, schema: _unique if schema["uniqueItems"] else _all([]),
    "pattern": _pattern,
    "required": _required,
    "dependentRequired": _dependent,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "items": _items,
    "not": _not,
    "if": _if,
    "allOf": _combined(lambda n, of: n == of, "allOf"),
    "anyOf": _combined(lambda n, of: n > 0, "anyOf"),
    "oneOf": _combined(lambda n, of: n == 1, "oneOf"),
}
