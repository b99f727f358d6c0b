"""The audit as one table: all learners, and what its numbers mean."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from privcurve.audit.claim import EXACT
from privcurve.audit.run import COLUMNS, VIOLATED
from privcurve.audit.search import REPORTED_ERROR, VERDICT_ERROR

CAPTION = "Audit: privacy found against privacy claimed"

# What Markdown and LaTeX show, and under which name. The CSV has all columns.
SHOWN = {
    "learner": "learner",
    "calibration": "calibration",
    "mechanism": "mechanism",
    "setting": "setting",
    "method": "method",
    "dataset": "dataset",
    "n_records": "records",
    "n_trainings": "trainings",
    "epsilon": "claimed ε",
    "delta": "claimed δ",
    "found_epsilon": "found ε",
    "found_delta": "found δ",
    "verdict": "verdict",
}


def table(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the rows of all learners into one frame.

    Parameters
    ----------
    parts : sequence of DataFrame
        One a learner, as :func:`privcurve.audit.configuration.run` gives them.

    Returns
    -------
    DataFrame
        `found_delta` with three digits, 0 where it is rounding alone.

    Raises
    ------
    ValueError
        If a part has other columns or no rows, or a learner comes twice.
    """
    learners: list[str] = []
    for part in parts:
        if tuple(part.columns) != COLUMNS or part.empty:
            raise ValueError(
                f"not the rows of an audit: {part.shape[0]} rows, {list(part.columns)}"
            )
        learners += part["learner"].unique().tolist()
    if len(set(learners)) < len(learners):
        raise ValueError(f"a learner was audited twice: {', '.join(sorted(learners))}")
    frame = pd.concat(parts, ignore_index=True)
    deltas = [
        None if d != d else (0.0 if d < 1e-13 else float(f"{d:.3g}")) for d in frame["found_delta"]
    ]
    frame["found_delta"] = pd.Series(deltas, dtype=object)
    return frame


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the table as a reader wants it: fewer columns, no more digits than are known."""
    text = pd.DataFrame(index=frame.index)
    for column, title in SHOWN.items():
        text[title] = [_text(column, value) for value in frame[column]]
    exact = frame["method"] == EXACT
    text["found ε"] = [
        value if known else f"≥ {value}" if number > 0 else "–"
        for value, known, number in zip(text["found ε"], exact, frame["found_epsilon"], strict=True)
    ]
    return text


def _text(column: str, value: object) -> str:
    if value is None or value != value or (column == "n_trainings" and value == 0):
        return "–"
    if column == "found_epsilon":
        return f"{value:.3f}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _refuted(frame: pd.DataFrame) -> list[str]:
    """Say which claims were refuted, and what the learner's own statement says of each."""
    found = []
    for row in frame[frame["verdict"] == VIOLATED].to_dict("records"):
        # A CSV file gives NaN for an empty text.
        excluded = row["not_covered"] if isinstance(row["not_covered"], str) else ""
        found.append(
            f"Refuted: {row['learner']}, {row['calibration']}, ε = {row['epsilon']:g} "
            f"({row['method']}): "
            + (
                f"its own statement does not cover {excluded}."
                if excluded
                else "nothing in its statement excludes this; a proof or the program is wrong."
            )
        )
    return list(dict.fromkeys(found))


def notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Say how the numbers came about, and how many claims were refuted."""
    n_violated = int((frame["verdict"] == VIOLATED).sum())
    return (
        f"{len(frame)} claims tried, {n_violated} refuted. An audit can refute a claim; that a "
        "claim stands is no proof of it (proofs: docs/privacy.md).",
        *_refuted(frame),
        "Neighbours differ in one replaced record. 'exact': every transcript on every pair of "
        "tiny neighbouring datasets was enumerated (numbers that are released: by cells); found ε "
        "and δ (at the claimed ε) are those of the worst pair.",
        "'sampled': so many trainings on each side of a pair. Half of them chose one event, the "
        f"other half bound ε from below at {100 * (1 - REPORTED_ERROR):g} % (Clopper–Pearson; for "
        "δ > 0 from (p − δ)/q). A dash: no evidence that ε is above 0.",
        "A sampled claim counts as violated only if its bound at a confidence that leaves the "
        f"whole audit a chance of {VERDICT_ERROR:g} of any false alarm is above the claimed ε.",
    )
