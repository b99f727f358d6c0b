"""Read the configuration and all study files, and check them before anything runs."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets import DatasetError
from privcurve.experiments import study as studies
from privcurve.experiments.study import Study, StudyError
from privcurve.home import home
from privcurve.outputs.base import (
    FILE_NAME,
    PAPERS,
    OutputRequest,
    description_of,
    foreign_outputs,
)
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.workflow.plan import RULES, Plan, outputs_of

CONFIGURATION = Path("config/config.yaml")
# Keys of the configuration. Jobs of a single study depend only on the keys in OF_STUDY.
STUDIES_FOLDER = "studies_folder"
OF_STUDY = ("seed", "seconds_per_job", STUDIES_FOLDER)
# Keys of the configuration that are left out of the commands of jobs: Snakemake repeats a job if
# its command changes, but a change of these keys should repeat none. Checksums of raw files show
# whether another `data_mirror` has other data. Checksums of code show which runs `fresh` must train
# again.
UNTOLD = ("data_mirror", "fresh")
SCHEMAS = "workflow/schemas"
# Pattern of study files; hidden files, such as backups of editors, do not match.
STUDY_FILES = f"[!.]*{schema.ENDING}"


def read(
    configuration: Mapping[str, Any],
    root: Path,
    *,
    decides: bool = True,
    files: Iterable[str | Path] = (),
) -> Plan:
    """Read and check the configuration and all study files, and return the plan of the run.

    `root` is the folder of the workflow. `files` are the configuration's files, which are checked
    for repeated keys. If no secret seed exists yet, it is made only if `decides` is true, so that
    several nodes of a cluster do not each make one. Studies that cannot be read are in
    `Plan.broken`; they do not stop other studies.

    Raises SchemaError if the configuration is not allowed, and SeedError if its seed cannot be
    used.
    """
    # The files are read again to refuse repeated keys: Snakemake silently uses the last value.
    for file in files:
        schema.read_yaml(Path(os.path.relpath(file)))
    schema.check(configuration, root / SCHEMAS / "config.schema.yaml", "configuration")
    paths = study_files(configuration, root)
    strays = {
        str(path): schema.explain_ending(path, folder)
        for folder in _list_study_folders(configuration, root)
        for path in schema.misnamed_files(folder)
    }
    seed = seeds.resolve(configuration["seed"], make=decides)
    studies_read: dict[str, Study] = {}
    requests: dict[str, list[OutputRequest]] = {}
    owners: dict[str, str] = dict.fromkeys(RULES, "the workflow itself")
    # If a configured study has no file, a run without a target stops with this message; a run with
    # a target goes on.
    unknown = {
        name: f"configuration: there is no study {name!r}{schema.suggestion(name, paths)} "
        f"There are: {', '.join(paths)}" + "".join(f". {fault}" for fault in strays.values())
        for name in configuration["studies"]
        if name not in paths
    }
    broken = (
        strays
        | unknown
        | {
            name: f"{path}: a study's name is letters, digits, _ and -; rename the file"
            for name, path in paths.items()
            if not FILE_NAME.fullmatch(name)
        }
    )
    broken |= _find_doubles(_list_study_folders(configuration, root)[:-1], paths)
    # Configured studies come first: if two studies claim one name, the configured study gets it.
    for name in dict.fromkeys([*configuration["studies"], *paths]):
        if name in broken:
            continue
        where = str(paths[name])
        try:
            study = read_study(paths[name], root)
            _check_seed(study, seed)
            requests[name] = outputs_of(study, where)
            _claim_names(owners, where, [name, *_list_claims(requests[name])])
        except (ValueError, DatasetError, OSError) as error:
            broken[name] = str(error) if where in str(error) else f"{where}: {error}"
        else:
            studies_read[name] = study
    # A study that reads a broken study is broken, too. The loop ends when no further study breaks.
    n_left = 0
    while n_left != len(studies_read):
        n_left = len(studies_read)
        for name in list(studies_read):
            try:
                _check_other_studies(requests[name], studies_read, broken, str(paths[name]))
            except StudyError as error:
                broken[name] = str(error)
                del studies_read[name]
    in_order = {name: studies_read[name] for name in paths if name in studies_read}
    return Plan(configuration, in_order, broken, paths)


def root() -> Path:
    """Return the folder of the workflow.

    This is the working directory if it contains the workflow, else the installed workflow's folder.
    """
    return Path() if Path(SCHEMAS).is_dir() else home()


def configured() -> dict[str, Any]:
    """Return the content of config/config.yaml in the working directory.

    The result is empty if there is no such file, or if it is not a mapping: it may belong to
    another workflow, which imports this one as a module.
    """
    try:
        content = schema.read_yaml(CONFIGURATION)
    except (OSError, ValueError):
        content = None
    return dict(content) if isinstance(content, dict) else {}


def options(configuration: Mapping[str, object], folder: Path, keys: Iterable[str] = ()) -> str:
    """Return the command-line options that give a job this configuration.

    The options contain only values that differ from config/config.yaml, as the job reads this file
    itself (:func:`overridden`). `folder` is the workflow's folder; `keys` are the keys on which the
    job depends, by default all except `UNTOLD`.
    """
    written = configured()
    keys = keys or [key for key in {**written, **configuration} if key not in UNTOLD]
    chosen = {key: configuration.get(key) for key in keys}
    words = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in chosen.items()
        if value != written.get(key)
    ]
    elsewhere = [] if folder.resolve() == root().resolve() else ["--home", str(folder)]
    return shlex.join([*(("--config", *words) if words else ()), *elsewhere])


def overridden(words: Iterable[str]) -> dict[str, Any]:
    """Return the content of config/config.yaml, changed by `words` of the form ``key=value``.

    A value is YAML; the value null removes the key. Raises SchemaError if a value is not valid
    YAML.
    """
    pairs = (word.partition("=") for word in words)
    changes = {key: _read_value(text, f"--config {key}") for key, _, text in pairs}
    return {k: value for k, value in {**configured(), **changes}.items() if value is not None}


def _read_value(text: str, where: str) -> Any:
    try:
        return json.loads(text)  # JSON first, because YAML reads numbers such as 1e-09 as text
    except ValueError:
        return schema.parse_yaml(text, where)


def study_files(configuration: Mapping[str, object], root: Path) -> dict[str, Path]:
    """Return the paths of study files by study name, sorted by name.

    If the configuration names a folder of studies, the files are in this folder and in the user's
    own papers; otherwise they are in the folder ``config/studies`` of `root` and in all papers. If
    several files have the same name, a file in the folder of studies takes precedence over papers,
    and the user's own papers over shipped papers. Raises StudyError if the folder of studies does
    not exist.
    """
    folders = _list_study_folders(configuration, root)
    paths = [path for folder in folders for path in folder.glob(STUDY_FILES)]
    return dict(sorted({path.stem: path for path in paths}.items()))


def _list_study_folders(configuration: Mapping[str, Any], root: Path) -> list[Path]:
    """Return the relative paths of the folders with study files, lowest precedence first."""
    chosen = configuration.get(STUDIES_FOLDER)
    folder = Path(os.path.relpath(chosen or root / "config/studies"))
    if not folder.is_dir():
        raise StudyError(f"configuration: {STUDIES_FOLDER}: there is no folder {folder}")
    shipped = Path(os.path.relpath(root / PAPERS))
    papers = {PAPERS} - {shipped} if chosen else dict.fromkeys((shipped, PAPERS))
    return [*(path for top in papers for path in sorted(top.glob("*/studies"))), folder]


def _find_doubles(folders: Iterable[Path], chosen: Mapping[str, Path]) -> dict[str, str]:
    """Return a message for each study name that occurs in two papers of equal precedence.

    `folders` are the papers' folders of studies; `chosen` has the path that is used for each name.
    """
    seen: dict[tuple[Path, str], Path] = {}
    messages = {}
    for path in (path for folder in folders for path in sorted(folder.glob(STUDY_FILES))):
        other = seen.setdefault((path.parents[2], path.stem), path)
        if other != path == chosen[path.stem]:
            messages[path.stem] = f"{other} and {path} must not have the same name; rename one"
    return messages


def read_one(
    path: Path, seed: Seed, seconds_per_job: float, others: Mapping[str, Path] | None = None
) -> Plan:
    """Return the plan of a single study, which a job needs; this is much faster than :func:`read`.

    `others` are the files of studies whose outputs the study reads. Raises SeedError if a dataset
    is private but the seed is public.
    """
    files = {path.stem: path, **(others or {})}
    loaded = {name: studies.load(file) for name, file in files.items()}
    for study in loaded.values():
        _check_seed(study, seed)
    configuration = {
        "studies": [path.stem],
        "audit": False,
        "seed": seed if isinstance(seed, int) else str(seed.path),
        "seconds_per_job": seconds_per_job,
    }
    return Plan(configuration, loaded, files=files)


def read_study(path: Path, root: Path) -> Study:
    """Read a study file, and check it against the schema below `root` and against its datasets."""
    where, content = str(path), schema.read_yaml(path)
    schema.check(content, root / SCHEMAS / "study.schema.yaml", where)
    study = studies.from_mapping(content, path.stem, where)
    # `notes` also checks the study. Here only its errors matter; a run logs the notes.
    list(studies.notes(study, {name: description_of(name) for name in study.datasets}, where))
    return study


def _check_seed(study: Study, seed: Seed) -> None:
    for dataset in study.datasets:
        seeds.check(seed, dataset, description_of(dataset).public_benchmark)


def _list_claims(requests: Iterable[OutputRequest]) -> list[str]:
    """Return the names that only one study may have: the targets and the files of its outputs."""
    return [name for request in requests for name in (request.target, *map(str, request.files.all))]


def _claim_names(owners: dict[str, str], where: str, names: Sequence[str]) -> None:
    """Record in `owners` that the file `where` uses `names`; raise StudyError if one is taken."""
    for place, name in enumerate(names):
        if name in owners or name in names[:place]:
            raise StudyError(
                f"{where}: {name!r} is already a target or a file of {owners.get(name, where)}; "
                "choose another name"
            )
    owners.update(dict.fromkeys(names, where))


def _check_other_studies(
    requests: Iterable[OutputRequest],
    studies: Mapping[str, Study],
    broken: Mapping[str, str],
    where: str,
) -> None:
    """Raise StudyError if an output refers to a study or to an output that does not exist.

    `requests` are the outputs of the study in the file `where`.
    """
    for request in requests:
        for name in request.output.studies_named(request):
            if name not in studies and name not in broken:
                hint = schema.suggestion(name, studies)
                raise StudyError(
                    f"{where}: outputs: {request.output.word}: {request.paper} names a study "
                    f"{name!r} that does not exist{hint}"
                )
    read = [(r, *names) for r in requests for names in foreign_outputs(r.reads.outputs)]
    for request, name, word in read:
        key = "studies" if request.study.studies else f"outputs: {request.output.word}"
        place = f"{where}: {key}: {name}"
        if name in broken:
            raise StudyError(f"{place}: {broken[name]}")
        if name not in studies:
            hint = schema.suggestion(name, studies)
            raise StudyError(f"{where}: {key}: there is no study {name!r}{hint}")
        if studies[name].studies:
            raise StudyError(
                f"{place} combines tables of other studies: name these studies instead"
            )
        if word not in dict(studies[name].outputs):
            raise StudyError(f"{place} has no output {word}; add it to the outputs")
