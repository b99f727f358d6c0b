"""Estimate the memory and time that jobs request on a cluster, from public facts about the data.

On a single machine the requests have no effect. A job that exceeds its request is tried again with
more memory and time: rules multiply the request by the number of the attempt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from privcurve.coding import code_type
from privcurve.datasets import Description
from privcurve.datasets.reading import kinds
from privcurve.experiments.curves import Curve, CurveData
from privcurve.experiments.jobs import Job
from privcurve.learners.registry import training_bytes

# MiB that jobs need for Python, imports and compiled kernels, without any records: a job that
# prepares a dataset, a job that trains, and a job that audits.
PREPARING, TRAINING, AUDITING = 300, 400, 2000
# Reserve factors: the estimates of memory and time were measured on one machine only.
_MEMORY_SLACK, _TIME_SLACK = 1.1, 1.5
# Minutes that each job gets to start, also on slow file systems.
_START = 10

# Seconds to read and encode one value of a table, and minutes to download a file.
_SECONDS_PER_VALUE, _DOWNLOAD = 2.5e-6, 20


class Needs(NamedTuple):
    """The memory (MiB) and the time (minutes) that the first attempt of a job requests."""

    memory: int
    minutes: int


def preparing_needs(description: Description) -> Needs:
    """Return the memory and time that a job needs to read and encode a dataset."""
    n_columns = len(description.domain.columns)
    n_values = sum(description.raw_sizes.values()) * (n_columns + 1)
    of_cell = kinds()[description.parser.kind].cell_bytes
    n_bytes = n_values * (_code_bytes(description) + of_cell)
    return Needs(
        _round_mib(PREPARING, n_bytes), _limit_time(n_values * _SECONDS_PER_VALUE) + _DOWNLOAD
    )


def training_needs(job: Job) -> Needs:
    """Return the memory and time that a training job needs."""
    peak = max(map(_find_peak, job.curves))
    return Needs(_round_mib(TRAINING, peak), _limit_time(job.seconds))


def audit_memory(learner: str, about: CurveData) -> int:
    """Return the MiB that a job needs to audit a learner on a dataset."""
    return _round_mib(AUDITING, _count_bytes(learner, about))


def output_memory(memory: int, datasets: Iterable[CurveData]) -> int:
    """Return the MiB that a job needs to make an output that reads `datasets`.

    `memory` are the MiB that the output takes without datasets.
    """
    return _round_mib(memory, max((_count_bytes("", about) for about in datasets), default=0.0))


def _find_peak(curve: Curve) -> float:
    # Private selection needs as much memory as the learner that it tunes.
    names = {str(setting.get("learner", curve.method.learner)) for setting in curve.method.settings}
    return max(_count_bytes(name, curve.dataset) for name in names)


def _count_bytes(learner: str, about: CurveData) -> float:
    domain, n_rows = about.domain, about.n_rows + about.n_test
    width = _code_bytes(about)
    return training_bytes(learner, n_rows, len(domain.columns), domain.n_classes, width)


def _code_bytes(about: CurveData) -> int:
    return np.dtype(code_type(about.domain.n_bins)).itemsize


def _round_mib(start: int, n_bytes: float) -> int:
    """Return `start` MiB plus `n_bytes` with a reserve, in MiB, rounded up to hundreds."""
    return 100 * math.ceil((start + _MEMORY_SLACK * n_bytes / 2**20) / 100)


def _limit_time(seconds: float) -> int:
    """Return the time limit, in minutes, of a job whose estimate is `seconds`."""
    return _START + math.ceil(_TIME_SLACK * seconds / 60)
