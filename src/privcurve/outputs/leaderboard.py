"""A page to look at: curves, a slider for ε that ranks, settings, and what the audit found."""

from __future__ import annotations

import csv
import hashlib
import html
import itertools
import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from privcurve import extras
from privcurve.analysis import kinds
from privcurve.analysis.keys import method_of
from privcurve.experiments.study import DEFAULT_METRIC, Arm, Study
from privcurve.figures.style import method_looks
from privcurve.files import replace_text
from privcurve.lazy import pd
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES
from privcurve.outputs.answers import RAW, REFERENCES
from privcurve.outputs.base import (
    OF,
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    about,
    dataset_title,
)
from privcurve.outputs.price import LEARNER, PRICE_NOTES
from privcurve.privacy.budget import LOOKED
from privcurve.privacy.ledger import PROVED

RESULTS = Path("results")
# Of each study the page needs the first, and has the others where the study has them.
ACCURACY, SETTINGS, LEDGERS, PRICE = "accuracy", "selected_settings", "ledgers", "price"
TABLES = (ACCURACY, SETTINGS, LEDGERS, RAW, PRICE)
AUDIT = "audit"
# That of all learners, which is no study's.
RUN_AUDIT = f"{OF}{AUDIT}"


class Leaderboard(Output):
    """Page ``leaderboard``: one HTML file that asks for nothing from any network."""

    word: ClassVar[str] = "leaderboard"
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "tables": Option(
            "a list of tables, each <study>/accuracy, <study>/selected_settings, "
            "<study>/ledgers, <study>/raw or <study>/price, or /audit, that of all learners; by "
            "default those of the study",
            list,
            None,
        )
    }

    def check(self, request: OutputRequest) -> None:
        names = request.options["tables"] or ()
        for name in names:
            study, slash, word = str(name).partition(OF)
            if name == RUN_AUDIT:
                continue
            if not (study and slash and word in TABLES):
                raise ValueError(f"tables: {name!r} is not <study>/<{' or '.join(TABLES)}>")
            first = f"{study}{OF}{ACCURACY}"
            if first not in names:
                raise ValueError(f"tables: without {first} nothing of {study} is shown; add it")

    def files(self, request: OutputRequest) -> Files:
        return Files(others={"page": (RESULTS / request.place).with_suffix(".html")})

    def reads(self, request: OutputRequest) -> Reads:
        mine = [word for word, _ in request.study.outputs if word in (*TABLES, AUDIT)]
        names = request.options["tables"] or dict.fromkeys((ACCURACY, *mine))
        extras.check("plotly", "the page of a study")
        return Reads(outputs=tuple(names), facts=[sources(), version("plotly")])

    def facts(self, context: Context) -> Any:
        """Return the titles that stand on the page, of all studies, and whose records it shows."""
        return [
            [
                request.study.name,
                request.study.title,
                {name: arm.title for name, arm in request.study.arms.items()},
                {name: about(name).title for name in request.study.datasets},
            ]
            for _, request in _studies(context)
        ] + _private(context)

    def make(self, context: Context) -> None:
        studies = []
        for prefix, request in _studies(context):
            tables = {
                word: texts(context.others[prefix + word].files.frames[0])
                for word in TABLES
                if prefix + word in context.others
            }
            studies.append(of_study(request.study, tables))
        audits = [context.others[name] for name in (RUN_AUDIT, AUDIT) if name in context.others]
        audit = audits[0].files.frames[0] if audits else None
        text = page(page_data(studies, audit), LOOKED if _private(context) else "")
        replace_text(context.request.files.others["page"], text)


def _studies(context: Context) -> list[tuple[str, OutputRequest]]:
    """Return what stands before the word of a study's tables, and its table of accuracy."""
    return [
        (name.removesuffix(ACCURACY), request)
        for name, request in context.others.items()
        if name.rpartition(OF)[2] == ACCURACY
    ]


def _private(context: Context) -> list[str]:
    """Return the datasets on the page whose records are private."""
    shown = dict.fromkeys(
        name for _, request in _studies(context) for name in request.study.datasets
    )
    return [name for name in shown if not about(name).public_benchmark]


def page_tables(outputs: Iterable[OutputRequest]) -> list[str]:
    """Return the words of a study's outputs that a page shows; none without its accuracy."""
    words = [one.output.word for one in outputs]
    return [word for word in TABLES if word in words] if ACCURACY in words else []


# Of a point of a curve, in this order.
POINT = (
    *("epsilon", "accuracy", "accuracy_std", "balanced_accuracy", "auc", "log_loss", "kind"),
    *("setting", "ledger", "error"),
)
# Of a sentence about the price of coding and of privacy.
SENTENCE = ("dataset", "epsilon", "metric", "sentence")
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


def of_study(study: Study, tables: Mapping[str, Rows]) -> dict[str, Any]:
    """Return what the page shows of a study: `accuracy`, and other tables of it, if made."""
    settings = {_place(row): _setting(row) for row in tables.get(SETTINGS, ())}
    ledgers = {_place(row): _ledger(row) for row in tables.get(LEDGERS, ())}
    looks = method_looks(map(method_of, study.arms))
    curves = []
    for (dataset, name), group in itertools.groupby(
        tables[ACCURACY], key=lambda row: (row["dataset"], row["arm"])
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
    curves += _references(tables.get(RAW, ()))
    prices = [[row[name] for name in SENTENCE] for row in tables.get(PRICE, ())]
    return {
        **({"prices": prices} if prices else {}),
        **{"name": study.name, "title": study.title},
        "datasets": [[name, dataset_title(name)] for name in study.datasets],
        "curves": curves,
        **({} if study.metric == DEFAULT_METRIC else {"metric": study.metric}),
    }


def _references(rows: Iterable[Mapping[str, str]]) -> list[dict[str, Any]]:
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
    settings: Mapping[tuple[str, str, str], str],
    ledgers: Mapping[tuple[str, str, str], str],
) -> list[str]:
    at = _place(row)
    more = {
        "kind": row.get("kind") or kinds.kind(arm, float(row["epsilon"])),
        "setting": settings.get(at, ""),
        "ledger": ledgers.get(at, ""),
    }
    return [more.get(name, row.get(name, "")) for name in POINT]


def _place(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["dataset"], row["arm"], row["epsilon"]


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


FOLDER = Path(__file__).with_name("page")
PARTS = ("page.html", "page.css", "view.js", "page.js")


def sources() -> str:
    """Return a digest of template, style and scripts."""
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in PARTS)).hexdigest()


def page(data: Mapping[str, Any], warning: str = "") -> str:
    """Return the page of :func:`page_data`: HTML that needs no other file.

    A warning stands above everything, without any script.
    """
    from plotly.offline import get_plotlyjs

    template, style, *scripts = ((FOLDER / name).read_text("utf-8") for name in PARTS)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # In this order: what is put in may hold what is looked for later, and must not be replaced.
    before, _, rest = template.partition("/*STYLE*/")
    middle, _, rest = rest.partition("/*DATA*/")
    note = f'<p class="warning" role="note">{html.escape(warning)}</p>' if warning else ""
    middle = middle.replace("<!--WARNING-->", note)
    between, _, rest = rest.partition("/*PLOTLY*/")
    last, _, after = rest.partition("/*SCRIPT*/")
    # `</script>` in a name would end the element; \u003c is the same to JSON.
    inside = text.replace("<", "\\u003c")
    parts = (before, style, middle, inside, between, get_plotlyjs(), last, *scripts, after)
    return "".join(parts)
