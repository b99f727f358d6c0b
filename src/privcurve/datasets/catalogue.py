"""Which datasets there are: the YAML descriptions, found and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets.description import Description, build
from privcurve.datasets.errors import DatasetError
from privcurve.schema import nearest

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
    return read_description(_find(name))


def _find(name: str) -> Path:
    for folder in folders():
        path = folder / f"{name}.yaml"
        if path.is_file():
            return path
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
    content = _checked(path)
    if "based_on" not in content:
        return build(path.stem, path, content)
    name = content["based_on"]
    base_path = _find(name)
    base = _checked(base_path)
    if "based_on" in base:
        raise DatasetError(
            f"{path}: based_on: {name} is itself based on {base['based_on']!r}; name that one"
        )
    rebinned = _rebinned(base, content, path)
    return build(path.stem, path, rebinned, build(name, base_path, base))


def _checked(path: Path) -> dict[str, Any]:
    try:
        content = schema.read_yaml(path)
        schema.check(content, _schema(), str(path))
    except schema.SchemaError as error:
        raise DatasetError(str(error)) from None
    assert isinstance(content, dict)
    return content


def _rebinned(base: dict[str, Any], changes: dict[str, Any], path: Path) -> dict[str, Any]:
    """Give the content of a description with other numbers of bins."""
    n_bins = changes["n_bins"]
    known = [column["name"] for column in base["columns"]]
    for name in n_bins:
        if name not in known:
            hint = nearest(name, known)
            raise DatasetError(f"{path}: n_bins: {changes['based_on']} has no {name!r}{hint}")
    columns = [
        {**column, "n_bins": n_bins[column["name"]]} if column["name"] in n_bins else column
        for column in base["columns"]
    ]
    return {**base, "title": changes["title"], "columns": columns}


def _schema() -> Path:
    for path in (_CHECKOUT / "workflow" / "schemas" / _SCHEMA, _PACKAGE / _SCHEMA):
        if path.is_file():
            return path
    raise DatasetError(f"this installation of privcurve lacks {_SCHEMA}; install it again")
