"""Write all runs of a study to one file: a row per run with scores, seconds and memory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

from privcurve.analysis.measures import RANKED
from privcurve.experiments.curves import Curve
from privcurve.experiments.jobs import StudyJobs
from privcurve.experiments.methods import Method
from privcurve.experiments.results import IncompleteError
from privcurve.files import replace_file
from privcurve.lazy import pd
from privcurve.outputs.accuracy import all_curves
from privcurve.outputs.base import (
    Context,
    Files,
    Output,
    OutputRequest,
    Reads,
    trained_privgam,
)
from privcurve.privacy.budget import PROVED
from privcurve.privacy.ledger import CLAIMED

FOLDER = Path("results/arena")
FILE = "runs"
NOT_PRIVATE = "not private"
# The two suites of datasets. Records from the sources of the datasets in SET_ON set constants of
# PrivGAM or trained its network.
UNTOUCHED, SET_ON = "untouched", "set PrivGAM"

# Columns of the file. `method` names the curve, `seconds` is the duration of the fit, and `memory`
# is the peak memory of the process during the fit in MiB.
COLUMNS = [
    "method", "title", "learner", "version", "status", "dataset", "epsilon", "delta",
    "suite", "neighbours", "fold", "split", *RANKED, "seconds", "memory",
]  # fmt: skip
# Scores and seconds are rounded to this many decimals in the file.
DIGITS = 6


class Runs(Output):
    """File ``runs``: the runs of a study with their scores, as Parquet."""

    word: ClassVar[str] = "runs"
    version: ClassVar[int] = 2
    writes: ClassVar = ()
    selects: ClassVar[bool] = False

    def files(self, request: OutputRequest) -> Files:
        return Files(others={FILE: FOLDER / f"{request.study.name}.parquet"})

    def reads(self, request: OutputRequest) -> Reads:
        methods = request.study.methods.items()
        titles = [[name, method.label(method.title)] for name, method in methods]
        return Reads(all_curves(request).curves, facts=titles)

    def make(self, context: Context) -> None:
        frame = pd.concat([rows_of(context.jobs, curve) for curve in context.curves])
        write(frame, context.request.files.others[FILE])


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write runs, with the columns `COLUMNS`, to a Parquet file."""
    rounded = frame[COLUMNS].round(dict.fromkeys((*RANKED, "seconds"), DIGITS))

    def save(temporary: Path) -> None:
        rounded.to_parquet(temporary, index=False, compression="zstd")

    replace_file(path, save)


def read(path: Path) -> pd.DataFrame:
    """Read a file of runs.

    Raises IncompleteError if the file lacks a column.
    """
    frame = pd.read_parquet(path)
    lacking = [name for name in COLUMNS if name not in frame]
    if lacking:
        raise IncompleteError(f"{path} has no column {lacking[0]}: it is no file of runs")
    return frame[COLUMNS]


def status_of(method: Method) -> str:
    """Return the status of a method's ε (proved, derived or claimed), or `NOT_PRIVATE`."""
    if method.calibration is None:
        return NOT_PRIVATE
    if method.status:
        return method.status
    proved = method.calibration == PROVED and method.entry.proof is not None
    return PROVED if proved and not method.entry.peer else CLAIMED


def suite_of(dataset: str) -> str:
    """Return the suite of a dataset: `SET_ON` or `UNTOUCHED`."""
    return SET_ON if trained_privgam(dataset) else UNTOUCHED


def rows_of(jobs: StudyJobs, curve: Curve) -> pd.DataFrame:
    """Return the results of a curve, with the columns `COLUMNS`.

    Raises IncompleteError if the method's learner broke the contract.
    """
    method = curve.method
    if method.breaks_contract:
        raise IncompleteError(
            f"{method.name} broke the contract, so its runs are not compared: "
            f"python -m privcurve.audit contract {method.learner} says why"
        )
    runs = pd.concat(list(jobs.results(curve)), ignore_index=True)
    # The row of a failed training must have no scores.
    runs.loc[runs["status"] != "ok", list(RANKED)] = math.nan
    facts: dict[str, Any] = {
        "method": method.name,
        "title": method.title,
        "status": status_of(method),
        "neighbours": method.relation or "",
        "suite": suite_of(curve.dataset.name),
    }
    named = runs.rename(columns={"repeat": "split", "fit_seconds": "seconds"})
    return named.assign(**facts)[COLUMNS]
