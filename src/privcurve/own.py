"""Import Python files from outside the package: files of users, and files of papers."""

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
    """Import a file or a folder as a module of the package `package`, and return the module.

    The package has the modules of one folder, which may import each other (``from ._other import
    …``). The import runs the code of the file, which is trusted like the code of a Snakefile.

    Parameters
    ----------
    path : Path
        Absolute path of a file, or of the ``__init__.py`` of a folder. If the file changes after
        the import, a new process must import it.
    package : str
        Name of the package; it need not exist before.

    Raises
    ------
    ValueError
        If running the file raises an error.
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
            f"{path} can't be run: {type(error).__name__}: {error}. Correct it; until then, a name "
            "that begins with _ excludes it"
        ) from error
    return loaded


def files_of(path: Path) -> list[Path]:
    """Return the path of a file, and of all user files that it imports, directly or indirectly.

    If `path` is the ``__init__.py`` of a folder, the result has all files of the folder, too. User
    files are imported from the same folder (``from ._other import …``) or from the working folder
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
    """Return a checksum of a file and of the user files that it imports."""
    total = 0
    for file in files_of(path):
        total = zlib.crc32(file.read_bytes(), total)
    return total
