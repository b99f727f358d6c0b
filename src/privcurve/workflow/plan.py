"""Plan a run: derive jobs, outputs, files and digests from the configuration and the studies.

This module does not train, and does not import Snakemake.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from privcurve.errors import ExpectedError
from privcurve.experiments import contracts
from privcurve.experiments import study as studies
from privcurve.experiments.curves import CODED, STORE
from privcurve.experiments.jobs import Job, StudyJobs
from privcurve.experiments.provenance import Stamps, Trained
from privcurve.experiments.study import Study, StudyError
from privcurve.learners import own
from privcurve.outputs import record
from privcurve.outputs.audit import audited_learners
from privcurve.outputs.base import (
    FIGURES,
    MADE,
    NAME_KEY,
    SLASH,
    TABLES,
    Context,
    Output,
    OutputRequest,
    description_of,
    foreign_outputs,
    request_output,
)
from privcurve.outputs.leaderboard import RUN_AUDIT, page_tables
from privcurve.outputs.learning_curves import LearningCurves
from privcurve.outputs.registry import OUTPUTS
from privcurve.privacy import seeds
from privcurve.privacy.seeds import SecretSeed, Seed
from privcurve.workflow import failures
from privcurve.workflow.other_code import OtherCode

# Names of the workflow's own rules and targets: no study and no output may have such a name.
# EVERYTHING are the targets that need all configured studies.
EVERYTHING = ("all", "manifest")
PAPERS = "papers"
AUDIT = "audit"
LEADERBOARD = "leaderboard"
OWN_RULES = (
    *EVERYTHING, PAPERS, "audit_learner", "try_contract", "summary", "stamp", "prune",
    "prepare", "datasets_ready", "train", "refused", "simulate_tables", "decoder",
)  # fmt: skip
RULES = (*OWN_RULES, AUDIT, LEADERBOARD)

# Kinds of jobs that by default run on Snakemake's machine rather than on nodes of a cluster: nodes
# may lack internet access to fetch data, and outputs take only seconds.
LOCAL_JOBS = ("data", "outputs")

MANIFEST = "results/manifest.json"
# Snakemake's wildcard. In the file paths of a rule for several outputs, it replaces the name in
# which the paths differ.
WILDCARD = "{name}"


class Kind(NamedTuple):
    """The outputs that one rule makes.

    These outputs have the same `Output.word`, and their paths differ only in a name.
    """

    output: Output
    files: tuple[str, ...]  # file paths; the name is `WILDCARD` if there are several outputs
    name: str  # `WILDCARD` or, if there is only one output, its name
    requests: Mapping[str, OutputRequest]  # the outputs, indexed by the name in their paths

    def request(self, wildcards: Mapping[str, str]) -> OutputRequest:
        """Return the output that Snakemake's wildcards belong to."""
        return self.requests[dict(wildcards.items()).get("name", self.name)]


@dataclass(frozen=True, eq=False)
class Plan:
    """All studies, jobs and outputs that a run can make, and which of them are current."""

    configuration: Mapping[str, Any]
    studies: Mapping[str, Study]  # all readable studies, also if they are not configured
    broken: Mapping[str, str] = field(default_factory=dict)  # why a study can't be read, by study
    files: Mapping[str, Path] = field(default_factory=dict)  # path of each study's file
    # Results of methods, cached. The keys of `_jobs` and `_requests` are names of studies, a key of
    # `_stale` is the first path of its files, and a key of `_digests` is the target of an output.
    _jobs: dict[str, StudyJobs] = field(init=False, default_factory=dict)
    _requests: dict[str, list[OutputRequest]] = field(init=False, default_factory=dict)
    _stale: dict[Path, bool] = field(init=False, default_factory=dict)
    _digests: dict[str, str] = field(init=False, default_factory=dict)

    @cached_property
    def seed(self) -> Seed:
        """The seed of the run, from the configuration."""
        return seeds.resolve(self.configuration["seed"])

    # Jobs

    def jobs(self, study: str) -> StudyJobs:
        """Return the jobs of a study."""
        if study not in self._jobs:
            per_job = self.configuration["seconds_per_job"]
            self._jobs[study] = StudyJobs(self.studies[study], self.seed, per_job, description_of)
        return self._jobs[study]

    def is_done(self, job: Job) -> bool:
        """Return whether a job's file is complete, so that the job need not run.

        If `is_fresh`, a job also runs again if other code has trained some of its runs.
        """
        return job.is_done and not (self.is_fresh and self.code.is_in(job.trained))

    @property
    def is_fresh(self) -> bool:
        """Whether the configuration requests that stored runs of other code are trained again."""
        # On a command line, `fresh=true` gives a text instead of a truth value.
        return self.configuration.get("fresh") in (True, "true")

    @cached_property
    def code(self) -> OtherCode:
        """Finds runs of other code, and writes messages about them."""
        return OtherCode(Stamps(STORE))

    def is_stale(self, files: Sequence[Path], is_current: Callable[[], bool]) -> bool:
        """Return whether some of `files` exist and differ from what this plan would make.

        `is_current` reads the files and returns whether they are as this plan would make them.
        Snakemake's own records do not suffice: they may be lost, and they do not notice changes of
        learners and descriptions or damaged files. The first result is cached, as the run may
        replace the files later.
        """
        if files[0] not in self._stale:
            try:
                stale = any(map(Path.exists, files)) and not is_current()
            # The job that makes the files will report the error.
            except (ExpectedError, ValueError, OSError):
                logging.getLogger(__name__).debug("made again", exc_info=True)
                stale = True
            self._stale[files[0]] = stale
        return self._stale[files[0]]

    def is_local(self, what: str) -> bool:
        """Return whether jobs of the kind `what` (see `LOCAL_JOBS`) run on Snakemake's machine."""
        return what in self.configuration.get("local_jobs", LOCAL_JOBS)

    def local_files(self, dataset: str) -> list[str]:
        """Return the paths of a dataset's raw files that the user provides, not the files to fetch.

        Raises StudyError if such a file is missing.
        """
        description = description_of(dataset)
        paths = [file.local for file in description.source_files() if file.local]
        for path in paths:
            if not Path(path).is_file():
                raise StudyError(f"dataset {dataset!r}: {description.explain_missing(path)}")
        return paths

    # Outputs

    @cached_property
    def outputs(self) -> Mapping[str, OutputRequest]:
        """All outputs by target: the outputs of studies, the audit and the page."""
        of_studies = itertools.chain(*map(self.study_outputs, self.studies))
        return {r.target: r for r in (*of_studies, self.audit, self.leaderboard) if r}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """All outputs, grouped by the rules that make them; keys are the names of the rules.

        The name of a rule is the `Output.word` of its outputs. One rule can make several outputs
        whose paths differ only in a name. If outputs with the same `word` need several rules, the
        names of further rules end with a number. The output of the entire run whose target is its
        `word`, such as ``audit``, has the rule ``audit`` for itself; outputs of studies with this
        `word` have the rule ``study_audit``.
        """
        groups: dict[tuple[str, bool, tuple[str, ...]], dict[str, OutputRequest]] = {}
        for request in self.outputs.values():
            (name, files), word = _split_files(request), request.output.word
            groups.setdefault((word, request.target != word, files), {})[name] = request
        kinds: dict[str, Kind] = {}
        names = {*self.outputs, *self.studies, *self.broken, *RULES}
        for word, others, files in sorted(groups, key=lambda one: (one[1], -len(groups[one]))):
            requests = groups[word, others, files]
            (name, first), *more = requests.items()
            base = f"study_{word}" if others and word in names else word
            numbered = itertools.chain([base], (f"{base}_{k}" for k in itertools.count(2)))
            rule = next(
                one for one in numbered if one not in kinds and (one == word or one not in names)
            )
            if not more:
                files = tuple(file.replace(WILDCARD, name) for file in files)
            kinds[rule] = Kind(first.output, files, WILDCARD if more else name, requests)
        return kinds

    def targets(self, words: Iterable[str]) -> dict[str, list[str]]:
        """Return the files of each target that `words` contain, and of each configured study.

        `words` are the words of Snakemake's command line. If another workflow imports this workflow
        as a module, targets in `words` may have a prefix. Targets that have a rule of their own are
        omitted.
        """
        files = {name: self.files_of([name]) for name in (*self.studies, *self.refusals)}
        files |= {name: [*map(str, one.files.all)] for name, one in self.outputs.items()}
        ends = tuple(f"_{word}" for word in (*words, *self.configuration["studies"]))
        wanted = [name for name in files if any(end.endswith(f"_{name}") for end in ends)]
        return {n: files[n] for n in wanted if n not in self.kinds and n not in OWN_RULES}

    def study_outputs(self, study: str) -> list[OutputRequest]:
        """Return the outputs of a study."""
        if study not in self._requests:
            where = str(self.files.get(study, study))
            self._requests[study] = outputs_of(self.studies[study], where)
        return self._requests[study]

    @cached_property
    def audit(self) -> OutputRequest | None:
        """The audit of all learners; None if the study of its dataset cannot be read.

        Canaries are inserted into the first dataset of the first configured study that has
        datasets.
        """
        first = self._audited
        if first not in self.studies:
            return None
        options = {NAME_KEY: AUDIT, "learners": audited_learners()}
        return request_output(OUTPUTS, self.studies[first], AUDIT, options, AUDIT)

    @cached_property
    def leaderboard(self) -> OutputRequest | None:
        """The page of the configured studies, with the audit if the configuration requests it.

        None if no study has the output ``accuracy``, or if the audit has no dataset.
        """
        tables = [
            f"{study}{SLASH}{word}"
            for study in self.configured_studies
            for word in page_tables(self.study_outputs(study))
        ]
        if self.audit is None or not tables:
            return None
        audits = [RUN_AUDIT] if self.configuration["audit"] else []
        options = {NAME_KEY: LEADERBOARD, "tables": [*tables, *audits]}
        return request_output(OUTPUTS, self.audit.study, LEADERBOARD, options, LEADERBOARD)

    @property
    def audited_dataset(self) -> str:
        """The dataset into which the audit inserts canaries."""
        if self.audit is None:
            raise StudyError(self.broken[self._audited])
        return self.audit.study.datasets[0]

    @property
    def _audited(self) -> str:
        """The configured study whose first dataset is audited.

        It is the first study that has datasets or that cannot be read, as an unreadable study might
        have datasets.
        """
        names: list[str] = self.configuration["studies"]
        for name in names:
            if name not in self.studies or self.studies[name].datasets:
                return name
        raise StudyError(
            f"configuration: studies: {', '.join(names)}: put tables together and train nothing; "
            "add a study with datasets"
        )

    def context(self, request: OutputRequest) -> Context:
        """Return what an output can read while it is made, with notes on runs of other code."""
        return replace(self._context(request), code_notes=self._code_notes(request))

    def _code_notes(self, request: OutputRequest) -> tuple[str, ...]:
        """Return notes on runs and audits of other code that an output reads.

        The notes also cover the runs and audits behind the other outputs that the output reads.
        """
        jobs: dict[str, Job] = {}
        audits: dict[str, Trained] = {}
        left = [request]
        for one in left:
            context = self._context(one)
            jobs |= {str(job.file): job for job in context.jobs.jobs_of(context.curves)}
            audits |= {learner: record.audited_code(learner) for learner in one.reads.audits}
            left += [other for other in context.others.values() if other not in left]
        return self.code.notes(jobs.values(), audits.values())

    def _context(self, request: OutputRequest) -> Context:
        requests = _index_by_name(self.study_outputs(request.study.name))
        for study, word in foreign_outputs(request.reads.outputs):
            requests[f"{study}{SLASH}{word}"] = _index_by_name(self.study_outputs(study))[word]
        if RUN_AUDIT in request.reads.outputs and self.audit is not None:
            requests[RUN_AUDIT] = self.audit
        others = {word: requests[word] for word in request.reads.outputs}
        return Context(request, self.jobs(request.study.name), others, self.seed)

    def digest(self, request: OutputRequest) -> str:
        """Return a digest of all that determines an output, except the data."""
        if request.target not in self._digests:
            context = self._context(request)
            others = {word: self.digest(other) for word, other in context.others.items()}
            audits = {name: record.auditor_digest(name) for name in request.reads.audits}
            tried = {name: contracts.digest(name) for name in request.study.own_learners}
            of_others = others, audits, tried
            self._digests[request.target] = record.digest(
                request, context.curves, *of_others, self.seed, request.output.facts(context)
            )
        return self._digests[request.target]

    def inputs(self, request: OutputRequest) -> list[str]:
        """Return the paths of all files that an output reads."""
        context = self._context(request)
        jobs = context.jobs.jobs_of(context.curves, grids=request.reads.grids)
        paths = [job.file for job in jobs]
        for dataset in request.reads.data:
            paths += [CODED / dataset / name for name in ("encoded.npz", "domain.json")]
        paths += context.inputs
        paths += map(own.contract_file, request.study.own_learners)
        paths += request.reads.resources
        return [str(path) for path in dict.fromkeys(paths)]

    def audit_is_current(self, learner: str) -> bool:
        """Return whether a learner's audit need not be made again.

        If true, its file exists, is unchanged, and is as this plan would make it.
        """
        made = record.audit_record(learner, self.audited_dataset)
        wanted = record.audit_digest(learner, self.audited_dataset, self.seed)
        is_current = made.is_current(wanted)
        return is_current and not (self.is_fresh and self.code.is_in(made.trained))

    def is_current(self, request: OutputRequest) -> bool:
        """Return whether an output need not be made again.

        If true, its files exist, are unchanged, and are as this plan would make them.
        """
        made = record.output_record(self.context(request))
        # If the output itself trains models, their code counts, too: these models are not in the
        # store, so that no note would report a change of their code.
        return made.is_current(self.digest(request)) and not self.code.is_in(made.trained)

    # Targets

    def notes(self, words: Sequence[str]) -> list[str]:
        """Return notes to log before a run.

        The notes are about a secret seed, studies that cannot be read, files that no study makes
        any longer, and the requested studies. `words` are the words of Snakemake's command line; if
        they name no target, the configured studies are requested.
        """
        parts = {part for word in words for part in Path(word).parts}
        names = parts & set(self.studies)
        names |= {
            request.study.name
            for request in self.outputs.values()
            if {request.target, *map(str, request.files.all)} & set(words)
        }
        names |= set(self.paper_studies if PAPERS in parts else ())
        is_audited = AUDIT in parts or (not names and self.configuration["audit"])
        names = names or set(self.configured_studies)
        notes = [note for name in self.studies if name in names for note in self._list_notes(name)]
        secret = [f"seed: {self.seed}"] if isinstance(self.seed, SecretSeed) else []
        left_out = [f"left out: {why}" for why in self.broken.values()]
        jobs = {name: self.jobs(name).jobs.values() for name in self.studies if name in names}
        audits = map(record.audited_code, audited_learners() if is_audited else ())
        code = self.code.lines(jobs, audits)
        return [*secret, *left_out, *self._name_leftovers(), *notes, *code]

    def _name_leftovers(self) -> Iterator[str]:
        """Yield a note if an earlier state of a study made files that no study makes now."""
        made = {path for request in self.outputs.values() for path in request.files.all}
        folders = {top / study for study in self.studies for top in (TABLES, FIGURES)}
        # Records of the workflow's own outputs (audit and page) are skipped, as these belong to no
        # study.
        paths = [path for path in sorted(MADE.glob("*.json")) if path.stem not in RULES]
        records = map(record.study_and_files, paths)
        recorded = [
            path
            for study, files in records
            for path in files
            if study in self.studies or path.parent in folders
        ]
        if stale := [path for path in recorded if path not in made and path.is_file()]:
            more = f" and {len(stale) - 1} more" if len(stale) > 1 else ""
            yield f"left over: {stale[0]}{more}: no study makes them now (see {MADE})"

    def _list_notes(self, name: str) -> list[str]:
        study = self.studies[name]
        descriptions = {dataset: description_of(dataset) for dataset in study.datasets}
        where = str(self.files.get(name, name))
        words = dict(study.outputs)
        unasked = (output.unasked(study) for word, output in OUTPUTS.items() if word not in words)
        more = [f"{where}: outputs: {note}" for note in unasked if note]
        prices, notes = studies.prices(study, where), studies.notes(study, descriptions, where)
        return [*study.skipped, *prices, *notes, *more]

    def remarks(self, since: float) -> list[str]:
        """Return remarks to print at the end of a run that began at the time `since` (seconds).

        The remarks are about failed trainings (:func:`failures.remarks`), and about stored runs of
        other code that the jobs of this run have used.
        """
        jobs = {name: study.jobs.values() for name, study in self._jobs.items()}
        late = {name: [j for j in jobs[name] if failures.ended_since(j, since)] for name in jobs}
        touched = {name: jobs[name] for name in jobs if late[name]}
        return [*failures.remarks(itertools.chain(*late.values())), *self.code.lines(touched)]

    def files_of(self, names: Iterable[str]) -> list[str]:
        """Return the paths of all outputs' files, for the studies in `names` that can be read."""
        requests = [self.study_outputs(name) for name in names if name in self.studies]
        return [str(path) for request in itertools.chain(*requests) for path in request.files.all]

    @property
    def paper_studies(self) -> list[str]:
        """The names of all studies that belong to a paper."""
        return [name for name, study in self.studies.items() if study.paper]

    @property
    def configured_studies(self) -> list[str]:
        """The names of the configured studies that can be read."""
        return [name for name in self.configuration["studies"] if name in self.studies]

    @property
    def run_outputs(self) -> list[OutputRequest]:
        """The outputs that ``snakemake`` makes without a target."""
        outputs = itertools.chain(*map(self.study_outputs, self.configured_studies))
        audit = self.audit if self.configuration["audit"] else None
        return [*outputs, *filter(None, (audit, self.leaderboard))]

    @property
    def run_benchmarks(self) -> list[str]:
        """The benchmark files that ``snakemake`` writes without a target, except for trainings."""
        studies = [self.studies[name] for name in self.configured_studies]
        prepared = sorted({dataset for study in studies for dataset in study.datasets})
        audits = audited_learners() if self.configuration["audit"] else []
        return [
            *(f"benchmarks/prepare/{dataset}.tsv" for dataset in prepared),
            *map(benchmark, self.run_outputs),
            *(f"benchmarks/audit_learner/{learner}.tsv" for learner in audits),
        ]

    @cached_property
    def refusals(self) -> Mapping[str, str]:
        """The targets that cannot be made, each with the reason.

        These targets are studies that cannot be read, targets that need such a study, and the page
        if it has nothing to show.
        """
        broken = [name for name in self.configuration["studies"] if name in self.broken]
        reasons = dict(self.broken)
        reasons |= dict.fromkeys(EVERYTHING, self.broken[broken[0]]) if broken else {}
        # A configured study without a file may belong to a paper that is not installed. Such a
        # study does not stop the target `papers`.
        configured = self.configuration["studies"]
        read = {
            one: why
            for one, why in self.broken.items()
            if one in self.files or one not in configured
        }
        if read:
            reasons[PAPERS] = next(iter(read.values()))
        if self.audit is None:
            reasons[AUDIT] = self.broken[self._audited]
        if self.leaderboard is None:
            reasons[LEADERBOARD] = (
                f"{LEADERBOARD}: no configured study has the output accuracy, which it shows: "
                f"{', '.join(self.configured_studies)}"
            )
        return reasons

    def refuse(self, study: str) -> None:
        """Raise StudyError if a study cannot be read or if a raw file of the user is missing."""
        if study in self.refusals:
            raise StudyError(self.refusals[study])
        for dataset in self.studies[study].datasets:
            self.local_files(dataset)


def benchmark(request: OutputRequest) -> str:
    """Return the path of Snakemake's benchmark file for an output."""
    return f"benchmarks/{request.output.word}/{_split_files(request)[0]}.tsv"


def _split_files(request: OutputRequest) -> tuple[str, tuple[str, ...]]:
    """Return a name in all file paths of an output, and the paths with `WILDCARD` in its place.

    Three names are tried in this order: the output's `place`, the path of its first figure, and the
    name of its study. The first name that all paths contain is used. If there is none, the result
    is the output's target and the unchanged paths.
    """
    top = TABLES.parent
    paths = [str(path.relative_to(top)) for path in request.files.all]
    figures = [str(path.relative_to(FIGURES)) for path in request.files.figures]
    for name in (str(request.place), *figures[:1], request.study.name):
        if all(name in path for path in paths):
            return name, tuple(f"{top}/{path.replace(name, WILDCARD, 1)}" for path in paths)
    return request.target, tuple(f"{top}/{path}" for path in paths)


def outputs_of(study: Study, where: str) -> list[OutputRequest]:
    """Return the checked outputs of a study.

    Raises StudyError if an output is unknown, cannot be made, occurs twice, or reads an output that
    the study lacks; or if a key of the study has no effect. `where` names the file in messages.
    """
    if idle := _explain_idle_word(study):
        raise StudyError(f"{where}: {idle}; leave it out.")
    outputs: dict[str, OutputRequest] = {}
    for word, options in study.outputs:
        request = request_output(OUTPUTS, study, word, options, where)
        if request.key in outputs:
            raise StudyError(
                f"{where}: outputs: {request.key} occurs twice; give each its own name."
            )
        outputs[request.key] = request
    names = _index_by_name(outputs.values())
    for request in outputs.values():
        lacking = [
            name for name in request.reads.outputs if SLASH not in name and name not in names
        ]
        if lacking:
            word = request.output.word
            raise StudyError(
                f"{where}: outputs: {word} is made from {lacking[0]}; add {lacking[0]}."
            )
    return list(outputs.values())


def _explain_idle_word(study: Study) -> str | None:
    """Return a message if a key of the study has no effect; else None."""
    word = LearningCurves.word
    curves = [options for name, options in study.outputs if name == word]
    if study.figure != study.name and all("name" in options for options in curves):
        return f"'figure' names the file of {word}, which are not under 'outputs' without a name"
    lone = all(len(method.settings) == 1 for method in study.methods.values())
    if study.finalists and lone and not study.skipped:
        return "'finalists' are a second round of selecting, but each learner has one setting"
    return None


def _index_by_name(requests: Iterable[OutputRequest]) -> dict[str, OutputRequest]:
    """Return a study's outputs by `OutputRequest.key`.

    The first output of each class is in the result under its `Output.word`, too.
    """
    named = {request.key: request for request in requests}
    return {request.output.word: request for request in reversed(named.values())} | named
