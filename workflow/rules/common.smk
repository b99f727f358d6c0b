# The plan of the run, wildcards, and what rules take. What is asked for is said in
# src/privcurve/workflow/plan.py; this file puts Snakemake's names to it.
import json
import os
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from privcurve import datasets
from privcurve.workflow import needs, plan, reading, snakemake as insides
from privcurve.workflow.snakemake import growing

# Where this workflow is: `workflow.basedir` is that of who imports it as a module.
HOME = insides.home_of(workflow.current_basedir)

MANIFEST = plan.MANIFEST

STARTED = time.time()

insides.one_timer()
insides.report_what_is_there()
insides.same_python()

if config.get("data_mirror"):
    os.environ.update(PRIVCURVE_DATA=str(config["data_mirror"]))

try:
    PLAN = reading.read(config, HOME, make_seed=workflow.is_main_process)
except (ValueError, datasets.DatasetError, OSError) as error:
    raise WorkflowError(str(error)) from None


def check_targets(targets):
    """Refuse what can't be built; say what is left out."""
    try:
        PLAN.refuse(targets)
        notes = PLAN.notes(targets)
    except ValueError as error:
        raise WorkflowError(str(error)) from None
    for note in notes:
        logger.warning(note)


insides.before_dag(workflow, check_targets, lambda: PLAN.targets)

# Where raw files may be found is no parameter of a job: checksums tell what they are,
# so that another place is no reason to read them again.
OF_RUN = {
    "config": os.path.relpath(HOME / "config"),
    "configuration": {k: config[k] for k in sorted(config) if k != "data_mirror"},
}


wildcard_constraints:
    study="|".join(PLAN.studies),
    dataset=r"[A-Za-z0-9_-]+",
    part=r"[^/]+",


def job(wildcards):
    """Return the job whose file is named."""
    return PLAN.job(wildcards.study, f"{wildcards.dataset}/{wildcards.part}")


def to_prepare(wildcards):
    """Return what it takes to code a dataset."""
    return needs.to_prepare(PLAN.describe(wildcards.dataset))


def to_train(wildcards):
    """Return what it takes to do a job."""
    return needs.to_train(job(wildcards))


def memory(needed):
    """Return the memory that jobs ask for, by what they need."""
    return growing(lambda wildcards: needed(wildcards).memory)


def minutes(needed):
    """Return the time limit that jobs ask for, by what they need."""
    return growing(lambda wildcards: needed(wildcards).minutes)


def per_dataset(pattern):
    """Return an input function: the pattern for each dataset of a study."""
    return lambda wildcards: [
        pattern.format(dataset=one) for one in PLAN.studies[wildcards.study].datasets
    ]
