"""Which datasets there are: the YAML descriptions, found and checked."""

from __future__ import annotations

from copy import deepcopy
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets.build import build
from privcurve.datasets.description import Description
from privcurve.datasets.errors import DatasetError
from privcurve.datasets.problems import Problems
from privcurve.datasets.variants import merged, written_out
from privcurve.schema import nearest

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[2]
SCHEMA = _PACKAGE / "dataset.schema.yaml"

# Where a user's own descriptions are, in the working folder; git ignores it.
LOCAL = "descriptions"

# Keys below which a number is a word of the file.
_WORDS = ("categories", "groups", "classes", "positive", "negative")


def folders() -> tuple[Path, ...]:
    """Where descriptions are looked for: the user's own, working folder, checkout, wheel."""
    relative = Path("resources", "datasets")
    candidates = [
        Path.cwd() / LOCAL,
        Path.cwd() / relative,
        _CHECKOUT / relative,
        _PACKAGE / "descriptions",
    ]
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
    return read_description(find(name))


def find(name: str) -> Path:
    """Give the file that describes a dataset.

    Raises
    ------
    DatasetError
        If there is none, or if one of the user's own has the name of another.
    """
    found = [path for folder in folders() if (path := folder / f"{name}.yaml").is_file()]
    if not found:
        raise DatasetError(
            f"unknown dataset {name!r}{nearest(name, names())} There are: {', '.join(names())}. "
            f"A dataset of your own needs a file {LOCAL}/{name}.yaml in this folder, {Path.cwd()}: "
            f"privcurve describe drafts it."
        )
    if len(found) > 1 and found[0].parent == Path.cwd() / LOCAL:
        raise DatasetError(
            f"{found[0]} has the name of another dataset, {found[1]}: which one is meant? Give "
            f"yours a name of its own, such as {LOCAL}/my-{name}.yaml."
        )
    return found[0]


def read_description(path: Path) -> Description:
    """Read and check one YAML file.

    Raises
    ------
    DatasetError
        Naming the file, the key and what is allowed there; all that is wrong, not the first.
    """
    content = _checked(path)
    if "based_on" not in content:
        return build(path.stem, path, content)
    name = content["based_on"]
    base_path = find(name)
    base = _checked(base_path)
    if "based_on" in base:
        raise DatasetError(
            f"{path}: based_on: {name} is itself based on {base['based_on']!r}; name that one"
        )
    problems = Problems(path.stem)
    whole = merged(base, content, problems)
    problems.check()
    _check(whole, f"{path} (with what it takes from {name})")
    return build(
        path.stem, path, whole, build(name, base_path, base), frozenset(content.get("files", ()))
    )


def content_of(path: Path) -> dict[str, Any]:
    """Read one YAML file, and check nothing but that it is one of keys.

    Raises
    ------
    DatasetError
    """
    try:
        content = _dates_as_texts(schema.read_yaml(path, _WORDS))
    except schema.SchemaError as error:
        raise DatasetError(str(error)) from None
    if not isinstance(content, dict):
        raise DatasetError(f"{path} is no description: it has no keys, such as columns and label")
    return content


def _checked(path: Path) -> dict[str, Any]:
    content = deepcopy(_read(path, schema.state(path)))
    try:
        return written_out(content)
    except ValueError as error:
        raise DatasetError(f"{path}: {error}") from None


@lru_cache(maxsize=256)
def _read(path: Path, changed: tuple[int, ...]) -> Any:
    # Variants of a dataset read it again.
    content = content_of(path)
    try:
        _check(content, str(path))
    except DatasetError as error:
        if path.parent.name != LOCAL:
            raise
        hint = f"privcurve check {path.stem} names the lines, and what to do."
        raise DatasetError(f"{error}\n{hint}") from None
    return content


def _dates_as_texts(content: Any) -> Any:
    """Write dates, which YAML knows, as they stand in the file."""
    if isinstance(content, date):
        return content.isoformat()
    if isinstance(content, dict):
        return {_dates_as_texts(key): _dates_as_texts(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_dates_as_texts(entry) for entry in content]
    return content


def _check(content: Any, where: str) -> None:
    try:
        schema.check(content, SCHEMA, where)
    except schema.SchemaError as error:
        raise DatasetError(str(error)) from None
