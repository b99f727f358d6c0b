"""What the steps share: arguments, the trainer of an arm, and how errors end a program."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.experiments.bundles import curves
from privcurve.numerals import count

if TYPE_CHECKING:
    from privcurve.datasets import Dataset, Domain
    from privcurve.experiments.jobs import Curve
    from privcurve.experiments.splits import Splitter
    from privcurve.experiments.study import StudyError
    from privcurve.experiments.train import Trainer
    from privcurve.privacy.seeds import Seed

# When this process began, or had written its last file of cells. Before this line it has done
# nothing but compute.
_last = time.perf_counter() - time.process_time()


def run(main: Callable[[], None]) -> None:
    """Run a step; an expected error becomes one message and exit code 1.

    Parameters
    ----------
    main : callable
    """
    from privcurve.datasets import DatasetError
    from privcurve.experiments.results import IncompleteError
    from privcurve.experiments.study import StudyError
    from privcurve.files import WriteError
    from privcurve.privacy.seeds import SeedError
    from privcurve.schema import SchemaError

    try:
        main()
    except WriteError as error:
        sys.exit(f"error: {error} What is trained is kept.")
    except (DatasetError, StudyError, SchemaError, SeedError, IncompleteError, OSError) as error:
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


def add_curve_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name an arm on a dataset, and what the workflow asks of it."""
    add_study_arguments(parser)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--arm", required=True, help="name of the arm in the study")
    parser.add_argument("--shards", type=count, required=True, help="how many it is cut into")


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

    found = arguments.configuration or schema.read_yaml(arguments.config / "config.yaml")
    assert isinstance(found, dict)
    return found


def curves_of_studies(folder: Path, configuration: dict[str, Any]) -> dict[str, list[Curve]]:
    """Return the jobs of each configured study, by its name."""
    from privcurve.experiments import study as studies
    from privcurve.privacy import seeds
    from privcurve.workflow.reading import studies_folder

    seed, seconds = seeds.resolve(configuration["seed"]), configuration["seconds_per_job"]
    below = studies_folder(configuration, folder)
    return {
        name: list(curves(studies.load(below / f"{name}.yaml"), seed, seconds))
        for name in configuration["studies"]
    }


def changed(path: Path) -> StudyError:
    """Return the error for a study file that was edited while the workflow ran."""
    from privcurve.experiments.study import StudyError

    return StudyError(
        f"{path} was changed after the workflow had read it; run the same command again. "
        "What is trained is kept."
    )


def curve(arguments: argparse.Namespace) -> Curve:
    """Return the curve that the command line names."""
    (found,) = curves_of_study(arguments, [(arguments.dataset, arguments.arm, arguments.shards)])
    return found


def curves_of_study(
    arguments: argparse.Namespace, named: Iterable[tuple[str, str, int]]
) -> list[Curve]:
    """Return curves of a study by dataset, arm and number of shards."""
    from privcurve.experiments import study as studies
    from privcurve.experiments.jobs import Curve

    study = studies.load(arguments.study)
    # A description would be checked against its schema, which takes a tenth of a second.
    about = cache(partial(_coded, seed=arguments.seed))
    found = []
    for dataset, arm, shards in named:
        if arm not in study.arms:
            raise changed(arguments.study)
        one = Curve(study, about(dataset), study.arms[arm], shards, arguments.seed)
        found.append(one)
    return found


@dataclass(frozen=True)
class _Coded:
    """Facts of coded data."""

    name: str
    domain: Domain
    n_rows: int
    n_test: int


def _coded(name: str, seed: Seed) -> _Coded:
    """Return what a curve needs to know of a coded dataset; refuse a seed that is not for it."""
    from privcurve import datasets
    from privcurve.experiments.jobs import CODED
    from privcurve.privacy import seeds

    found = datasets.facts(CODED / name)
    if found is None:
        # Where it is coded, its description was changed meanwhile.
        datasets.check_current(CODED / name)
        raise datasets.DatasetError(f"dataset {name!r} is not coded in {CODED / name}")
    seeds.check(seed, name, datasets.is_public(name, found.get("origin", {})))
    domain = datasets.Domain.from_dict(found["domain"])
    return _Coded(name, domain, found["n_rows"], found["n_test"])


def start() -> None:
    """Start the log of a job that trains, and import what every fit needs."""
    from privcurve.experiments.progress import start_log
    from privcurve.steps._lean import import_sklearn

    start_log()
    import_sklearn()


def train_shard(
    curve: Curve, shard: int, dataset: Dataset, splitter: Splitter | None = None
) -> None:
    """Train a shard and write its file."""
    from privcurve.experiments import results
    from privcurve.experiments.jobs import STORE
    from privcurve.experiments.train import Trainer

    trainer = Trainer(dataset, curve.arm, curve.seed, STORE, splitter)
    rows = trainer.run(curve.tasks(shard))
    results.write_cells(rows, curve.shard(shard), _facts(trainer, curve.shard_digest(shard)))
    report(trainer, curve.failures(shard))


def select_and_train(curve: Curve, dataset: Dataset, splitter: Splitter | None = None) -> None:
    """Select settings, train them afresh, and write both files."""
    from privcurve.experiments import refit, results
    from privcurve.experiments.jobs import STORE
    from privcurve.experiments.train import Trainer
    from privcurve.files import replace_file

    trainer = Trainer(dataset, curve.arm, curve.seed, STORE, splitter)
    selected, rows = refit.select_and_train(curve, trainer)
    replace_file(
        curve.selected, lambda path: selected.to_csv(path, index=False, float_format="%.17g")
    )
    results.write_cells(rows, curve.refit, _facts(trainer, curve.refit_digest))
    report(trainer, curve.failures())


def _facts(trainer: Trainer, digest: str) -> dict[str, Any]:
    """Return the facts of a file of cells, and the time since the one before: of its own job."""
    global _last
    before, _last = _last, time.perf_counter()
    return {**trainer.facts(digest), "job_seconds": round(_last - before, 3)}


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
    """Return how many attempts of a job have ended with failed cells."""
    return int(json.loads(failures.read_text())) if failures.exists() else 0
