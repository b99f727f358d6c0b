# Read the plan of the run, and define wildcards and functions for the rules. The plan
# (src/privcurve/workflow/plan.py) decides which files a run makes; this file passes them to
# Snakemake.
import os
import re
import time
import sys
from functools import partial
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# This must be the first import from the package, as it changes the order of sys.path.
from privcurve.workflow import snakemake as ours
from privcurve import datasets
from privcurve.experiments import contracts, provenance
from privcurve.experiments.curves import CODED
from privcurve.outputs.audit import auditable_learners
from privcurve.outputs.base import AUDITS
from privcurve.workflow.snakemake import grow_by_attempt

# The folder of this workflow, also if another Snakefile imports the workflow as a module.
HOME = ours.home_of(workflow.current_basedir)

# True in the two Snakefiles of this repository; false if a user's Snakefile imports the workflow as
# a module.
IS_OWN = Path(workflow.basedir) in (HOME, Path(HOME, "workflow"))
CONFIGURATION_NOTES = [] if IS_OWN else ours.add_overrides(config, workflow)

STARTED = time.time()

ours.check_folder()
ours.keep_one_timer()
ours.use_this_python()

if config.get("data_mirror"):
    os.environ.update(PRIVCURVE_DATA=str(config["data_mirror"]))

try:
    # These imports execute the files of a user's own outputs, which may raise errors.
    from privcurve.workflow import needs, plan, reading

    # The configuration of an importing workflow may have keys of its own, so its files are not
    # checked.
    files = workflow.configfiles if IS_OWN else HOME.glob("config/config.yaml")
    PLAN = reading.read(config, HOME, decides=workflow.is_main_process, files=files)
    os.environ[provenance.FRESH] = "1" if PLAN.is_fresh else ""
    if workflow.is_main_process:
        for note in (*CONFIGURATION_NOTES, *PLAN.notes(sys.argv[1:])):
            logger.warning(note)
        PLAN.code.adopt()
except (ValueError, datasets.DatasetError, OSError) as error:
    raise WorkflowError(str(error)) from None


MANIFEST = plan.MANIFEST
RUN_OUTPUTS = [str(path) for request in PLAN.run_outputs for path in request.files.all]

# Command-line options that give jobs the configuration values that differ from config/config.yaml.
OF_RUN = reading.options(config, HOME)
OF_STUDY = reading.options(config, HOME, reading.OF_STUDY)


wildcard_constraints:
    study="|".join(PLAN.studies),
    dataset=r"[A-Za-z0-9_-]+",
    part=r"[^/]+",


def job(wildcards):
    """Return the job that writes the file of these wildcards."""
    return PLAN.jobs(wildcards.study).jobs[f"{wildcards.dataset}/{wildcards.part}"]


def to_prepare(wildcards):
    """Return the memory and time that encoding a dataset needs."""
    return needs.preparing_needs(plan.description_of(wildcards.dataset))


def to_train(wildcards):
    """Return the memory and time that a training job needs."""
    return needs.training_needs(job(wildcards))


def remake(files, is_current):
    """Mark files as stale, so that Snakemake makes them again if it needs them (as `--forcerun`).

    Files are stale if they exist and `is_current` is false. Returns an empty list, as input
    functions call this one."""
    if workflow.is_main_process and PLAN.is_stale(files, is_current):
        workflow.dag.forcefiles.update(map(str, files))
    return []


def local_files(wildcards):
    """Return the raw files of a dataset that the user provides; raise an error, before any training,
    if one is missing."""
    ours.check_shared_files(workflow)
    folder = CODED / wildcards.dataset
    files = [folder / name for name in ("encoded.npz", "domain.json")]
    remake(files, partial(datasets.is_current, folder))
    try:
        return PLAN.local_files(wildcards.dataset)
    except ValueError as error:
        raise WorkflowError(str(error)) from None


def memory(needed):
    """Return a function for a rule's `mem_mb`; `needed` returns the `Needs` of wildcards."""
    return grow_by_attempt(lambda wildcards: needed(wildcards).memory)


def minutes(needed):
    """Return a function for a rule's `runtime`; `needed` returns the `Needs` of wildcards."""
    return grow_by_attempt(lambda wildcards: needed(wildcards).minutes)


def jobs_read(wildcards):
    """Return the files of earlier jobs that a job reads."""
    mine = job(wildcards)
    remake([mine.file], partial(PLAN.is_done, mine))
    return [str(one.file) for one in mine.reads]


def inputs(request):
    """Return the files that an output reads."""
    remake(request.files.all, partial(PLAN.is_current, request))
    return PLAN.inputs(request)


def options(request):
    """Return the command-line options of the job that makes an output."""
    word = f"--output {request.key}"
    if request.target in (plan.AUDIT, plan.LEADERBOARD):
        return f"{word} {OF_RUN}"
    return f"--study {request.study.name} {word} {OF_STUDY}"


def shown(kind):
    """Yield the files of a kind of output; mark Markdown tables and PNG figures for the report."""
    page = {"category": lambda wildcards: kind.request(wildcards).study.name}
    if kind.output.report_text:
        page["caption"] = str(kind.output.report_text)
    for path in kind.files:
        word = {".md": "table", ".png": "figure"}.get(os.path.splitext(path)[1])
        labels = lambda wildcards, word=word: {
            word: kind.request(wildcards).key.replace("_", " ")
        }
        yield report(path, labels=labels, **page) if word else path


def per_dataset(pattern):
    """Return an input function that fills `pattern` with each dataset of a study."""
    return lambda wildcards: [
        pattern.format(dataset=one) for one in PLAN.studies[wildcards.study].datasets
    ]
