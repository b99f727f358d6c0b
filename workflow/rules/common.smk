# Every helper of the rules: what is asked for, under which names, and the checks of it.
import hashlib
import json
import math
import os
import sys
from functools import cache
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

from privcurve import audit, datasets, schema
from privcurve.experiments import cell, layout, study as studies
from privcurve.learners import registry
from privcurve.steps._common import failed_attempts

SCHEMAS = Path(workflow.basedir) / "workflow" / "schemas"
STUDY_FOLDER = Path(workflow.basedir) / "config" / "studies"
ENVIRONMENT = "../../environment.yml"
STORE = "results/store"

# Rules call `python -m privcurve.steps.…`: let it be the Python that runs Snakemake.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
)


@cache
def describe(dataset):
    """Give the public description of a dataset."""
    return datasets.describe(dataset)


def read_studies():
    """Read and check the configuration and all study files, before anything runs."""
    schema.check(config, SCHEMAS / "config.schema.yaml", "configuration")
    found = {}
    for path in sorted(STUDY_FOLDER.glob("*.yaml")):
        where = f"config/studies/{path.name}"
        content = yaml.safe_load(path.read_text())
        schema.check(content, SCHEMAS / "study.schema.yaml", where)
        found[path.stem] = studies.from_mapping(content, path.stem, where)
        for dataset in found[path.stem].datasets:
            describe(dataset)
    unknown = [name for name in config["studies"] if name not in found]
    if unknown:
        raise ValueError(
            f"configuration: there is no study {unknown[0]!r}; there are: {', '.join(found)}"
        )
    figures = {}
    for name, one in found.items():
        if one.figure in figures:
            raise ValueError(
                f"studies {figures[one.figure]} and {name} have the same figure, {one.figure!r}"
            )
        figures[one.figure] = name
    return found, figures


try:
    STUDIES, STUDY_OF_FIGURE = read_studies()
except (ValueError, datasets.DatasetError, OSError) as error:
    raise WorkflowError(str(error)) from None

# Where raw files may be found is no parameter of a job: checksums tell what they are,
# so that another place is no reason to read them again.
CONFIGURATION = json.dumps(
    {key: config[key] for key in sorted(config) if key != "data_mirror"}
)
CONFIG_FOLDER = os.path.relpath(STUDY_FOLDER.parent)
if config.get("data_mirror"):
    os.environ.update(PRIVCURVE_DATA=str(config["data_mirror"]))


wildcard_constraints:
    study="|".join(STUDIES),
    dataset=r"[A-Za-z0-9_-]+",
    arm=r"[A-Za-z0-9_~=.-]+",
    shard=r"\d+",
    shards=r"\d+",
    figure="|".join(STUDY_OF_FIGURE),


# The estimate of a job's time may be wrong by a factor, and a node slower than ours.
TRAINING_MINUTES = 10 + math.ceil(3 * config["seconds_per_job"] / 60)


def growing(amount):
    """Give a resource that grows with the attempts at a job: what ran out, gets more."""
    return lambda wildcards, attempt: attempt * amount


def study_file(wildcards):
    """Give the file of a study."""
    return os.path.relpath(STUDY_FOLDER / f"{wildcards.study}.yaml")


def arm_of(wildcards):
    """Give the arm that the wildcards name."""
    return STUDIES[wildcards.study].arm(wildcards.arm)


def curve(wildcards):
    """Give the jobs of an arm on a dataset."""
    return layout.curve(
        STUDIES[wildcards.study],
        describe(wildcards.dataset),
        arm_of(wildcards),
        config["seconds_per_job"],
    )


def shard_files(wildcards):
    """Give the files of cells of an arm on a dataset."""
    one = curve(wildcards)
    return [str(one.shard(shard)) for shard in range(one.shards)]


def shard_folder(wildcards):
    """Give the folder of these files: a command line has no room for thousands of names."""
    return str(curve(wildcards).folder)


def shard_count(wildcards):
    """Give the number of these files."""
    return curve(wildcards).shards


def shard_digest(wildcards):
    """Give the digest of what a shard must train."""
    return cell.shard_digest(
        STUDIES[wildcards.study],
        arm_of(wildcards),
        int(wildcards.shard),
        int(wildcards.shards),
        config["seed"],
    )


def refit_digest(wildcards):
    """Give the digest of what the selection and fresh trainings of an arm depend on."""
    return cell.refit_digest(
        STUDIES[wildcards.study], arm_of(wildcards), config["seed"]
    )


def table_digest(wildcards):
    """Give what a study's tables depend on beside their files: order and titles."""
    one = STUDIES[wildcards.study]
    return [list(one.datasets), [(arm.name, arm.title) for arm in one.arms.values()]]


def failures_file(wildcards):
    """Give the file that counts the failed attempts of a job."""
    folder = f"results/failures/{wildcards.study}/{wildcards.dataset}"
    if "shard" in wildcards.keys():
        return f"{folder}/{wildcards.arm}~shard~{wildcards.shard}-of-{wildcards.shards}.json"
    return f"{folder}/{wildcards.arm}.json"


def attempts(wildcards):
    """Give the number of attempts that ended with failed cells: they are tried again."""
    return failed_attempts(Path(failures_file(wildcards)))


def description_digest(wildcards):
    """Give a digest of the public description of a dataset."""
    paths = describe(wildcards.dataset).paths
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def local_files(wildcards):
    """Give the user's own files of a dataset: what is fetched has a checksum instead."""
    return [
        file.local for file in describe(wildcards.dataset).files.values() if file.local
    ]


# The dataset that canaries are put into: the first one of the first study that is built.
AUDITED_DATASET = STUDIES[config["studies"][0]].datasets[0]
# Peers claim what others have proved, for neighbours of their own choice.
AUDITED_LEARNERS = [
    name
    for name, entry in registry.LEARNERS.items()
    if entry.private and not entry.peer
]
AUDIT_OUTPUTS = [
    *(f"results/tables/audit.{ending}" for ending in ("csv", "md", "tex")),
    *(f"results/figures/audit.{ending}" for ending in ("pdf", "png", "csv")),
]
AUDIT_BENCHMARKS = [
    *(f"benchmarks/audit/{learner}.tsv" for learner in AUDITED_LEARNERS),
    "benchmarks/audit_tables.tsv",
]


def audit_digest(wildcards):
    """Give a digest of the auditor and of what it audits: their change is a reason to rerun."""
    sources = [
        path.read_bytes() for path in sorted(Path(audit.__file__).parent.glob("*.py"))
    ]
    version = registry.entry(wildcards.learner).version
    return f"{version} {hashlib.sha256(b''.join(sources)).hexdigest()}"


@cache
def say_once(note):
    """Tell the user something, once a run."""
    logger.warning(note)


def per_arm(pattern):
    """Give an input function: the pattern for each dataset and arm of a study."""

    def files(wildcards):
        one = STUDIES[wildcards.study]
        for note in one.skipped:
            say_once(note)
        return [
            pattern.format(study=one.name, dataset=dataset, arm=arm)
            for dataset in one.datasets
            for arm in one.arms
        ]

    return files


def study_outputs(name):
    """Give the tables and the figure of a study."""
    return [
        *(
            f"results/tables/{name}/{table}.{ending}"
            for table in ("accuracy", "selected_settings")
            for ending in ("csv", "md", "tex")
        ),
        *(
            f"results/figures/{STUDIES[name].figure}.{ending}"
            for ending in ("pdf", "png", "csv")
        ),
    ]
