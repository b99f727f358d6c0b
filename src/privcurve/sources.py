"""Python files as syntax trees: their checksums, and what they import.

Comments, docstrings and layout change no result, and no checksum. A file is never run for this.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple

from privcurve.files import replace_text

PACKAGE = Path(__file__).parent
# What is known of the package's files is kept beside their compiled forms.
_KEPT = Path(cache_from_source(__file__)).with_suffix(".json")

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """What is known of a file: a checksum of its tree, and the modules of this package it imports.

    `imports` are dotted names, of modules or of what is in them.
    """

    checksum: str
    imports: tuple[str, ...]


def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file without docstrings."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def imported_paths(node: ast.AST, file: Path, top: Path) -> Iterator[Path]:
    """Yield what an import in a file may name, as paths without ending: each part of a dotted name.

    Absolute names are looked up below the folder `top`.
    """
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [f"{module}.{alias.name}".strip(".") for alias in node.names]
        if node.level > len(file.parents):
            return
        if node.level:
            top = file.parents[node.level - 1]
    for name in names:
        parts = name.split(".")
        yield from (top.joinpath(*parts[:k]) for k in range(1, len(parts) + 1))


def checksum_of(tree: ast.Module) -> str:
    """Return a checksum of a syntax tree, without positions and empty fields.

    Empty fields are left out since each version of Python adds some.
    """
    words: list[str] = []
    left: list[Any] = [tree]
    while left:
        item = left.pop()
        if not isinstance(item, ast.AST):
            words.append(repr(item))
            continue
        words.append(type(item).__name__)
        for field in item._fields:
            value = getattr(item, field, None)
            if isinstance(value, list) and value:
                words.append(f"{field}:{len(value)}")
                left += value
            elif value is not None and not isinstance(value, list):
                words.append(field)
                left.append(value)
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _read(path: Path) -> Source:
    tree = tree_of(path)
    top = PACKAGE.parent
    paths = {named for node in ast.walk(tree) for named in imported_paths(node, path, top)}
    ours = [named.relative_to(top).parts for named in paths if named.is_relative_to(PACKAGE)]
    return Source(checksum_of(tree), tuple(sorted(map(".".join, ours))))


def words_of(path: Path) -> set[str]:
    """Return all names and texts in a file, without docstrings."""
    fields = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.Constant: "value"}
    nodes = [node for node in ast.walk(tree_of(path)) if type(node) in fields]
    values = [getattr(node, fields[type(node)]) for node in nodes]
    return {value for value in values if isinstance(value, str)}


def reachable(
    modules: Iterable[str], files: Iterable[Path], follows: Callable[[str], bool]
) -> dict[str, str]:
    """Return the checksums of modules of this package, and of all that they import, by name.

    Imports inside functions, and for types alone, count too.

    Parameters
    ----------
    modules : iterable of str
        Dotted names.
    files : iterable of Path
        Other files. They get no checksum, but what they import from this package does.
    follows : callable
        Whether an imported module counts, by its name.

    Raises
    ------
    ValueError
        If one of `modules` does not exist.
    """
    left = [*modules]
    if gone := [name for name in left if _path_of(name) is None]:
        raise ValueError(f"there is no module {gone[0]}")
    left += [name for path in files for name in _read(path).imports if follows(name)]
    checksums: dict[str, str] = {}
    while left:
        name = left.pop()
        # An import may name what is in a module.
        if name not in checksums and (path := _path_of(name)) is not None:
            checksums[name], imports = _source_of(name, path)
            left += filter(follows, imports)
    _write_kept()
    return checksums


@cache
def _path_of(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is no such module."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _source_of(module: str, path: Path) -> Source:
    """Return what is known of a module of this package, from the disk if it is there."""
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    kept = _read_kept()
    if kept.get(module, {}).get("sha256") != sha:
        source = _read(path)
        kept[module] = {"sha256": sha, **source._asdict()}
        _changed.add(module)
    return Source(kept[module]["checksum"], tuple(kept[module]["imports"]))


_changed: set[str] = set()


@cache
def _read_kept() -> dict[str, Any]:
    """Return what an earlier process has written of the package's files, by module."""
    try:
        content = json.loads(_KEPT.read_text("utf-8"))
        return dict(content["modules"]) if content["by"] == _own_sha256() else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _write_kept() -> None:
    """Write what was read of files that are new or have changed, if that folder can be written."""
    if _changed:
        _changed.clear()
        content = {"by": _own_sha256(), "modules": _read_kept()}
        with suppress(OSError):
            replace_text(_KEPT, json.dumps(content))


@cache
def _own_sha256() -> str:
    """Return a checksum of this file: what another version of it has written does not count."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
