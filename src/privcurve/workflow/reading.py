"""Read the plan of a run: configuration and study files, checked before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privcurve import schema
from privcurve.datasets import DatasetError
from privcurve.experiments import study as studies
from privcurve.experiments.study import Study, StudyError
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

# Key of the configuration.
STUDIES_FOLDER = "studies_folder"
SCHEMAS = "workflow/schemas"


def read(configuration: Mapping[str, Any], root: Path, *, decides: bool = True) -> Plan:
    """Read and check the configuration and all study files, before anything runs.

    `root` is the folder of the workflow. Only the process that `decides` makes a secret seed: nodes
    of a cluster would each make their own. A study that can't be read does not stop the others.
    Raises SchemaError, SeedError or StudyError if the configuration is not allowed, its seed can't
    be used, or it names a study that does not exist.
    """
    # Read again, as Snakemake silently keeps the last of repeated keys.
    written = Path(os.path.relpath(root / "config/config.yaml"))
    if written.exists():
        schema.read_yaml(written)
    schema.check(configuration, root / SCHEMAS / "config.schema.yaml", "configuration")
    paths = study_files(configuration, root)
    strays = {
        str(path): schema.explain_ending(path, folder)
        for folder in _study_folders(configuration, root)
        for path in schema.misnamed_files(folder)
    }
    unknown = [name for name in configuration["studies"] if name not in paths]
    if unknown:
        hint = schema.suggestion(unknown[0], paths)
        raise StudyError(
            f"configuration: there is no study {unknown[0]!r}{hint} There are: {', '.join(paths)}"
            + "".join(f". {fault}" for fault in strays.values())
        )
    seed = seeds.resolve(configuration["seed"], make=decides)
    studies_read: dict[str, Study] = {}
    broken: dict[str, str] = dict(strays)
    request: dict[str, list[OutputRequest]] = {}
    owners: dict[str, str] = dict.fromkeys(RULES, "the workflow itself")
    broken |= {
        name: _odd_name(path) for name, path in paths.items() if not FILE_NAME.fullmatch(name)
    }
    broken |= _doubles(_study_folders(configuration, root)[:-1], paths)
    # Configured studies first: they win if two studies claim the same name.
    for name in dict.fromkeys([*configuration["studies"], *paths]):
        if name in broken:
            continue
        where = str(paths[name])
        try:
            one = read_study(paths[name], root)
            _check_seed(one, seed)
            request[name] = outputs_of(one, where)
            _claim(owners, where, [name, *_claims_of(request[name])])
        except (ValueError, DatasetError, OSError) as error:
            broken[name] = str(error) if where in str(error) else f"{where}: {error}"
        else:
            studies_read[name] = one
    # A study that reads a broken study is broken too.
    n_found = 0
    while n_found != len(studies_read):
        n_found = len(studies_read)
        for name in list(studies_read):
            try:
                _check_other_studies(request[name], studies_read, broken, str(paths[name]))
            except StudyError as error:
                broken[name] = str(error)
                del studies_read[name]
    in_order = {name: studies_read[name] for name in paths if name in studies_read}
    return Plan(configuration, in_order, broken, paths, decides)


def _odd_name(path: Path) -> str:
    return f"{path}: a study's name is letters, digits, _ and -; rename the file"


def study_files(configuration: Mapping[str, Any], root: Path) -> dict[str, Path]:
    """Return the study files by name, in the order of names.

    Those of the configured folder and of papers of one's own; by default of ``config/studies``
    below `root` and of all papers. Of two of one name that of the folder counts, or that of a paper
    of one's own. Raises StudyError if there is no folder.
    """
    folders = _study_folders(configuration, root)
    paths = [path for folder in folders for path in folder.glob(f"*{schema.ENDING}")]
    return dict(sorted({path.stem: path for path in paths}.items()))


def _study_folders(configuration: Mapping[str, Any], root: Path) -> list[Path]:
    """Return the folders of study files, as seen from here; the last one counts most."""
    own = configuration.get(STUDIES_FOLDER)
    folder = Path(os.path.relpath(own or root / "config/studies"))
    if not folder.is_dir():
        raise StudyError(f"configuration: {STUDIES_FOLDER}: there is no folder {folder}")
    shipped = Path(os.path.relpath(root / PAPERS))
    papers = {PAPERS} - {shipped} if own else dict.fromkeys((shipped, PAPERS))
    return [*(path for one in papers for path in sorted(one.glob("*/studies"))), folder]


def _doubles(folders: Iterable[Path], chosen: Mapping[str, Path]) -> dict[str, str]:
    """Return a message for each chosen study of which two papers side by side have a file."""
    seen: dict[tuple[Path, str], Path] = {}
    messages = {}
    for path in (path for one in folders for path in sorted(one.glob(f"*{schema.ENDING}"))):
        other = seen.setdefault((path.parents[2], path.stem), path)
        if other != path == chosen[path.stem]:
            messages[path.stem] = f"{other} and {path} are two studies of one name; rename one"
    return messages


def read_one(
    path: Path, seed: Seed, seconds_per_job: float, others: Mapping[str, Path] | None = None
) -> Plan:
    """Return the plan of one study, and of `others` whose outputs it reads, for a job.

    Raises `SeedError` if a dataset is private and the seed is not secret.
    """
    one, others = studies.load(path), others or {}
    loaded = {one.name: one, **{name: studies.load(other) for name, other in others.items()}}
    for study in loaded.values():
        _check_seed(study, seed)
    configuration = {
        "studies": [one.name],
        "audit": False,
        "seed": seed if isinstance(seed, int) else str(seed.path),
        "seconds_per_job": seconds_per_job,
    }
    return Plan(configuration, loaded, files={one.name: path, **others}, decides=False)


def read_study(path: Path, root: Path) -> Study:
    """Read and check a study file, by the schema below `root`."""
    where, content = str(path), schema.read_yaml(path)
    schema.check(content, root / SCHEMAS / "study.schema.yaml", where)
    one = studies.from_mapping(content, path.stem, where)
    # Run for its errors; the notes are shown when the study is asked for.
    list(studies.notes(one, {name: description_of(name) for name in one.datasets}, where))
    return one


def _check_seed(study: Study, seed: Seed) -> None:
    for dataset in study.datasets:
        seeds.check(seed, dataset, description_of(dataset).public_benchmark)


def _claims_of(request: Iterable[OutputRequest]) -> list[str]:
    """Return the targets and the files of outputs."""
    return [text for one in request for text in (one.target, *map(str, one.files.all))]


def _claim(owners: dict[str, str], where: str, mine: Sequence[str]) -> None:
    """Claim names and files for a study; refuse those that are taken."""
    for place, text in enumerate(mine):
        if text in owners or text in mine[:place]:
            raise StudyError(
                f"{where}: {text!r} is already a target or a file of {owners.get(text, where)}; "
                "give this one another name"
            )
    owners.update(dict.fromkeys(mine, where))


def _check_other_studies(
    request: Iterable[OutputRequest],
    studies: Mapping[str, Study],
    broken: Mapping[str, str],
    where: str,
) -> None:
    """Check that the studies exist that outputs name, and the outputs that are read of others."""
    for one in request:
        for name in one.output.studies_named(one):
            if name not in studies and name not in broken:
                hint = schema.suggestion(name, studies)
                raise StudyError(
                    f"{where}: outputs: {one.output.word}: {one.paper} names a study {name!r} that "
                    f"is not there{hint}"
                )
    read = [(one, *names) for one in request for names in foreign_outputs(one.reads.outputs)]
    for one, name, word in read:
        key = "studies" if one.study.studies else f"outputs: {one.output.word}"
        place = f"{where}: {key}: {name}"
        if name in broken:
            raise StudyError(f"{place}: {broken[name]}")
        if name not in studies:
            hint = schema.suggestion(name, studies)
            raise StudyError(f"{where}: {key}: there is no study {name!r}{hint}")
        if studies[name].studies:
            raise StudyError(f"{place} puts tables of others together itself: name those")
        if word not in [given for given, _ in studies[name].outputs]:
            raise StudyError(f"{place} has no output {word}; add that to its outputs")
