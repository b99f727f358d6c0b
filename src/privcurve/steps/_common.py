"""What the steps share: arguments, the trainer of an arm, and how errors end a program."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.experiments.jobs import curves
from privcurve.experiments.progress import start_log

if TYPE_CHECKING:
    from privcurve.experiments.jobs import Curve
    from privcurve.experiments.study import StudyError
    from privcurve.experiments.train import Trainer


def run(main: Callable[[], None]) -> None:
    """Run a step; an expected error becomes one message and exit code 1.

    Parameters
    ----------
    main : callable
    """
    from privcurve.datasets import DatasetError
    from privcurve.experiments.results import IncompleteError
    from privcurve.experiments.study import StudyError
    from privcurve.schema import SchemaError

    try:
        main()
    except (DatasetError, StudyError, SchemaError, IncompleteError, OSError) as error:
        sys.exit(f"error: {error}")


def add_curve_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name an arm on a dataset, and what the workflow asks of it."""
    parser.add_argument("--study", type=Path, required=True, help="study file")
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--arm", required=True, help="name of the arm in the study")
    parser.add_argument("--shards", type=int, required=True, help="how many it is cut into")
    parser.add_argument("--seed", type=int, required=True, help="base seed")
    parser.add_argument("--digest", required=True, help="of what the workflow asks for")


def add_configuration_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that tell what a whole run is asked for."""
    parser.add_argument(
        "--config", type=Path, default=Path("config"), help="folder of config.yaml and studies/"
    )
    parser.add_argument(
        "--configuration", type=json.loads, help="in JSON, in place of what config.yaml says"
    )


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the configuration of a run."""
    from privcurve import schema

    found = arguments.configuration or schema.read_yaml(arguments.config / "config.yaml")
    assert isinstance(found, dict)
    return found


def curves_of_studies(folder: Path, configuration: dict[str, Any]) -> dict[str, list[Curve]]:
    """Give the jobs of each configured study, by its name."""
    from privcurve.experiments import study as studies

    seed, seconds = configuration["seed"], configuration["seconds_per_job"]
    return {
        name: list(curves(studies.load(folder / "studies" / f"{name}.yaml"), seed, seconds))
        for name in configuration["studies"]
    }


def changed(path: Path) -> StudyError:
    """Give the error for a study file that was edited while the workflow ran."""
    from privcurve.experiments.study import StudyError

    return StudyError(
        f"{path} was changed after the workflow had read it; run snakemake again. "
        "What is trained is kept."
    )


def curve(arguments: argparse.Namespace) -> Curve:
    """Give the curve that the command line names."""
    from privcurve import datasets
    from privcurve.experiments import study as studies
    from privcurve.experiments.jobs import Curve

    study = studies.load(arguments.study)
    if arguments.arm not in study.arms:
        raise changed(arguments.study)
    about = datasets.describe(arguments.dataset)
    return Curve(study, about, study.arms[arguments.arm], arguments.shards, arguments.seed)


def trainer(curve: Curve) -> Trainer:
    """Give a trainer for a curve, and start the log."""
    from privcurve import datasets
    from privcurve.experiments import train
    from privcurve.experiments.jobs import STORE
    from privcurve.steps._lean import import_sklearn

    start_log()
    import_sklearn()
    return train.Trainer(datasets.read(curve.data), curve.arm, curve.seed, STORE)


def report(trainer: Trainer, failures: Path) -> None:
    """Say what was trained; count an attempt with failed cells, so that it is made again.

    The workflow passes the number of failed attempts as a parameter of the rule: a job
    with failures has other parameters the next time, and runs again.
    """
    print(
        f"trained {trainer.n_trained} cells, reused {trainer.n_reused}, failed {trainer.n_failed}"
    )
    if trainer.n_failed:
        from privcurve.files import replace_text

        replace_text(failures, json.dumps(failed_attempts(failures) + 1))


def failed_attempts(failures: Path) -> int:
    """Give how many attempts of a job have ended with failed cells."""
    return int(json.loads(failures.read_text())) if failures.exists() else 0
