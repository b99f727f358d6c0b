"""What is on the page: texts of the tables' CSV files, digit by digit, and titles."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from privcurve.analysis import kinds
from privcurve.analysis.keys import method_of
from privcurve.experiments.study import DEFAULT_METRIC, Arm, Study
from privcurve.figures.style import method_looks
from privcurve.lazy import pd
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES
from privcurve.outputs.answers import RAW, REFERENCES
from privcurve.outputs.price import LEARNER, PRICE_NOTES
from privcurve.privacy.ledger import PROVED

# Of a point of a curve, in this order.
POINT = (
    *("epsilon", "accuracy", "accuracy_std", "balanced_accuracy", "auc", "log_loss", "kind"),
    *("setting", "ledger", "error"),
)
# Of a sentence about the price of coding and of privacy.
PRICE = ("dataset", "epsilon", "metric", "sentence")
# Columns of the table of settings that are no hyperparameters.
NO_SETTING = {
    *("dataset", "arm", "learner", "calibration", "delta", "epsilon", "kind"),
    *("n_settings", "n_failed_settings", "status", "error"),
}
SYMBOLS = {
    **{"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond"},
    **{"v": "triangle-down", "P": "cross", "X": "x", "h": "hexagon"},
}
AUDIT_NOTE = (
    "Found ε: the largest that an attack has found, beside the ε that the attacked training "
    "claimed; it is the worst of all that were tried. It can refute a claim, and proves none."
)


Rows = list[dict[str, str]]


def texts(path: Path) -> Rows:
    """Read a CSV as it is written: every value is text, a missing one the empty text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of_study(
    study: Study, datasets: Mapping[str, str], tables: Mapping[str, Path]
) -> dict[str, Any]:
    """Return what the page shows of a study, by the titles of its datasets.

    Of CSV files there is that of `accuracy`; and those of `selected_settings`, `ledgers`, `raw` and
    `price`, if made.
    """
    settings = _by_point(tables, "selected_settings", _setting)
    ledgers = _by_point(tables, "ledgers", _ledger)
    looks = method_looks(map(method_of, study.arms))
    curves = []
    for (dataset, name), group in itertools.groupby(
        texts(tables["accuracy"]), key=lambda row: (row["dataset"], row["arm"])
    ):
        arm, rows = study.arms[name], list(group)
        colour, marker = looks[method_of(arm.name)]
        curves.append(
            {
                **{"dataset": dataset, "arm": arm.name, "learner": arm.learner},
                **{"title": arm.title, "calibration": arm.calibration or ""},
                **{"delta": rows[0]["delta"], "relation": arm.relation or ""},
                **{"colour": colour, "symbol": SYMBOLS[marker]},
                "points": [_point(row, arm, settings, ledgers) for row in rows],
            }
        )
    curves += _references(texts(tables["raw"]) if "raw" in tables else [])
    prices = texts(tables["price"]) if "price" in tables else []
    return {
        **({"prices": [[row[name] for name in PRICE] for row in prices]} if prices else {}),
        **{"name": study.name, "title": study.title},
        "datasets": [[name, datasets[name]] for name in study.datasets],
        "curves": curves,
        **({} if study.metric == DEFAULT_METRIC else {"metric": study.metric}),
    }


def _references(rows: Rows) -> list[dict[str, Any]]:
    """Return the curves of models that are no arms of a study: one point each, without an ε."""
    return [
        {
            **{"dataset": row["dataset"], "arm": row["arm"], "learner": row["learner"]},
            **{"title": REFERENCES[row["arm"]], "calibration": "", "delta": row["delta"]},
            **{"relation": "", "colour": "", "symbol": ""},
            "points": [[row.get(name, "") for name in POINT]],
        }
        for row in rows
    ]


def page_data(studies: Iterable[dict[str, Any]], audit: Path | None) -> dict[str, Any]:
    """Return all that the page shows: studies, and the audit of all learners, if there is one."""
    shown = list(studies)
    worst = {} if audit is None else _worst(audit)
    for curve in (curve for study in shown for curve in study["curves"]):
        at = (curve["learner"], curve["calibration"], curve["relation"], curve["delta"] != "0")
        curve["audit"] = worst.get(at)
    notes = [*SELECTION_NOTES, *FRESH_NOTES, *kinds.NOTES]
    if any("prices" in study for study in shown):
        notes += [f"{REFERENCES[RAW]}: {LEARNER}", *PRICE_NOTES]
    return {
        **{"point": POINT, "kinds": kinds.KINDS, "not_private": kinds.NOT_PRIVATE},
        **{"studies": shown, "audited": audit is not None},
        "notes": notes if audit is None else [*notes, AUDIT_NOTE],
    }


def _point(
    row: Mapping[str, str],
    arm: Arm,
    settings: Mapping[tuple[str, ...], str],
    ledgers: Mapping[tuple[str, ...], str],
) -> list[str]:
    at = (row["dataset"], row["arm"], row["epsilon"])
    more = {
        "kind": row.get("kind") or kinds.kind(arm, float(row["epsilon"])),
        "setting": settings.get(at, ""),
        "ledger": ledgers.get(at, ""),
    }
    return [more.get(name, row.get(name, "")) for name in POINT]


def _by_point(
    tables: Mapping[str, Path], word: str, text: Callable[[Mapping[str, str]], str]
) -> dict[tuple[str, ...], str]:
    """Return a text for each dataset, arm and ε of a table; nothing if the table is not there."""
    if word not in tables:
        return {}
    rows = texts(tables[word])
    return {(row["dataset"], row["arm"], row["epsilon"]): text(row) for row in rows}


def _ledger(row: Mapping[str, str]) -> str:
    """Return what a model is made of; with its status, where that is not a proof."""
    status = "" if row["status"] == PROVED else f" (claim: {row['status']})"
    return row["ledger"].removeprefix("The model is made of ") + status


def _setting(row: Mapping[str, str]) -> str:
    given = {name: value for name, value in row.items() if value and name not in NO_SETTING}
    return ", ".join(f"{name} = {value}" for name, value in given.items())


def _worst(audit: Path) -> dict[tuple[str, str, str, bool], dict[str, str]]:
    """Return the worst that was found against each claim of a learner, as its CSV has it."""
    from privcurve.audit import report

    frame, written = pd.read_csv(audit), texts(audit)
    stated = report.claimed(frame.assign(row=range(len(frame))))
    worst = {}
    for row in (written[place] for place in report.worst(stated)["row"]):
        key = (row["learner"], row["calibration"], row["neighbours"], row["delta"] != "0")
        told = ("epsilon", "delta", "found_epsilon", "method", "verdict")
        worst[key] = {name: row[name] for name in told}
    return worst
