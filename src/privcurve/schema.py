"""Check YAML content against a JSON schema, with messages that name the mend."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


class SchemaError(ValueError):
    """Content that its schema does not allow; one line a fault."""


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
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(yaml.safe_load(schema.read_text()))
    faults = [_fault(error) for error in validator.iter_errors(content)]
    if faults:
        raise SchemaError("\n".join(f"{where}: {fault}" for fault in sorted(faults)))


def _fault(error: Any) -> str:
    place = ".".join(str(part) for part in error.absolute_path)
    prefix = f"{place}: " if place else ""
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        hints = []
        for key in unknown:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            hints.append(f"unknown key {key!r}; {hint}")
        return prefix + "; ".join(hints)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return prefix + f"missing key {missing[0]!r}"
    if error.validator == "minItems":
        return prefix + "the list is empty"
    return prefix + error.message
