"""Compute checksums of Python files, and find what the files import, without running them.

A checksum is computed from the syntax tree without docstrings, so that docstrings, comments and
layout do not change it.
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

from privcurve import papers
from privcurve.files import replace_text

PACKAGE = Path(__file__).parent
# The cache of the sources of this package: a file in the folder of compiled modules.
_KEPT = Path(cache_from_source(__file__)).with_suffix(".json")

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Source(NamedTuple):
    """The checksum of a file, and the dotted names of this package that the file imports.

    ``from a.b import c`` imports the names a, a.b and a.b.c, where c may be a module or an object.
    """

    checksum: str
    imports: tuple[str, ...]


def tree_of(path: Path) -> ast.Module:
    """Parse a file, and return its syntax tree without docstrings."""
    tree = ast.parse(path.read_bytes(), filename=str(path))
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def imported_paths(node: ast.AST, file: Path, top: Path) -> Iterator[Path]:
    """Yield the paths, without an extension, of the modules that an import statement may import.

    Each prefix of a dotted name gives a path, as the last part may name an object in a module.
    Absolute names begin at the folder `top`. If `node` is no import statement, there is no path.
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
    """Return the SHA-256, in hex, of a syntax tree without line numbers and empty fields.

    New versions of Python add fields to syntax trees, which are empty for older code: so the
    checksum is the same in all versions.
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
    names = {name for named in paths if (name := _name_of(named))}
    return Source(checksum_of(tree), tuple(sorted(names)))


def _name_of(path: Path) -> str:
    """Return the dotted name of the module at a path; "" for a path outside of this package."""
    for package, folder in _list_packages():
        if path.is_relative_to(folder):
            return ".".join((package, *path.relative_to(folder).parts))
    return ""


def _list_packages() -> list[tuple[str, Path]]:
    """Return pairs of package and folder, for the papers and for the rest of privcurve."""
    return [(papers.__name__, papers.FOLDER), (__package__, PACKAGE)]


def words_of(path: Path) -> set[str]:
    """Return all names and text constants in the code of a file, without docstrings."""
    fields = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.Constant: "value"}
    nodes = [node for node in ast.walk(tree_of(path)) if type(node) in fields]
    values = [getattr(node, fields[type(node)]) for node in nodes]
    return {value for value in values if isinstance(value, str)}


def reachable(
    modules: Iterable[str], files: Iterable[Path], follows: Callable[[str], bool]
) -> dict[str, str]:
    """Return the checksums of modules, and of all modules that they import directly or indirectly.

    The keys are dotted names. Only modules of this package and of papers are followed, also if the
    import is inside a function or only for type hints.

    Parameters
    ----------
    modules : iterable of str
        Dotted names.
    files : iterable of Path
        Files outside of this package, whose imports are followed, too. The result does not have the
        files themselves.
    follows : callable
        Called with the dotted name of an imported module; returns whether to follow the import.

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
        # Skip a name without a file: it belongs to an object in a module, and the list also has the
        # name of the module.
        if name not in checksums and (path := _path_of(name)) is not None:
            checksums[name], imports = _source_of(name, path)
            left += filter(follows, imports)
    _write_kept()
    return checksums


@cache
def _path_of(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is no such module."""
    package, folder = next(one for one in _list_packages() if f"{module}.".startswith(f"{one[0]}."))
    path = folder.joinpath(*module.split(".")[package.count(".") + 1 :])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _source_of(module: str, path: Path) -> Source:
    """Return the source of a module, from the cache unless the file has changed.

    Each job of a study needs the checksums of a hundred files, and to parse them takes 0.4 s.
    """
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    kept = _read_kept()
    if kept.get(module, ("",))[0] != sha:
        kept[module] = (sha, _read(path))
        _changed.add(module)
    return kept[module][1]


_changed: set[str] = set()


@cache
def _read_kept() -> dict[str, tuple[str, Source]]:
    """Return the sources in the cache by module, each with the SHA-256 of the module's file."""
    try:
        content = json.loads(_KEPT.read_text("utf-8"))
        if content["by"] != _own_sha256():
            return {}
        return {
            str(module): (str(sha), Source(str(checksum), tuple(map(str, imports))))
            for module, (sha, (checksum, imports)) in content["modules"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _write_kept() -> None:
    """Write all sources to the cache file if a file has changed and the folder is writable."""
    if _changed:
        _changed.clear()
        content = {"by": _own_sha256(), "modules": _read_kept()}
        with suppress(OSError):
            replace_text(_KEPT, json.dumps(content))


@cache
def _own_sha256() -> str:
    """Return the SHA-256 of sources.py; a cache from another version of this file is invalid."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@cache
def code_digest(folder: Path) -> str:
    """Return the SHA-256, in hex, of the Python code in a folder.

    Changes of comments, docstrings and layout do not change the digest: they must not cause a new
    audit, which takes minutes.
    """
    sums = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name, tree = path.relative_to(folder).as_posix(), tree_of(path)
        sums.update(f"{name}\n{ast.unparse(tree)}\n".encode())
    return sums.hexdigest()
