"""A user's own learners: files ``learners/<name>.py`` of the folder where the run is started.

Such a file has

- ``ENTRY``, a :class:`~privcurve.learners.entry.LearnerEntry`: its `name` is the file's name
  without ``.py``, and its `path` is the name of the class;
- the class, a :class:`~privcurve.learners.base.CodedClassifier`;
- optionally ``contract()``, which returns the settings that the contract check tries (otherwise it
  tries the default hyperparameters);
- optionally ``claims()``, which returns the claims that the statistical audit tries to refute.

A larger learner is a folder ``learners/<name>``, like the learners of this project's papers. Its
``__init__.py`` has only ``ENTRY``, whose `path` names a file of the folder and a class
(``classifier:MyClassifier``); its ``audit.py`` has the two functions. A user's own paper,
``papers/<paper>``, may also have a folder ``learners``.

A file is executed when a study names the learner or the learners are listed, so it must be as
trusted as the code of the workflow. Names that begin with ``_`` or ``.`` are ignored (editors
create such files).
"""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from privcurve import own, papers
from privcurve.learners.entries import LEARNERS
from privcurve.learners.entry import LearnerEntry
from privcurve.privacy.ledger import CLAIMED

FOLDER = Path("learners")
PACKAGE = "privcurve.learners.yours"

# The folder with one file per learner: the result of the learner's contract check, which is one of
# the following texts.
CONTRACTS = Path("results/contracts")
KEPT, BROKEN, NOT_TRIED = "contract kept", "contract broken", "contract not tried"


def names() -> list[str]:
    """Return the names of a user's learners, in the folder ``learners`` and in the user's papers.

    Raises ValueError if a name is not an identifier, is not unique, or is a learner of privcurve.
    """
    files = _list_files()
    every = [name for name, _ in files]
    if odd := [path for name, path in files if not name.isidentifier()]:
        raise ValueError(
            f"{odd[0]}: a learner's name must have only letters, digits and _, as in studies; "
            "rename the file, or begin its name with _ if it is not a learner"
        )
    if taken := [path for name, path in files if name in LEARNERS]:
        raise ValueError(
            f"{taken[0]}: its name must differ from the names of this project's learners; "
            f"{_name_of(taken[0])!r} is one. Rename the file, and the name in its ENTRY"
        )
    if doubled := [path for name, path in files if every.count(name) > 1]:
        raise ValueError(
            f"{' and '.join(map(str, doubled[:2]))} must not have the same name; rename one"
        )
    return every


def _list_files() -> list[tuple[str, Path]]:
    """Return the name and the file of each of the user's own learners."""
    others = papers.list_others()
    folders = [FOLDER, *(folder / "learners" for folder in others)]
    paths = [
        path
        for folder in folders
        for path in (*folder.glob("[!_.]*.py"), *folder.glob("[!_.]*/__init__.py"))
    ]
    return sorted((_name_of(path), path) for path in paths)


def _name_of(path: Path) -> str:
    return path.parent.name if path.name == "__init__.py" else path.stem


def path_of(name: str) -> Path:
    """Return the file of a learner; for a learner in a folder, the folder's ``__init__.py``."""
    return dict(_list_files()).get(name, FOLDER / f"{name}.py")


def entry(name: str) -> LearnerEntry:
    """Return the entry of a user's own learner, with the absolute path of its class.

    Raises ValueError if the file's `ENTRY` or class is missing, or they do not fit each other.
    """
    module = _load_module(name)
    declared = getattr(module, "ENTRY", None)
    if not isinstance(declared, LearnerEntry) or declared.name != name:
        raise ValueError(f"{path_of(name)} must have an ENTRY, a LearnerEntry with name={name!r}")
    placed = declared.placed_in(module.__name__)
    where, _, attribute = placed.path.partition(":")
    kind = getattr(import_module(where), attribute, None)
    if not isinstance(kind, type):
        raise ValueError(
            f"{path_of(name)} must have a class {declared.path!r}, the path of its ENTRY"
        )
    if getattr(kind, "_learner", None) != name:
        # If the class had the name of another learner, that learner's entry would apply to it, and
        # might allow it to read records that are not sealed.
        raise ValueError(f"{path_of(name)}: {declared.path} needs _learner = {name!r}")
    defaults = _find_defaults(kind)
    for key, parameter in declared.parameters.items():
        if key not in defaults or defaults[key] != parameter.default:
            # With other defaults, a study would report hyperparameters that it did not train with.
            raise ValueError(
                f"{path_of(name)}: {declared.path} needs a field {key} with the default "
                f"{parameter.default!r}, as its ENTRY says"
            )
    # Only learners of this project may have a proof, or read records that are not sealed.
    return replace(placed, proof=None, sees_open={})


def version(name: str) -> int:
    """Return the version for the ids of a learner's runs: its entry's version and a checksum.

    The checksum is of the learner's file and of the user's files that it imports. The version alone
    is not enough, because no golden test reminds a user to raise it.
    """
    return _compute_version(path_of(name).resolve(), entry(name).version)


def claims() -> dict[str, tuple[Any, ...]]:
    """Return the claims for the statistical audit, by learner; leave out learners without any."""
    modules = {name: load_audit(name) for name in names()}
    return {name: tuple(m.claims()) for name, m in modules.items() if hasattr(m, "claims")}


def contract(name: str) -> Any:
    """Return the settings that ``contract()`` lists; None if the learner has no such function."""
    of_module = getattr(load_audit(name), "contract", None)
    return None if of_module is None else of_module()


def is_own(kind: type) -> bool:
    """Return whether a class belongs to a user's own learner."""
    return kind.__module__.startswith(f"{PACKAGE}.")


def contract_file(name: str) -> Path:
    """Return the file with the result of a learner's contract."""
    return CONTRACTS / f"{name}.json"


def tried(name: str) -> str:
    """Return the result of the contract check: `KEPT`, `BROKEN`, or `NOT_TRIED`.

    It is `NOT_TRIED` if the learner's file has changed since the check. Studies and
    ``python -m privcurve.audit contract`` (:mod:`privcurve.audit.trial`) run the check.
    """
    return _read_finding(name, "result", NOT_TRIED)


def status(name: str) -> str:
    """Return the status that the contract check found for a learner's statements.

    It is ``claimed`` if the file has not been checked since its last change.
    """
    return _read_finding(name, "status", CLAIMED)


def _read_finding(name: str, key: str, default: str) -> str:
    try:
        content = json.loads(contract_file(name).read_text("utf-8"))
        is_of_file = content["version"] == version(name)
        return str(content[key]) if is_of_file else default
    except (OSError, ValueError, TypeError, KeyError):
        return default


@cache
def _find_defaults(kind: type) -> dict[str, Any]:
    """Return the default of each parameter of a class; cached, as `inspect` is slow."""
    return {name: field.default for name, field in inspect.signature(kind).parameters.items()}


@cache
def _compute_version(path: Path, stated: int) -> int:
    return stated * 2**32 + own.checksum(path)


def _load_module(name: str) -> ModuleType:
    path = path_of(name)
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    package = PACKAGE if folder == FOLDER else f"{PACKAGE}.{folder.parent.name}.learners"
    return own.module(path.resolve(), package)


def load_audit(name: str) -> ModuleType:
    """Import the module with a learner's functions for the audit: see `audit_of`."""
    return audit_of(_load_module(name))


def audit_of(module: ModuleType) -> ModuleType:
    """Return the module with a learner's audit functions.

    It is the learner's own module; for a learner in a folder, the folder's ``audit.py``.
    """
    is_folder = hasattr(module, "__path__") and find_spec(f"{module.__name__}.audit") is not None
    return import_module(f"{module.__name__}.audit") if is_folder else module
