"""The memory and time that jobs request from a cluster."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from privcurve.datasets import describe
from privcurve.experiments import study
from privcurve.experiments.jobs import Job, StudyJobs
from privcurve.learners import registry
from privcurve.workflow import needs

PROGRAM = Path(__file__).with_name("peak_memory.py")
MIB = 2**20


def description_of_rows(n_rows, name="codrna"):
    """Return a description with `n_rows` records."""
    description = describe(name)
    return replace(description, n_rows=n_rows, n_test=0, raw_sizes={"train": n_rows})


def description_of_size(n_rows, n_columns):
    """Return a description with this many records and columns."""
    description = description_of_rows(n_rows)
    columns = tuple(
        replace(description.domain.columns[0], name=f"c{j}", bins=10) for j in range(n_columns)
    )
    return replace(description, domain=replace(description.domain, columns=columns))


def cut(about, learner="lazybb", seconds_per_job=1e9, **spec):
    """Return the jobs of one learner on a dataset."""
    raw = {"title": "t", "datasets": ["codrna"], "epsilons": [1.0], "folds": 5, "repeats": 2}
    made = study.from_mapping({**raw, "learners": {"a": {"learner": learner, **spec}}}, "t", "t")
    return list(StudyJobs(made, 1, seconds_per_job, lambda name: about).jobs.values())


USED = [("lazybb", 5_100, 7_650), ("privgam", 3_170, 4_750), ("brc", 6_800, 10_200)]


@pytest.mark.parametrize(
    ("learner", "low", "high"),
    [one for one in USED if one[0] in registry.LEARNERS],
)
def test_a_job_on_20_million_records_requests_the_memory_that_it_uses(learner, low, high):
    """It asks for 1 to 1.5 times the measured memory (BRC: measured at 2 million, times ten)."""
    (one,) = cut(description_of_size(20_000_000, 30), learner)
    assert low <= needs.training_needs(one).memory <= high


def test_a_job_on_a_small_table_requests_little():
    (one,) = cut(description_of_size(5_000, 8))
    assert needs.training_needs(one).memory == 500
    assert needs.preparing_needs(describe("adult")).memory == 400


def peak_memory_of(learner, n_rows, n_columns, folder):
    """Train in a new process and return its peak memory."""
    done = subprocess.run(
        [sys.executable, PROGRAM, learner, str(n_rows), str(n_columns), folder],
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in other units")
def test_estimates_match_the_memory_of_a_training(tmp_path):
    """The memory for more records is estimated within a factor of 1.5."""
    learner, n_columns = "brc", 30
    few, many = 50_000, 650_000
    peak_memory_of(learner, few, n_columns, tmp_path / "compiled")  # compiling takes memory too
    small = peak_memory_of(learner, few, n_columns, tmp_path)
    grown = peak_memory_of(learner, many, n_columns, tmp_path) - small
    estimated = registry.training_bytes(learner, many - few, n_columns)
    assert estimated / 1.5 < grown < estimated * 1.5
    # The request without records covers the memory of few records.
    assert small < needs.TRAINING * MIB


def test_larger_jobs_request_more():
    (one,), (twice,) = cut(description_of_size(10**7, 20)), cut(description_of_size(2 * 10**7, 20))
    assert needs.training_needs(twice).memory > 1.7 * needs.training_needs(one).memory
    wide = description_of_size(10**7, 20)
    columns = tuple(replace(column, bins=1000) for column in wide.domain.columns)
    (wide,) = cut(replace(wide, domain=replace(wide.domain, columns=columns)))
    assert needs.training_needs(wide).memory > 1.5 * needs.training_needs(one).memory
    description, other = description_of_size(10**7, 20), description_of_rows(10**7, "wdbc")
    assert (
        needs.preparing_needs(other).memory
        > needs.preparing_needs(description_of_rows(10**6, "wdbc")).memory
    )
    assert needs.audit_memory("lazybb", description) > needs.audit_memory(
        "lazybb", description_of_size(10**5, 20)
    )
    assert needs.output_memory(1000, [description]) > needs.output_memory(1000, []) == 1000


def test_an_unmeasured_learner_requests_as_much_as_the_largest():
    largest = max(registry.training_bytes(name, 10**6, 30) for name in registry.LEARNERS)
    assert registry.training_bytes("one_of_my_own", 10**6, 30) == largest


def test_a_selection_of_settings_requests_what_the_learner_requests():
    tune = {"grid": {"n_rounds": [5, 9]}}
    (tuned,) = cut(description_of_size(10**7, 30), "lazybb", tune=tune)
    (plain,) = cut(description_of_size(10**7, 30), "lazybb")
    assert tuned.curves[0].method.learner == "tuned"
    assert needs.training_needs(tuned).memory == needs.training_needs(plain).memory


def test_methods_that_share_a_start_request_what_the_largest_needs():
    about = description_of_size(10**6, 30)
    same = [cut(about)[0], cut(about, "majority_class")[0]]
    assert memory_of(*same) == memory_of(same[0])


def memory_of(*jobs):
    return needs.training_needs(Job(tuple(curve for job in jobs for curve in job.curves))).memory


def test_time_limits_are_near_the_estimate():
    (one,) = cut(description_of_size(10**6, 30), grid={"n_rounds": list(range(300))[1:]})
    estimate = one.seconds / 60
    assert estimate > 20
    assert 1.5 * estimate < needs.training_needs(one).minutes < 1.5 * estimate + 12
