"""Python files beside the package: a user's own, and those of the papers."""

from __future__ import annotations

import ast
import importlib.util
import sys
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType

from privcurve.sources import imported_paths


@cache
def module(path: Path, package: str) -> ModuleType:
    """Import a file, or a folder, as a module of a package that is made of the folder around it.

    Files of one folder may import each other (``from ._other import …``). What is imported is as
    trusted as a rule file.

    Parameters
    ----------
    path : Path
        Absolute, of a file, or of the ``__init__.py`` of a folder. A changed file needs a new
        process.
    package : str
        A name for the folder.

    Raises
    ------
    ValueError
        If the file can't be run.
    """
    is_folder = path.name == "__init__.py"
    named = path.parent if is_folder else path
    parent = sys.modules.setdefault(package, ModuleType(package))
    parent.__path__ = [str(named.parent)]
    name = f"{package}.{named.stem}"
    imported = sys.modules.get(name)
    if imported is not None and imported.__file__ == str(path):
        return imported
    within = [str(named)] if is_folder else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=within)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(
            f"{path} can't be run: {type(error).__name__}: {error}. Until it can, begin its name "
            "with _"
        ) from error
    return loaded


def files_of(path: Path) -> list[Path]:
    """Return a file that can be run, and those beside it that it imports, also through others.

    Of a folder, whose file is its ``__init__.py``, all files count. Those that are imported are
    below the file's folder (``from ._other import …``) or below the one where the run is started
    (``from learners._other import …``).
    """
    files = [path]
    if path.name == "__init__.py":
        files += sorted(file for file in path.parent.rglob("*.py") if file != path)
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes(), filename=str(file))):
            for module in imported_paths(node, file, Path.cwd()):
                others = (module.with_suffix(".py"), module / "__init__.py")
                files += [other for other in others if other.is_file() and other not in files]
    return files


def checksum(path: Path) -> int:
    """Return a checksum of a file and of those that it imports."""
    total = 0
    for file in files_of(path):
        total = zlib.crc32(file.read_bytes(), total)
    return total
