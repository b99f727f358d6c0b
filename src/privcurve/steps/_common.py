"""What the steps share: arguments, and how errors end a program."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privcurve.datasets import Domain
    from privcurve.experiments.jobs import StudyJobs
    from privcurve.experiments.study import StudyError
    from privcurve.privacy.seeds import Seed


def run(main: Callable[[], None]) -> None:
    """Run a step; an expected error becomes one message and exit code 1."""
    from privcurve.datasets import DatasetError
    from privcurve.experiments.results import IncompleteError
    from privcurve.experiments.study import StudyError
    from privcurve.extras import MissingPackageError
    from privcurve.files import WriteError
    from privcurve.privacy.seeds import SeedError
    from privcurve.schema import SchemaError

    try:
        main()
    except WriteError as error:
        sys.exit(f"error: {error} What is trained is kept.")
    except (MissingPackageError, IncompleteError, OSError) as error:
        sys.exit(f"error: {error}")
    except (DatasetError, StudyError, SchemaError, SeedError) as error:
        sys.exit(f"error: {error}")


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a study, and what the workflow asks of a job."""
    parser.add_argument("--study", type=Path, required=True, help="study file")
    add_seed_argument(parser)
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")


def add_seed_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the base seed: of a secret one, where it is."""
    parser.add_argument(
        "--seed", type=_seed, required=True, help="base seed: a number, secret, or a file ….seed"
    )


def _seed(text: str) -> Seed:
    from privcurve.privacy import seeds

    try:
        return seeds.resolve(text)
    except seeds.SeedError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_configuration_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that tell what a whole run is asked for."""
    parser.add_argument(
        "--config", type=Path, default=Path("config"), help="folder of config.yaml and studies/"
    )
    parser.add_argument(
        "--configuration", type=json.loads, help="in JSON, in place of what config.yaml says"
    )


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the configuration of a run."""
    from privcurve import schema

    content = arguments.configuration or schema.read_yaml(arguments.config / "config.yaml")
    assert isinstance(content, dict)
    return content


def jobs_of_studies(folder: Path, configuration: dict[str, Any]) -> dict[str, StudyJobs]:
    """Return the jobs of each configured study, by its name."""
    from privcurve.experiments import study as studies
    from privcurve.experiments.jobs import StudyJobs
    from privcurve.privacy import seeds
    from privcurve.workflow.reading import studies_folder

    seed, seconds = seeds.resolve(configuration["seed"]), configuration["seconds_per_job"]
    below = studies_folder(configuration, folder)
    return {
        name: StudyJobs(studies.load(below / f"{name}.yaml"), seed, seconds)
        for name in configuration["studies"]
    }


def changed(path: Path) -> StudyError:
    """Return the error for a study file that was edited while the workflow ran."""
    from privcurve.experiments.study import StudyError

    return StudyError(
        f"{path} was changed after the workflow had read it; run the same command again. "
        "What is trained is kept."
    )


@dataclass(frozen=True)
class _Coded:
    """Facts of coded data."""

    name: str
    domain: Domain
    n_rows: int
    n_test: int


def coded(name: str, seed: Seed) -> _Coded:
    """Return what a curve needs to know of a coded dataset; refuse a seed that is not for it."""
    from privcurve import datasets
    from privcurve.experiments.curves import CODED
    from privcurve.privacy import seeds

    notes = datasets.facts(CODED / name)
    if notes is None:
        # Where it is coded, its description was changed meanwhile.
        datasets.check_current(CODED / name)
        raise datasets.DatasetError(f"dataset {name!r} is not coded in {CODED / name}")
    seeds.check(seed, name, datasets.is_public(name, notes.get("origin", {})))
    domain = datasets.Domain.from_dict(notes["domain"])
    return _Coded(name, domain, notes["n_rows"], notes["n_test"])
