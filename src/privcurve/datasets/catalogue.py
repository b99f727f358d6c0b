"""Find, read and check the YAML descriptions of datasets."""

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

# The folder of a user's own descriptions in the working folder; git ignores it.
LOCAL = "descriptions"

# The name of a dataset is also the name of a folder, a target of Snakemake and an argument of
# commands. So it is short, has only characters that are valid in all three places, and has no
# leading -, which marks an option of a command.
MOST_LETTERS = 100
NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{MOST_LETTERS - 1}}}")
NAMED = (
    f"A name must have only letters, digits, - and _ (at most {MOST_LETTERS}; no - at the start)"
)


# Placeholders for keys that dataset.schema.yaml requires. With them, a description that has only
# columns and label can be checked against the schema.
NO_FILES: dict[str, Any] = {
    "n_rows": 2,
    "files": {"train": {"local": "none"}},
    "parser": {"kind": "parquet"},
}


def folders() -> tuple[Path, ...]:
    """Return the folders of descriptions that exist, in the order in which they are searched.

    These are ``descriptions`` and ``resources/datasets`` in the working folder, then
    ``resources/datasets`` of the checkout and the descriptions in the wheel.
    """
    base, relative = Path.cwd(), Path("resources", "datasets")
    places = [base / LOCAL, base / relative, _CHECKOUT / relative, _PACKAGE / "descriptions"]
    return tuple(folder for folder in dict.fromkeys(places) if folder.is_dir())


def names() -> tuple[str, ...]:
    """Return the names of all described datasets, sorted."""
    return tuple(sorted({path.stem for folder in folders() for path in _list_files(folder)}))


def _list_files(folder: Path) -> list[Path]:
    """Return the YAML files in a folder, except files whose name is no valid name of a dataset."""
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
    """Return the YAML file of a dataset.

    Raises DatasetError if the dataset is unknown, or if a file of the user's own has the name of
    another dataset.
    """
    if not NAME.fullmatch(name):
        hint = suggestion(Path(name[:MOST_LETTERS]).stem, names())
        raise DatasetError(f"unknown dataset {name[:MOST_LETTERS]!r}{hint} {NAMED}.")
    paths = [path for folder in folders() if (path := folder / f"{name}{schema.ENDING}").is_file()]
    if not paths:
        raise DatasetError(_explain_unknown(name))
    if len(paths) > 1 and paths[0].parent == Path.cwd() / LOCAL:
        raise DatasetError(
            f"{paths[0]} and {paths[1]} describe datasets of the same name. Rename yours, such "
            f"as {LOCAL}/my-{name}.yaml."
        )
    return paths[0]


def _explain_unknown(name: str) -> str:
    """Return a message on an unknown dataset, with the names of the user's own datasets."""
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
    """Read one YAML file; an error names all faults, each with the key and the allowed values."""
    content = _load_content(path)
    if "based_on" not in content:
        return build(path.stem, path, content)
    name, base_path, base, variant = _merge_variant(path, content)
    return build(
        path.stem, path, variant, build(name, base_path, base), frozenset(content.get("files", ()))
    )


def _merge_variant(path: Path, content: dict[str, Any]) -> tuple[str, Path, dict[str, Any], Any]:
    """Merge a variant with its base; return the base's name, file and content, and the result.

    The variant is `content`: a description with the key ``based_on``, which names the base.
    """
    name = content["based_on"]
    base_path = find(name)
    base = _load_content(base_path)
    if "based_on" in base:
        raise DatasetError(
            f"{path}: based_on must name a dataset that is not itself based on another; got "
            f"{name}, which is based on {base['based_on']!r}. Name {base['based_on']!r}"
        )
    problems = Problems(path.stem)
    variant = merge_content(base, content, problems)
    problems.check()
    with _dataset_errors():
        schema.check(variant, SCHEMA, f"{path} (including keys from {name})")
    return name, base_path, base, variant


def public_facts(path: Path) -> dict[str, Any]:
    """Return the content of a description, with patterns of names expanded.

    The description may have only columns and label, like the file of a `Schema`. Raises
    DatasetError with all faults and their lines if the file is invalid.
    """
    content = content_of(path)
    if not content.keys() & {"based_on", "files", "parser", "n_rows"}:
        with _dataset_errors():
            schema.check({**NO_FILES, **content}, SCHEMA, str(path))
        return _write_out(path, content)
    content = _load_content(path)
    return _merge_variant(path, content)[3] if "based_on" in content else content


def content_of(path: Path) -> dict[str, Any]:
    """Read one YAML file and check only that it is a mapping."""
    with _dataset_errors():
        content = schema.read_yaml(path)
    if not isinstance(content, dict):
        raise DatasetError(
            f"{path} is not a description: it has no keys, such as columns and label"
        )
    return content


@contextmanager
def _dataset_errors() -> Iterator[None]:
    """Convert a SchemaError that the body of the `with` statement raises to a DatasetError."""
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
    """Read and check a YAML file, with a cache, because each variant reads the file of its base.

    `state` is the :func:`schema.file_state` of the file. It is a part of the key of the cache, so
    that a changed file is read again.
    """
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
