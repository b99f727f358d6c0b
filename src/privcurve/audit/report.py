"""Write the results of the audit as one table of all learners, with notes on its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from privcurve.audit.claim import EXACT
from privcurve.audit.run import VIOLATED
from privcurve.audit.search import REPORTED_ERROR, VERDICT_ERROR

MISSING = "–"
CAPTION = "Audit: privacy found against privacy claimed"

# Columns of the Markdown and LaTeX tables, with their titles. These tables show the worst row of
# each `GROUP`; the CSV has all rows and columns.
SHOWN = {
    "learner": "learner",
    "calibration": "calibration",
    "neighbours": "neighbours",
    "delta": "claimed δ",
    "epsilon": "claimed ε",
    "found_epsilon": "worst found ε",
    "refutable_epsilon": "could refute ε up to",
    "method": "by",
    "pair": "on",
    "n_tried": "tried",
    "verdict": "verdict",
}
GROUP = ["learner", "calibration", "neighbours", "delta"]


def table(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join `parts`, each the result of :func:`privcurve.audit.run.run` for a learner, to one frame.

    `found_delta` is rounded to three digits; values below 1e-13, which are rounding errors, become
    0.
    """
    frame = pd.concat(parts, ignore_index=True)
    deltas = [
        None if d != d else (0.0 if d < 1e-13 else float(f"{d:.3g}")) for d in frame["found_delta"]
    ]
    frame["found_delta"] = pd.Series(deltas, dtype=object)
    return frame


def rows_of_claims(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose neighbouring relation is the one in the learner's own statement."""
    return frame[frame["neighbours"] == frame["stated_neighbours"]]


def worst_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the worst row of each group (`GROUP`); the column `n_tried` has the group's size.

    The worst row is a violation if there is one. Among several, or without one, it is the row with
    the largest ratio of found to claimed ε.
    """
    order = frame.assign(
        share=frame["found_epsilon"] / frame["epsilon"], violated=frame["verdict"] == VIOLATED
    ).sort_values(["violated", "share"], ascending=False, kind="stable")
    chosen = order.drop_duplicates(GROUP).index
    counted = frame.groupby(GROUP)["verdict"].transform("size")
    return frame.assign(n_tried=counted).loc[sorted(chosen)].reset_index(drop=True)


def format_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the worst row of each group as texts, with a few digits of each number."""
    rows = worst_rows(frame)
    text = pd.DataFrame(index=rows.index)
    for column, title in SHOWN.items():
        text[title] = [_text(value) for value in rows[column]]
    text[SHOWN["found_epsilon"]] = [
        _write_found(row) for row in rows[["method", "found_epsilon"]].to_dict("records")
    ]
    # Round down: a value rounded up would be an ε that the audit could not refute.
    text[SHOWN["refutable_epsilon"]] = [
        "any" if most == math.inf else f"{math.floor(100 * most) / 100:.2f}"
        for most in rows["refutable_epsilon"]
    ]
    text["neighbours"] = [
        tried if tried == stated else f"{tried} (not claimed)"
        for tried, stated in zip(rows["neighbours"], rows["stated_neighbours"], strict=True)
    ]
    return text


def _write_found(row: dict[Any, Any]) -> str:
    if row["method"] == EXACT:
        return f"{row['found_epsilon']:.3f}"
    return f"≥ {row['found_epsilon']:.3f}" if row["found_epsilon"] > 0 else MISSING


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _describe_refutation(row: dict[Any, Any]) -> str:
    """Return a sentence on a refuted claim, with the reservations of the learner's statement."""
    if row["neighbours"] != row["stated_neighbours"]:
        return (
            f"Beyond its statement: {row['learner']}, {row['calibration']}, does not have "
            f"ε = {row['epsilon']:g} for {row['neighbours']} neighbours; {_write_found(row)} was "
            f"found. It states {row['stated_neighbours']}."
        )
    why = "nothing in its statement excludes this; a proof or the program is wrong."
    # A CSV file gives NaN for an empty text.
    if row["not_covered"] and isinstance(row["not_covered"], str):
        why = f"its own statement makes a reservation ({row['not_covered']})."
    return (
        f"Refuted: {row['learner']}, {row['calibration']}, ε = {row['epsilon']:g} "
        f"({row['method']}, {_write_found(row)} found): {why}"
    )


def _note_blind_claims(frame: pd.DataFrame) -> str:
    """Return a note on claims that had too few trainings to be refuted, even if they are wrong."""
    blind = int((frame["epsilon"] >= frame["refutable_epsilon"]).sum())
    least = frame["refutable_epsilon"].min()
    if blind:
        return f"{blind} of the claims are not below it: they could not have been refuted."
    return "" if least == math.inf else f"The least of all is {math.floor(100 * least) / 100:.2f}."


def notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on the methods and on the number of refuted claims."""
    refuted = rows_of_claims(frame)["verdict"] == VIOLATED
    violations = worst_rows(frame[frame["verdict"] == VIOLATED]).to_dict("records")
    return (
        f"{len(frame)} claims tried, {int(refuted.sum())} refuted; each row is the worst of those "
        "tried, and the CSV has all of them. An audit can refute a claim, never prove one "
        "(proofs: docs/privacy.md).",
        *dict.fromkeys(map(_describe_refutation, violations)),
        "Neighbours are as the column says: one record is replaced by another, or added, or "
        "changed in its private columns. 'exact': every transcript on every pair of tiny "
        "neighbouring datasets was enumerated (numbers that are released: by cells). 'density': "
        "the densities of some outputs on both sides of a pair, a certain lower bound.",
        "'sampled': many trainings on each side of a pair. Half of them chose one event, the "
        f"other half bound ε from below at {100 * (1 - REPORTED_ERROR):g} % (Clopper–Pearson; for "
        "δ > 0 from (p − δ)/q). A dash: no evidence that ε is above 0.",
        "'canaries': a table of many records with codes of their own, each with a label that is a "
        "coin (or, for 'add-remove', a coin for whether it is there). Coins are guessed from the "
        "scores of few fits (Steinke, Nasr and Jagielski 2023).",
        "A row of samples or canaries could refute claims up to the ε in its column and no larger "
        "ones: that is the verdict's bound for an event of all trainings on one side and of none "
        "on the other, or for guesses that are all right. "
        f"{_note_blind_claims(frame)}",
        "Such a claim counts as violated only if its bound at a confidence that leaves the "
        f"whole audit a chance of {VERDICT_ERROR:g} of any false alarm is above the claimed ε; "
        "an exact one with δ > 0, if its exact δ at the claimed ε is above the claimed δ.",
    )
