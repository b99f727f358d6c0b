# Every helper of the rules: what is asked for, under which names, and the checks of it.
import hashlib
import json
import math
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import IOFile
from snakemake.logging import logger

from privcurve import audit, datasets, schema
from privcurve.experiments import cell, layout, results, study as studies
from privcurve.learners import registry
from privcurve.steps._common import failed_attempts
from privcurve.steps._scheduler import one_timer

SCHEMAS = Path(workflow.basedir) / "workflow" / "schemas"
STUDY_FOLDER = Path(workflow.basedir) / "config" / "studies"
ENVIRONMENT = "../../environment.yml"
STORE = "results/store"
SHARD_FILE = "results/cells/{study}/{dataset}/{arm}/shard~{shard}-of-{shards}.parquet"
REFIT_FILE = "results/refits/{study}/{dataset}/{arm}/cells.parquet"

one_timer()

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
        content = schema.read_yaml(path)
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


def growing(amount):
    """Give a resource that grows with the attempts at a job: what ran out, gets more."""
    return lambda wildcards, attempt: attempt * amount


def jobs_at_once():
    """Give how many jobs may run at the same time: on a cluster more than this machine has cores."""
    in_queue = workflow.nodes or sys.maxsize
    return workflow.cores or 1 if in_queue == sys.maxsize else in_queue


def study_file(wildcards):
    """Give the file of a study."""
    return os.path.relpath(STUDY_FOLDER / f"{wildcards.study}.yaml")


def arm_of(wildcards):
    """Give the arm that the wildcards name."""
    return STUDIES[wildcards.study].arm(wildcards.arm)


def curve(wildcards):
    """Give the jobs of an arm on a dataset."""
    return curve_named(wildcards.study, wildcards.dataset, wildcards.arm)


@cache
def curve_named(study, dataset, arm):
    """Give the jobs of an arm on a dataset, by their names."""
    one = STUDIES[study]
    return layout.curve(one, describe(dataset), one.arm(arm), config["seconds_per_job"])


def training_minutes(wildcards, attempt):
    """Give the time limit of a training job."""
    # The estimate may be wrong by a factor, and a node slower than ours.
    estimate = curve(wildcards).seconds(int(wildcards.shard))
    seconds = max(config["seconds_per_job"], estimate)
    return attempt * (10 + math.ceil(3 * seconds / 60))


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
    return shard_digest_named(
        wildcards.study, wildcards.arm, int(wildcards.shard), int(wildcards.shards)
    )


@cache
def shard_digest_named(study, arm, shard, shards):
    """Give the digest of what a shard must train, by names: on each dataset the same."""
    one = STUDIES[study]
    return cell.shard_digest(one, one.arm(arm), shard, shards, config["seed"])


def refit_digest(wildcards):
    """Give the digest of what the selection and fresh trainings of an arm depend on."""
    return refit_digest_named(wildcards.study, wildcards.arm)


@cache
def refit_digest_named(study, arm):
    """Give the digest of what an arm's fresh trainings depend on, by names."""
    one = STUDIES[study]
    return cell.refit_digest(one, one.arm(arm), config["seed"])


@cache
def coded_checksum(dataset):
    """Give the checksum of a coded dataset; None if there is none that can be read."""
    try:
        found = datasets.facts(layout.CODED / dataset)
    except ValueError:
        return None
    return found and found["checksum"]


# Snakemake asks input functions before it decides what is to be run. The next two name no file;
# they see to it that a file is made again of which Snakemake's own record would not tell that
# it must be. There is no record where .snakemake was deleted, where results were copied without
# it, and on a cluster of jobs that went on when Snakemake was killed.


def unless_current(pattern, digest):
    """Give an input function: a file of cells that was made for something else is made again."""

    def none(wildcards):
        path = Path(pattern.format(**dict(wildcards.items())))
        if path.exists() and not results.is_current(
            path, digest(wildcards), coded_checksum(wildcards.dataset)
        ):
            workflow.dag.forcefiles.add(str(path))
        return []

    return none


def unless_recorded(pattern):
    """Give an input function: a table or figure without a record is made again.

    It does not say what it was made for, as files of cells do; and is made in a minute.
    """

    def none(wildcards):
        path = pattern.format(**dict(wildcards.items()))
        if os.path.exists(path) and not workflow.persistence.metadata(IOFile(path)):
            workflow.dag.forcefiles.add(path)
        return []

    return none


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
        path.read_bytes() for path in sorted(Path(audit.__file__).parent.rglob("*.py"))
    ]
    version = registry.entry(wildcards.learner).version
    return f"{version} {hashlib.sha256(b''.join(sources)).hexdigest()}"


@cache
def say_once(note):
    """Tell the user something, once a run."""
    logger.warning(note)


def what_study_lacks(name, arms, dataset, epsilons):
    """Say what a study lacks of what is to be made from it; empty if nothing."""
    if name not in STUDIES:
        return f"there is no study {name}"
    one = STUDIES[name]
    if dataset not in one.datasets:
        return f"study {name} has no dataset {dataset}"
    for arm in arms:
        if arm not in one.arms:
            return f"study {name} has no curve {arm}"
        for epsilon in epsilons:
            if epsilon not in one.arms[arm].epsilons:
                return f"{arm} of study {name} has no epsilon = {epsilon}"
    return ""


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


def per_dataset(pattern):
    """Give an input function: the pattern for each dataset of a study."""
    return lambda wildcards: [
        pattern.format(dataset=dataset) for dataset in STUDIES[wildcards.study].datasets
    ]


def refit_digests(wildcards):
    """Give the digest of each dataset and arm of a study, in the order of `per_arm`."""
    one = STUDIES[wildcards.study]
    return [refit_digest_named(one.name, arm) for _ in one.datasets for arm in one.arms]


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
