# The plan of the run, wildcards, and what rules take. What is asked for is said in
# src/privcurve/workflow/plan.py; this file puts Snakemake's names to it.
import json
import os
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from privcurve import datasets
from privcurve.experiments import jobs, results
from privcurve.outputs import record
from privcurve.steps._common import failed_attempts
from privcurve.workflow import needs, plan, reading, snakemake as insides
from privcurve.workflow.snakemake import growing

# Where this workflow is: `workflow.basedir` is that of who imports it as a module.
HOME = insides.home_of(workflow.current_basedir)

# On command lines of jobs: a public number, or where a secret is, never the secret.
SEED = config["seed"]
if isinstance(SEED, str):
    SEED = shlex.quote(SEED)
SHARD_FILE = "results/cells/{curve}/shard~{shard}-of-{shards}.parquet"
REFIT_FILE = "results/refits/{curve}/cells.parquet"
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
CONFIGURATION = json.dumps(
    {key: config[key] for key in sorted(config) if key != "data_mirror"}
)
CONFIG_FOLDER = os.path.relpath(HOME / "config")


wildcard_constraints:
    study="|".join(PLAN.studies),
    dataset=r"[A-Za-z0-9_-]+",
    # Study, dataset and arm of what shares its jobs with no other; of none, it matches nothing.
    curve="|".join(map(re.escape, PLAN.alone)) or r"(?!)",
    shard=r"\d+",
    shards=r"\d+",


def curve(wildcards):
    """Return an arm on a dataset, cut into as many shards as the wildcards say, or today's."""
    found = PLAN.alone[wildcards.curve]
    shards = int(wildcards.get("shards", found.shards))
    return found if found.shards == shards else replace(found, shards=shards)


def study_file(wildcards):
    """Return the file of a curve's study."""
    return str(PLAN.files[curve(wildcards).study.name])


def dataset(wildcards):
    """Return the name of a curve's dataset."""
    return curve(wildcards).dataset.name


def arm(wildcards):
    """Return the name of a curve's arm."""
    return curve(wildcards).arm.name


def coded(name):
    """Return an input function: a file of the coded data of a curve."""
    return lambda wildcards: str(curve(wildcards).data / name)


def ready(wildcards):
    """Return the file that says that all datasets of a curve's study are there."""
    return f"results/data/ready/{curve(wildcards).study.name}.txt"


def shard_files(wildcards):
    """Return the files of cells of an arm on a dataset."""
    one = curve(wildcards)
    return [str(one.shard(shard)) for shard in one.shard_numbers]


def shard_digest(wildcards):
    """Return the digest of what a shard must train."""
    return curve(wildcards).shard_digest(int(wildcards.shard))


def refit_digest(wildcards):
    """Return the digest of what the selection and fresh trainings of an arm depend on."""
    return curve(wildcards).refit_digest


def to_prepare(wildcards):
    """Return what it takes to code a dataset."""
    return needs.to_prepare(PLAN.describe(wildcards.dataset))


def to_train(wildcards):
    """Return what it takes to train a shard."""
    return needs.to_train(curve(wildcards), int(wildcards.shard))


def to_refit(wildcards):
    """Return what it takes to select settings and train them afresh."""
    return needs.to_refit(curve(wildcards))


def to_train_all(bundle):
    """Return what it takes to train the curves of a bundle."""
    return needs.to_train_all(bundle.curves)


def memory(needed):
    """Return the memory that jobs of a curve ask for, by what they need."""
    return growing(lambda wildcards: needed(wildcards).memory)


def minutes(needed):
    """Return the time limit that jobs of a curve ask for, by what they need."""
    return growing(lambda wildcards: needed(wildcards).minutes)


def attempts(wildcards):
    """Return the number of attempts that ended with failed cells: they are tried again."""
    shard = int(wildcards.shard) if "shard" in wildcards.keys() else None
    return failed_attempts(curve(wildcards).failures(shard))


def unless_done(pattern, digest):
    """Return an input function: cells made for something else, or of which some failed, come again."""

    def is_done(path, wildcards):
        checksum = jobs.coded_checksum(curve(wildcards).dataset.name)
        return results.is_done(path, digest(wildcards), checksum)

    return insides.unless(workflow, pattern, is_done)


def per_dataset(pattern):
    """Return an input function: the pattern for each dataset of a study."""
    return lambda wildcards: [
        pattern.format(dataset=one) for one in PLAN.studies[wildcards.study].datasets
    ]
