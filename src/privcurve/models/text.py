"""Read and write model files: canonical JSON with a checksum (the seal)."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NoReturn

from privcurve.files import replace_text
from privcurve.models.errors import ModelError

SEAL = "sha256"
# Objects and lists at a depth below BROKEN_LEVELS are written on several lines, and deeper ones on
# a single line.
BROKEN_LEVELS = 3


def seal_of(content: dict[str, Any]) -> str:
    """Return the seal of a document: the SHA-256, in hex, of its canonical form without the seal.

    The canonical form is JSON with sorted keys, without blanks, with escapes for all but ASCII, and
    with floats in the shortest form that gives the same bits.
    """
    unsealed = {key: value for key, value in content.items() if key != SEAL}
    text = json.dumps(
        unsealed, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a document with its seal (a checksum), atomically."""
    replace_text(path, _format_json({**content, SEAL: seal_of(content)}) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Read a document and check its seal (a checksum).

    Raises ModelError if the file can't be read, is not JSON, repeats a key, contains NaN, an
    infinite number or half a surrogate pair, or was changed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(
            f"{path} can't be read: {reason}. Give the path of a model.json."
        ) from None
    try:
        content = json.loads(
            text, object_pairs_hook=_make_object, parse_constant=_refuse, parse_float=_read_float
        )
        # JSON can have half of a surrogate pair, which cannot be written as UTF-8.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
        seal = seal_of(content) if isinstance(content, dict) else None
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"{path} is not a model's file, or only a part of one: {error}. Copy it again, or save "
            "the model again."
        ) from None
    if seal is None or SEAL not in content:
        raise ModelError(f"{path} is not a model's file: it has no {SEAL}. Give a model.json.")
    if content[SEAL] != seal:
        raise ModelError(
            f"{path} was changed after it was written: its {SEAL} does not match its content. "
            "Copy it again, or save the model again."
        )
    return content


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object from pairs; raise ValueError for a repeated key, which is ambiguous."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key occurs twice")
    return mapping


def _read_float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number of JSON")


def _format_json(value: Any, level: int = 0) -> str:
    """Write JSON for people: outer levels on several lines, inner levels on one line."""
    is_object = isinstance(value, dict)
    nested = is_object or (
        isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)
    )
    if level == BROKEN_LEVELS or not value or not nested:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = [_format_json(item, level + 1) for item in (value.values() if is_object else value)]
    if is_object:
        keys = [json.dumps(key, ensure_ascii=False) for key in value]
        inner = [f"{key}: {item}" for key, item in zip(keys, inner, strict=True)]
    blank = "\n" + " " * (level + 1)
    opening, closing = "{}" if is_object else "[]"
    return opening + blank + f",{blank}".join(inner) + blank[:-1] + closing
