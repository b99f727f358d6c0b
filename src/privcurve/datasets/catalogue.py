"""Which datasets there are: the YAML descriptions, found and checked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from privcurve.datasets.description import Description, build
from privcurve.datasets.errors import DatasetError, nearest

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[2]
_SCHEMA = "dataset.schema.yaml"


def folders() -> tuple[Path, ...]:
    """Where descriptions are looked for: working directory, checkout, installed wheel."""
    relative = Path("resources", "datasets")
    candidates = [Path.cwd() / relative, _CHECKOUT / relative, _PACKAGE / "descriptions"]
    return tuple(folder for folder in dict.fromkeys(candidates) if folder.is_dir())


def names() -> tuple[str, ...]:
    """Names of all datasets that are described somewhere, sorted."""
    found = {path.stem for folder in folders() for path in folder.glob("*.yaml")}
    return tuple(sorted(found))


def describe(name: str) -> Description:
    """Read and check a dataset's description.

    Parameters
    ----------
    name : str
        The name of the YAML file, without its ending.

    Returns
    -------
    Description

    Raises
    ------
    DatasetError
        If there is no such dataset, or its description is not valid.
    """
    for folder in folders():
        path = folder / f"{name}.yaml"
        if path.is_file():
            return read_description(path)
    raise DatasetError(
        f"unknown dataset {name!r}{nearest(name, names())} There are: {', '.join(names())}. "
        f"A dataset of your own needs a file resources/datasets/{name}.yaml."
    )


def read_description(path: Path) -> Description:
    """Read and check one YAML file.

    Raises
    ------
    DatasetError
        Naming the file, the key and what is allowed there.
    """
    content = _load_yaml(path)
    from jsonschema import Draft202012Validator

    errors = sorted(
        Draft202012Validator(_schema()).iter_errors(content), key=lambda e: len(e.absolute_path)
    )
    if errors:
        raise DatasetError(f"{path}: {_explain(errors[0], content)}")
    assert isinstance(content, dict)
    return build(path.stem, path, content)


@lru_cache
def _schema() -> dict[str, Any]:
    for path in (_CHECKOUT / "workflow" / "schemas" / _SCHEMA, _PACKAGE / _SCHEMA):
        if path.is_file():
            schema = _load_yaml(path)
            assert isinstance(schema, dict)
            return schema
    raise DatasetError(f"this installation of privcurve lacks {_SCHEMA}; install it again")


def _load_yaml(path: Path) -> object:
    import yaml

    # The compiled loader is ten times as fast, but not in every build of PyYAML.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), loader)
    except yaml.YAMLError as error:
        raise DatasetError(f"{path} is not valid YAML: {error}") from error


def _explain(error: Any, content: Any) -> str:
    """Say in one sentence what the schema objects to."""
    where = _place(list(error.absolute_path), content)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema["properties"])
        wrong = next(key for key in error.instance if key not in known)
        return (
            f"unknown key {wrong!r} {where}{nearest(str(wrong), known)} "
            f"Allowed: {', '.join(known)}."
        )
    if isinstance(error.instance, bool):
        return (
            f"{error.instance} {where}: YAML reads yes, no, on and off as truth values; "
            "put the word in quotes"
        )
    described = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    return f"{error.message} {where}" + (f". Expected: {described}" if described else "")


def _place(path: list[str | int], content: Any) -> str:
    """Name a place of the file; a column by its name rather than its position."""
    if not path:
        return "at the top level"
    steps = [str(step) for step in path]
    if path[0] == "columns" and len(path) > 1:
        entry = content["columns"][path[1]]
        if isinstance(entry, Mapping) and "name" in entry:
            steps[:2] = [f"columns: {entry['name']}"]
    return f"at {'.'.join(steps)}"
