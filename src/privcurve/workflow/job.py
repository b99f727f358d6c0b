"""The commands that Snakemake's rules run. Users can type them, too, to repeat one job.

Jobs read config/config.yaml; --config replaces keys of it. An expected error is one message and
exit code 1.
"""

# Functions import modules that only some jobs need. Rules call this module by ``shell:``, not by
# ``script:``. With ``script:``, Snakemake would repeat all jobs after a fresh checkout, as the
# script would be newer than the files of the jobs.

from __future__ import annotations

import argparse
import inspect
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from privcurve import datasets
from privcurve.datasets import DatasetError
from privcurve.errors import ExpectedError
from privcurve.experiments import provenance
from privcurve.experiments import study as studies
from privcurve.experiments.curves import CODED
from privcurve.experiments.jobs import CELLS, StudyJobs, find_job
from privcurve.experiments.study import StudyError
from privcurve.files import WriteError, replace_file, replace_text
from privcurve.privacy import seeds
from privcurve.privacy.seeds import Seed
from privcurve.schema import suggestion
from privcurve.stored import stored_frame

if TYPE_CHECKING:
    from privcurve.outputs.base import OutputRequest
    from privcurve.workflow.plan import Plan

# Start time of this process: the present time minus the CPU time of the process. Until this line
# the process has hardly waited, so that its CPU time is about the time since its start.
STARTED = time.perf_counter() - time.process_time()


T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """The configuration of the run that a job belongs to, and the folder of the workflow."""

    configuration: Mapping[str, Any]
    home: Path

    def __getitem__(self, key: str) -> Any:
        """Return the configuration's value of a key; raise StudyError if the key is missing."""
        if key not in self.configuration:
            raise StudyError(f"configuration: {key!r} is missing: add --config {key}=…")
        return self.configuration[key]

    @property
    def seed(self) -> Seed:
        """The seed of the run, from the configuration."""
        return seeds.resolve(self["seed"])

    def file(self, study: str) -> Path:
        """Return the path of a study's file; raise StudyError if there is no such study."""
        from privcurve.workflow.reading import study_files

        return _pick("study", study, study_files(self.configuration, self.home))

    def plan(self, study: str = "") -> Plan:
        """Return the plan of `study` and of the studies whose outputs `study` reads.

        Without `study`, return the plan of all studies.
        """
        from privcurve.outputs.base import foreign_outputs
        from privcurve.workflow import reading

        if not study:
            return reading.read(self.configuration, self.home, decides=False)
        terms = self.file(study), self.seed, self["seconds_per_job"]
        requests = reading.read_one(*terms).study_outputs(study)
        names = {name for one in requests for name, _ in foreign_outputs(one.reads.outputs)}
        return reading.read_one(*terms, {name: self.file(name) for name in names})


def _pick(what: str, name: str, things: Mapping[str, T]) -> T:
    """Return `things[name]`; raise StudyError, suggesting the nearest name, if it is missing."""
    if name not in things:
        hint, names = suggestion(name, things), ", ".join(things)
        raise StudyError(f"there is no {what} {name!r}{hint} There are: {names}")
    return things[name]


def prepare(dataset: str) -> None:
    """Fetch, check and encode a dataset; PRIVCURVE_DATA may name a mirror of its raw files."""
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


def ready(run: Run, study: str) -> None:
    """Check that a study can be trained on its encoded datasets, before any training."""
    from privcurve.experiments import readiness

    path = run.file(study)
    loaded = studies.load(path)
    lines, faults = [], []
    for name in loaded.datasets:
        data = datasets.read_coded(CODED / name)
        try:
            readiness.check(loaded, data)
        except ValueError as error:
            faults.append(f"{path}: {data.name}: {error}")
        lines.append(f"{data.name} {data.checksum}\n")
    if faults:
        raise StudyError("\n".join(faults))
    replace_text(CODED / "ready" / f"{loaded.name}.txt", "".join(lines))


def train(run: Run, study: str, dataset: str, part: str) -> None:
    """Train the job called `part` of a study on a dataset, and write the job's file."""
    from privcurve.experiments.work import work

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    path, seed = run.file(study), run.seed
    _check_coded(dataset, seed)
    job = find_job(studies.load(path), dataset, part, seed, run["seconds_per_job"])
    if job is None:
        raise StudyError(
            f"{path}, or the configuration, was changed after the workflow had read it; run the "
            "same command again. Finished trainings are kept."
        )
    work(job, STARTED, fresh=bool(os.environ.get(provenance.FRESH)))


def output(run: Run, output: str, study: str = "") -> None:
    """Make one output (tables, figures or other files) of a study or of the whole run."""
    plan = run.plan(study)
    # The outputs of the whole run are the audit and the page; each may be None.
    listed = plan.study_outputs(study) if study else filter(None, (plan.audit, plan.leaderboard))
    requests = {one.key: one for one in listed}
    make(plan, _pick("output", output, requests))


def make(plan: Plan, request: OutputRequest) -> None:
    """Make an output of a plan, and write the output's record."""
    from privcurve.outputs import record

    context = plan.context(request)
    # The digest is computed before the output is made. So if a user edits an input meanwhile, the
    # record does not claim that the output was made from the edited input.
    digest = plan.digest(request)
    with provenance.watch() as trained:
        request.output.make(context)
    code = {learners: provenance.checksum(learners) for learners in trained}
    record.output_record(context).write(digest, complete=context.is_complete, code=code)


def audit(run: Run, learner: str, dataset: str) -> None:
    """Attack a learner, and write the largest ε that the attacks find for each claim."""
    from privcurve.audit import run as attack
    from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
    from privcurve.audit.pairs import Target, records
    from privcurve.learners import own
    from privcurve.outputs import record
    from privcurve.outputs.base import AUDITS

    claims = {**ATTACKS, **own.claims()}
    if learner not in claims:
        raise StudyError(attack.no_attack_message(learner))
    data, seed = datasets.read(CODED / dataset), run.seed
    seeds.check(seed, data.name, datasets.is_public(data.name, data.origin))
    digest = record.audit_digest(learner, data.name, seed)
    target = Target(data.name, records(data.X, data.y, data.domain.n_bins))
    frame = attack.run(claims[learner], target, seed, COMPARISONS)
    file = AUDITS / f"{learner}.csv"
    # Twelve digits are stored, as the last bits of exponentials differ between machines.
    replace_file(
        file, lambda path: stored_frame(frame).to_csv(path, index=False, float_format="%.12g")
    )
    code = {learner: provenance.checksum(learner)}
    record.audit_record(learner, data.name).write(digest, code=code)
    print(frame["verdict"].value_counts().to_string())


def contract(learner: str) -> None:
    """Check the contract of a user's own learner, and store the result."""
    from privcurve.audit import trial
    from privcurve.experiments import contracts

    digest = contracts.digest(learner)
    finding = trial.try_own(learner)
    contracts.write(learner, finding, digest)
    print(f"{learner}: {finding.result}: {finding.why}")


def manifest(run: Run) -> None:
    """Write the manifest of a run: versions, configuration and costs."""
    from privcurve.experiments import manifest
    from privcurve.workflow import plan, reading

    planned = run.plan()
    shown = {k: run[k] for k in sorted(run.configuration) if k not in reading.UNTOLD}
    jobs = {name: planned.jobs(name) for name in run["studies"]}
    content = manifest.manifest(shown, jobs, map(Path, planned.run_benchmarks))
    replace_text(Path(plan.MANIFEST), json.dumps(content, indent=1) + "\n")


def summary(run: Run, cores: str) -> None:
    """Print the progress of each study: runs done, failed and to do, and the remaining time."""
    from privcurve.experiments import summary

    begun, left_out = _list_begun(run)
    progress = {name: summary.progress(study) for name, study in begun.items()}
    print(summary.table(progress, int(cores)), *left_out, sep="\n")


def stamp(run: Run) -> None:
    """Accept stored runs of changed code if a retrained sample has the same bits."""
    from privcurve.experiments.stamp import stamp

    begun, left_out = _list_begun(run)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    refused = stamp(begun, say)
    for line in left_out:
        print(line)
    if refused:
        raise StudyError(
            f"the runs of {', '.join(dict.fromkeys(refused))} may not be mixed with new ones. If "
            "their results are meant to change, raise the learner's version (CONTRIBUTING.md); or "
            "train them again: --config fresh=true"
        )
    if not lines:
        print("nothing to stamp: the present code has trained all stored runs of these studies")


def prune(run: Run) -> None:
    """Remove and list files in results/cells that no job of their study writes any longer."""
    begun, left_out = _list_begun(run)
    n_files = n_bytes = 0
    for name, study in begun.items():
        wanted = {job.file for job in study.jobs.values()}
        # Names of files that jobs are writing begin with a dot; they are not removed.
        for path in sorted((CELLS / name).glob("*/[!.]*.parquet")):
            if path not in wanted:
                n_files, n_bytes = n_files + 1, n_bytes + path.stat().st_size
                path.unlink()
                print(path)
    kept = [path for path in sorted(CELLS.glob("*")) if path.name not in begun]
    for line in (*left_out, *(f"kept: {path}: no study of this run" for path in kept)):
        print(line)
    print(
        f"removed {n_files:,} files ({n_bytes / 1e6:.1f} MB); results/store keeps what is trained"
    )


def _list_begun(run: Run) -> tuple[dict[str, StudyJobs], list[str]]:
    """Return the jobs of each study that is configured or has files in results/cells.

    The second result has a message for each of these studies that cannot be read.
    """
    plan = run.plan()
    begun = [name for name in plan.files if (CELLS / name).is_dir()]
    names = dict.fromkeys([*run["studies"], *begun])
    left_out = [f"left out: {plan.broken[name]}" for name in names if name in plan.broken]
    return {name: plan.jobs(name) for name in names if name in plan.studies}, left_out


def _check_coded(name: str, seed: Seed) -> None:
    """Raise an error if a dataset is not encoded, or if it is private and the seed is public."""
    notes = datasets.facts(CODED / name)
    if notes is None:
        # If the description has changed since the encoding, this raises an error that says so.
        datasets.check_current(CODED / name)
        raise DatasetError(f"dataset {name!r} is not encoded in {CODED / name}")
    seeds.check(seed, name, datasets.is_public(name, notes.get("origin", {})))


JOBS = (prepare, ready, train, output, audit, contract, manifest, summary, stamp, prune)
# Help texts of the command-line options, which are the parameters of the jobs' functions.
OPTIONS = {
    "study": "name of the study",
    "dataset": "name of the dataset",
    "part": "name of the job's file in results/cells/<study>/<dataset>, without its ending",
    "output": "word or name of the output",
    "learner": "name of the learner",
    "cores": "how many jobs run at once",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the job that the command line names."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    commands = parser.add_subparsers(metavar="JOB", required=True)
    for job in JOBS:
        about = (job.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(job.__name__, help=about, description=about)
        command.set_defaults(job=job)
        for name, one in inspect.signature(job).parameters.items():
            if name in OPTIONS:
                command.add_argument(
                    f"--{name}", required=one.default is one.empty, help=OPTIONS[name]
                )
        changes = "keys of config/config.yaml that are different in this run"
        command.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE", help=changes)
        command.add_argument("--home", type=Path, help="folder of the workflow, if it is not found")
    given = vars(parser.parse_args(arguments))
    run(partial(_do, given.pop("job"), given.pop("config"), given.pop("home"), given))


def _do(job: Callable[..., None], words: list[str], home: Path | None, given: Any) -> None:
    from privcurve.workflow import reading

    configuration = reading.overridden(words)
    # `setdefault`, because environment variables from Snakemake override the configuration.
    os.environ.setdefault(provenance.FRESH, "1" if configuration.get("fresh") else "")
    if mirror := configuration.get("data_mirror"):
        os.environ.setdefault("PRIVCURVE_DATA", str(mirror))
    if "run" in inspect.signature(job).parameters:
        given["run"] = Run(configuration, home or reading.root())
    job(**{name: value for name, value in given.items() if value is not None})


def run(work: Callable[[], None]) -> None:
    """Call `work`; on an expected error, print its message and exit with code 1."""
    try:
        work()
    except (ExpectedError, OSError) as error:
        sys.exit(explain(error))


def explain(error: Exception) -> str:
    """Return the message of an expected error."""
    kept = " Finished trainings are kept." if isinstance(error, WriteError) else ""
    return f"error: {error}{kept}"


if __name__ == "__main__":
    main()
