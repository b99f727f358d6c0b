"""The jobs of the rules: ``python -m privcurve.workflow.job <job> <arguments as JSON>``.

An expected error is one message and exit code 1. Imports that only some jobs need are late.

Rules call it by ``shell:``. With ``script:`` the study `quickstart` takes about as much CPU time,
but all of its 13 jobs run again when the script is newer than their files, as in a fresh checkout.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from privcurve import datasets
from privcurve.datasets import DatasetError
from privcurve.errors import ExpectedError
from privcurve.experiments import provenance
from privcurve.experiments import study as studies
from privcurve.experiments.curves import CODED
from privcurve.experiments.jobs import StudyJobs, find_job
from privcurve.experiments.study import StudyError
from privcurve.files import WriteError, replace_file, replace_text
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.stored import stored_frame

# When this process began: until here it has only computed, so CPU time is the time since then.
STARTED = time.perf_counter() - time.process_time()


def prepare(dataset: str) -> None:
    """Fetch, check and code a dataset; PRIVCURVE_DATA may name a mirror."""
    folder = CODED / dataset
    data = datasets.prepare(dataset, folder)
    n_test = 0 if data.y_test is None else len(data.y_test)
    parts = data.parts if isinstance(data, datasets.PartedDataset) else ()
    print(
        f"{data.name}: {data.n_rows} records"
        + (f" in {len(parts)} parts" if parts else "")
        + (f" and {n_test} for testing" if n_test else "")
        + f", {len(data.domain.n_bins)} columns coded in {data.domain.width} values, "
        + f"{data.n_clipped} values clipped to their bounds"
    )
    for note in datasets.data_notes(datasets.facts(folder)):
        print(f"warning: {note}")


def ready(study: str) -> None:
    """Check that a study can be trained on its coded datasets, before any training."""
    from privcurve.experiments import readiness

    loaded = studies.load(Path(study))
    lines, faults = [], []
    for name in loaded.datasets:
        data = datasets.read_coded(CODED / name)
        try:
            readiness.check(loaded, data)
        except ValueError as error:
            faults.append(f"{study}: {data.name}: {error}")
        lines.append(f"{data.name} {data.checksum}\n")
    if faults:
        raise StudyError("\n".join(faults))
    replace_text(CODED / "ready" / f"{loaded.name}.txt", "".join(lines))


def train(
    study: str, seed: int | str, seconds_per_job: float, dataset: str, part: str, file: str
) -> None:
    """Train a part of a study's curves on a dataset, and write their file."""
    from privcurve.experiments.work import work

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    loaded, base_seed = studies.load(Path(study)), seeds.resolve(seed)
    _check_coded(dataset, base_seed)
    job = find_job(loaded, dataset, part, base_seed, seconds_per_job)
    if job is None:
        raise _make_edit_error(study)
    work(job, STARTED, Path(file))


def output(
    study: str,
    output: str,
    options: Mapping[str, Any],
    seed: int | str,
    seconds_per_job: float,
    digest: str,
    others: Mapping[str, str] | None = None,
) -> None:
    """Make one output of a study: a table, a figure, or both.

    `others` are the files of other studies whose outputs it reads, by name.
    """
    from privcurve.outputs import record
    from privcurve.outputs.base import foreign_outputs, request_output
    from privcurve.outputs.registry import OUTPUTS
    from privcurve.workflow import reading

    path = Path(study)
    paths = {name: Path(other) for name, other in (others or {}).items()}
    plan = reading.read_one(path, seeds.resolve(seed), seconds_per_job, paths)
    request = request_output(OUTPUTS, plan.studies[path.stem], output, options, study)
    named = {name for name, _ in foreign_outputs(request.reads.outputs)}
    if not named <= plan.studies.keys() or plan.digest(request) != digest:
        raise _make_edit_error(study)
    context = plan.context(request)
    with provenance.watch() as trained:
        request.output.make(context)
    code = {learners: provenance.checksum(learners) for learners in trained}
    record.output_record(context).write(digest, complete=context.is_complete, code=code)


def audit(learner: str, dataset: str, seed: int | str, digest: str) -> None:
    """Audit one learner: search for a larger ε than it claims."""
    from privcurve.audit import run
    from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
    from privcurve.audit.pairs import Target, records
    from privcurve.learners import own
    from privcurve.outputs import record
    from privcurve.outputs.base import AUDITS

    claims = {**ATTACKS, **own.claims()}
    if learner not in claims:
        raise StudyError(run.no_attack_message(learner))
    data, base_seed = datasets.read(CODED / dataset), seeds.resolve(seed)
    seeds.check(base_seed, data.name, datasets.is_public(data.name, data.origin))
    target = Target(data.name, records(data.X, data.y, data.domain.n_bins))
    frame = run.run(claims[learner], target, base_seed, COMPARISONS)
    file = AUDITS / f"{learner}.csv"
    # Twelve digits: the last bits of an exponential differ between machines.
    replace_file(
        file, lambda path: stored_frame(frame).to_csv(path, index=False, float_format="%.12g")
    )
    code = {learner: provenance.checksum(learner)}
    record.audit_record(learner, data.name).write(digest, code=code)
    print(frame["verdict"].value_counts().to_string())


def contract(learner: str, digest: str) -> None:
    """Try the contract on a user's own learner, and store what it found."""
    from privcurve.audit import trial
    from privcurve.experiments import contracts
    from privcurve.learners import own

    if contracts.digest(learner) != digest:
        raise _make_edit_error(str(own.path_of(learner)))
    finding = trial.try_own(learner)
    contracts.write(learner, finding)
    print(f"{learner}: {finding.result}: {finding.why}")


def manifest(home: str, configuration: Mapping[str, Any], benchmarks: Sequence[str]) -> None:
    """Write what a run was made with and what it cost."""
    from privcurve.experiments import manifest
    from privcurve.workflow.plan import MANIFEST

    studies = _load_jobs(Path(home), configuration, configuration["studies"])
    content = manifest.manifest(configuration, studies, map(Path, benchmarks))
    replace_text(Path(MANIFEST), json.dumps(content, indent=1) + "\n")


def summary(home: str, configuration: Mapping[str, Any], cores: int) -> None:
    """Print how far each study is: runs done, failed and to do, and the time left."""
    from privcurve.experiments import summary

    studies, left_out = _load_begun(home, configuration)
    print(summary.table({name: summary.progress(study) for name, study in studies.items()}, cores))
    print(*left_out, sep="\n", end="\n" if left_out else "")


def stamp(home: str, configuration: Mapping[str, Any]) -> None:
    """Let stored runs whose code has changed count, if a sample of them has the same bits."""
    from privcurve.experiments.stamp import stamp

    studies, left_out = _load_begun(home, configuration)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    refused = stamp(studies, say)
    print(*left_out, sep="\n", end="\n" if left_out else "")
    if refused:
        raise StudyError(
            f"the runs of {', '.join(dict.fromkeys(refused))} may not be mixed with new ones. If "
            "their results are meant to change, raise the learner's version (CONTRIBUTING.md); or "
            "train them again: --config fresh=true"
        )
    if not lines:
        print("nothing to stamp: the present code has trained all stored runs of these studies")


def _load_begun(
    home: str, configuration: Mapping[str, Any]
) -> tuple[dict[str, StudyJobs], list[str]]:
    """Return the jobs of the configured studies and of those that were started by name.

    A study that can't be read has a line in place of its jobs.
    """
    from privcurve.experiments import jobs
    from privcurve.workflow import reading

    there = reading.study_files(configuration, Path(home))
    begun = [name for name in there if (jobs.CELLS / name).is_dir()]
    names, left_out = [], []
    for name in dict.fromkeys([*configuration["studies"], *begun]):
        try:
            if name in there:
                reading.read_study(there[name], Path(home))
        except (ValueError, DatasetError, OSError) as error:
            left_out.append(f"left out: {there[name]}: {error}")
        else:
            names.append(name)
    return _load_jobs(Path(home), configuration, names), left_out


def _load_jobs(
    home: Path, configuration: Mapping[str, Any], names: Sequence[str] | dict[str, None]
) -> dict[str, StudyJobs]:
    """Return the jobs of studies, by name; `home` is the folder of the workflow."""
    from privcurve.workflow.reading import study_files

    seed, seconds = seeds.resolve(configuration["seed"]), configuration["seconds_per_job"]
    paths = study_files(configuration, home)
    if gone := [name for name in names if name not in paths]:
        raise _make_edit_error(gone[0])
    loaded = {name: studies.load(paths[name]) for name in names}
    return {name: StudyJobs(study, seed, seconds) for name, study in loaded.items()}


def _make_edit_error(study: str) -> StudyError:
    """Return the error for a study file that was edited while the workflow ran."""
    return StudyError(
        f"{study} was changed after the workflow had read it; run the same command again. "
        "What is trained is kept."
    )


def _check_coded(name: str, seed: Seed) -> None:
    """Refuse a dataset that is not coded, and a public seed for private data."""
    notes = datasets.facts(CODED / name)
    if notes is None:
        # Raises if the dataset is coded but its description has changed.
        datasets.check_current(CODED / name)
        raise DatasetError(f"dataset {name!r} is not coded in {CODED / name}")
    seeds.check(seed, name, datasets.is_public(name, notes.get("origin", {})))


JOBS: Mapping[str, Callable[..., None]] = {
    job.__name__: job
    for job in (prepare, ready, train, output, audit, contract, manifest, summary, stamp)
}


def main(arguments: Sequence[str]) -> None:
    """Run the job that the arguments name, with its arguments as JSON."""
    what, terms = arguments
    run(partial(JOBS[what], **json.loads(terms)))


def run(work: Callable[[], None]) -> None:
    """Call a function; an expected error becomes one message and exit code 1."""
    try:
        work()
    except WriteError as error:
        sys.exit(f"error: {error} What is trained is kept.")
    except (ExpectedError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
