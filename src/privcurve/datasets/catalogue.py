"""Which datasets there are: the YAML descriptions, found and checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets.blanks import blanks
from privcurve.datasets.build import build
from privcurve.datasets.description import Description
from privcurve.datasets.errors import DatasetError, Problems, UndecidedError
from privcurve.datasets.variants import merge_content, write_out
from privcurve.files import display_path
from privcurve.schema import suggestion

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[2]
SCHEMA = _PACKAGE / "dataset.schema.yaml"

# The folder of a user's own descriptions, in the working folder; git ignores it.
LOCAL = "descriptions"

# Folders and targets have the names of datasets too. One that began with - would be an option of a
# command.
MOST_LETTERS = 100
NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{MOST_LETTERS - 1}}}")
NAMED = f"A name is of letters, digits, - and _ (at most {MOST_LETTERS}; the first no -)"


# Completes a schema of columns and label, which says nothing of files and records.
NO_FILES: dict[str, Any] = {
    "n_rows": 2,
    "files": {"train": {"local": "none"}},
    "parser": {"kind": "parquet"},
}


def folders() -> tuple[Path, ...]:
    """Return where descriptions are looked for: the user's own, working folder, checkout, wheel."""
    base, relative = Path.cwd(), Path("resources", "datasets")
    places = [base / LOCAL, base / relative, _CHECKOUT / relative, _PACKAGE / "descriptions"]
    return tuple(folder for folder in dict.fromkeys(places) if folder.is_dir())


def names() -> tuple[str, ...]:
    """Return the names of all datasets that are described somewhere, sorted."""
    return tuple(sorted({path.stem for folder in folders() for path in _list_files(folder)}))


def _list_files(folder: Path) -> list[Path]:
    """Return the descriptions in a folder, without folders, broken links and odd names."""
    paths = folder.glob(f"*{schema.ENDING}")
    return [path for path in paths if path.is_file() and NAME.fullmatch(path.stem)]


def describe(name: str) -> Description:
    """Read and check the description of a dataset, by the name of its YAML file.

    Raises
    ------
    DatasetError
        If there is no such dataset, or its description is not valid.
    """
    return description_of(find(name))


def find(name: str) -> Path:
    """Return the file that describes a dataset; two of one name are refused."""
    if not NAME.fullmatch(name):
        hint = suggestion(Path(name[:MOST_LETTERS]).stem, names())
        raise DatasetError(f"unknown dataset {name[:MOST_LETTERS]!r}{hint} {NAMED}.")
    paths = [path for folder in folders() if (path := folder / f"{name}{schema.ENDING}").is_file()]
    if not paths:
        raise DatasetError(_explain_unknown(name))
    if len(paths) > 1 and paths[0].parent == Path.cwd() / LOCAL:
        raise DatasetError(
            f"{paths[0]} has the name of another dataset, {paths[1]}: which one is meant? Give "
            f"yours a name of its own, such as {LOCAL}/my-{name}.yaml."
        )
    return paths[0]


def _explain_unknown(name: str) -> str:
    """Say what could have been meant: the user's own datasets, of which there are few."""
    folder = Path.cwd()
    message = f"unknown dataset {name!r}{suggestion(name, names())}"
    for stray in schema.misnamed_files(folder / LOCAL):
        if stray.stem == name:
            return f"{message} {schema.explain_ending(stray, folder / LOCAL)}."
    local = sorted(path.stem for path in _list_files(folder / LOCAL))
    n_others = len(set(names()) - set(local))
    listed = f" Your own: {', '.join(local)}." if local else ""
    listed += f" {n_others} others are in {folders()[-1]}." if n_others else ""
    return (
        f"{message}{listed} A dataset of your own needs a file {LOCAL}/{name}{schema.ENDING} in "
        f"this folder, {folder}: privcurve describe drafts it."
    )


def description_of(path: Path) -> Description:
    """Read one YAML file; tell all that is wrong with it, each with its key and what is allowed."""
    content = _load_content(path)
    if "based_on" not in content:
        return build(path.stem, path, content)
    name, base_path, base, variant = _merge_variant(path, content)
    return build(
        path.stem, path, variant, build(name, base_path, base), frozenset(content.get("files", ()))
    )


def _merge_variant(path: Path, content: dict[str, Any]) -> tuple[str, Path, dict[str, Any], Any]:
    """Return name, file and content of a variant's base, and the content of both merged."""
    name = content["based_on"]
    base_path = find(name)
    base = _load_content(base_path)
    if "based_on" in base:
        raise DatasetError(
            f"{path}: based_on: {name} is itself based on {base['based_on']!r}; name that one"
        )
    problems = Problems(path.stem)
    variant = merge_content(base, content, problems)
    problems.check()
    with _dataset_errors():
        schema.check(variant, SCHEMA, f"{path} (with what it takes from {name})")
    return name, base_path, base, variant


def public_facts(path: Path) -> dict[str, Any]:
    """Return what a description says, all columns written out; a file of columns and label will do.

    Raises DatasetError if it is not valid; each fault with its line.
    """
    content = content_of(path)
    if not content.keys() & {"based_on", "files", "parser", "n_rows"}:
        with _dataset_errors():
            schema.check({**NO_FILES, **content}, SCHEMA, str(path))
        return _write_out(path, content)
    content = _load_content(path)
    return _merge_variant(path, content)[3] if "based_on" in content else content


def content_of(path: Path) -> dict[str, Any]:
    """Read one YAML file, and check only that it is a mapping."""
    with _dataset_errors():
        content = schema.read_yaml(path)
    if not isinstance(content, dict):
        raise DatasetError(
            f"{path} is not a description: it has no keys, such as columns and label"
        )
    return content


@contextmanager
def _dataset_errors() -> Iterator[None]:
    """Turn a fault of YAML into a DatasetError."""
    try:
        yield
    except schema.SchemaError as error:
        raise DatasetError(str(error)) from None


def _load_content(path: Path) -> dict[str, Any]:
    return _write_out(path, deepcopy(_read(path, schema.file_state(path))))


def _write_out(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    try:
        return write_out(content)
    except ValueError as error:
        raise DatasetError(f"{path}: {error}") from None


@lru_cache(maxsize=256)
def _read(path: Path, state: tuple[int, ...]) -> Any:
    """Read and check a file once for each `state` of it: variants read their base again."""
    content = content_of(path)
    faults = schema.faults(content, SCHEMA)
    if faults:
        lines = schema.Lines(path)
        messages = sorted((lines.line_of(*fault.places[0]), fault.message) for fault in faults)
        parts = [f"{display_path(path)}: line {line}: {message}" for line, message in messages]
        undecided = blanks(content)
        if path.parent.name == LOCAL:
            parts.append(f"privcurve check {path.stem} says what to do.")
            if undecided:
                parts.append(f"privcurve decide {path.stem} asks for what is blank.")
        raise (UndecidedError if undecided else DatasetError)("\n".join(parts))
    return content
