"""A page to look at: curves, a slider for ε that ranks, settings, and what the audit found."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from privcurve import extras
from privcurve.analysis import kinds
from privcurve.experiments.study import DEFAULT_METRIC, Arm, Study
from privcurve.figures import style
from privcurve.files import replace_text
from privcurve.lazy import pd
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES
from privcurve.outputs.answers import RAW, REFERENCES, full_name, rankings
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
from privcurve.outputs.learning_curves import figures
from privcurve.outputs.price import LEARNER, PRICE_NOTES
from privcurve.privacy.budget import LOOKED
from privcurve.privacy.ledger import PROVED
from privcurve.tables.table import read_table

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
    version: ClassVar[int] = 2
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
        return Reads(outputs=tuple(names), facts=[sources(), _draws()])

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
        shown = page_data(studies, audit)
        still = static(shown["studies"], _sentences(context), _pictures(context))
        text = page(shown, LOOKED if _private(context) else "", still)
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


def _sentences(context: Context) -> dict[tuple[str, str], str]:
    """Return what to take, by study and dataset: at ε = 1 or, of those trained, the nearest."""
    sentences = {}
    for _, request in _studies(context):
        arms = request.study.arms.values()
        epsilons = {epsilon for arm in arms for epsilon in arm.epsilons if math.isfinite(epsilon)}
        for dataset in request.study.datasets if epsilons else ():
            epsilon = min(sorted(epsilons), key=lambda one: abs(math.log(one)))
            (place,) = rankings(request, dataset, [epsilon])
            sentences[request.study.name, dataset] = place.sentence()
    return sentences


def _draws() -> bool:
    return extras.missing("matplotlib", "a picture") is None


def _pictures(context: Context) -> dict[tuple[str, str], str]:
    """Return the curves of the first study as images, by study and dataset; none if undrawn."""
    _, request = _studies(context)[0]
    study = request.study
    if not (
        _draws() and any(math.isfinite(e) for arm in study.arms.values() for e in arm.epsilons)
    ):
        return {}
    accuracy = read_table(request.files.frames[0])
    pictures = {}
    for dataset in study.datasets[:MOST_PICTURES]:
        content = io.BytesIO()
        figure = next(figures(study, accuracy, datasets=[dataset]))
        with style.paper():
            # Like every figure of a run: neither a date nor a program is written into it.
            figure.savefig(content, format="png", dpi=PICTURE_DPI, metadata={"Software": None})
        pictures[study.name, dataset] = base64.b64encode(content.getvalue()).decode("ascii")
    return pictures


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
# The markers of figures, as paths of SVG about 10 wide.
SYMBOLS = {
    "o": "M4.8 0A4.8 4.8 0 1 1 -4.8 0A4.8 4.8 0 1 1 4.8 0Z",
    "s": "M-4.3-4.3H4.3V4.3H-4.3Z",
    "^": "M0-5.5L5.2 4H-5.2Z",
    "v": "M0 5.5L5.2-4H-5.2Z",
    "D": "M0-6L6 0L0 6L-6 0Z",
    "P": "M-2-5.4H2V-2H5.4V2H2V5.4H-2V2H-5.4V-2H-2Z",
    "X": "M-2.8-5L0-2.2L2.8-5L5-2.8L2.2 0L5 2.8L2.8 5L0 2.2L-2.8 5L-5 2.8L-2.2 0L-5-2.8Z",
    "h": "M0-5.6L4.9-2.8V2.8L0 5.6L-4.9 2.8V-2.8Z",
}
PICTURE_DPI = 120
MOST_PICTURES = 9
# As in the sentences of a terminal.
DIGITS = 3
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
    looks = _looks(study)
    curves = []
    for (dataset, name), group in itertools.groupby(
        tables[ACCURACY], key=lambda row: (row["dataset"], row["arm"])
    ):
        arm, rows = study.arms[name], list(group)
        curves.append(
            {
                **{"dataset": dataset, "arm": arm.name, "learner": arm.learner},
                **{
                    "title": full_name(arm.title, arm.calibration, arm.delta),
                    "calibration": arm.calibration or "",
                },
                **{"delta": rows[0]["delta"], "relation": arm.relation or ""},
                **looks[name],
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


def _looks(study: Study) -> dict[str, dict[str, Any]]:
    """Return how each method looks, as in the study's figures; what has no ε is a level."""
    arms = study.arms
    curves = [name for name in arms if any(map(math.isfinite, arms[name].epsilons))]
    styles = style.curve_styles(
        curves,
        {name: arms[name].calibration for name in curves},
        {name: arms[name].delta for name in curves},
        [name for name in curves if kinds.kind(arms[name]) == kinds.UNPAID],
    )
    levels = style.baseline_dashes([name for name in arms if name not in styles])
    return {name: _level(dashes) for name, dashes in levels.items()} | {
        name: {
            **{"colour": one.colour, "dark": style.DARK[one.colour], "thin": one.thin},
            **{"symbol": SYMBOLS[one.marker], "filled": one.filled},
            "dash": [] if one.linestyle == "-" else one.linestyle[1],
        }
        for name, one in styles.items()
    }


def _level(dashes: Sequence[float]) -> dict[str, Any]:
    return {"colour": "", "dark": "", "thin": False, "symbol": "", "filled": True, "dash": dashes}


def _references(rows: Iterable[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return the curves of models that are no methods of a study: one point each, without an ε."""
    dashes = style.baseline_dashes(REFERENCES)
    return [
        {
            **{"dataset": row["dataset"], "arm": row["arm"], "learner": row["learner"]},
            **{"title": REFERENCES[row["arm"]], "calibration": "", "delta": row["delta"]},
            **{"relation": "", **_level(dashes[row["arm"]])},
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


def static(
    studies: Iterable[Mapping[str, Any]],
    sentences: Mapping[tuple[str, str], str],
    pictures: Mapping[tuple[str, str], str],
) -> str:
    """Return what is seen without scripts: sentences, pictures (PNG in base 64), all accuracies."""
    parts = [
        "<p>Without JavaScript this page has pictures and accuracies. With it there are other "
        "measures, settings and a choice of learners, all of which is also in "
        "<code>results/tables</code>.</p>"
    ]
    for study in studies:
        for name, title in study["datasets"]:
            curves = [one for one in study["curves"] if one["dataset"] == name]
            sentence = sentences.get((study["name"], name), "")
            picture = pictures.get((study["name"], name), "")
            image = f'<p><img src="data:image/png;base64,{picture}" alt="Accuracy against ε"></p>'
            parts += [
                f"<h2>{html.escape(title)}: {html.escape(study['title'])}</h2>",
                *(
                    [f"<p>{html.escape(sentence[0].upper() + sentence[1:])}.</p>"]
                    if sentence
                    else []
                ),
                *([image] if picture else []),
                "<table><thead><tr><th>Learner</th><th>ε: accuracy ± standard deviation</th></tr>"
                f"</thead><tbody>{''.join(map(_still_row, curves))}</tbody></table>",
            ]
    return "\n".join(parts)


def _still_row(curve: Mapping[str, Any]) -> str:
    cells = [_still_score(dict(zip(POINT, point, strict=True))) for point in curve["points"]]
    return f"<tr><th>{html.escape(curve['title'])}</th><td>{' '.join(cells)}</td></tr>"


def _still_score(point: Mapping[str, str]) -> str:
    at = "no privacy" if point["epsilon"] == "inf" else point["epsilon"]
    if not point["accuracy"]:
        return f"<span>{at}: missing</span>"
    spread = f" ± {float(point['accuracy_std']):.{DIGITS}f}" if point["accuracy_std"] else ""
    return f"<span>{at}: {float(point['accuracy']):.{DIGITS}f}{spread}</span>"


FOLDER = Path(__file__).with_name("page")
PARTS = ("page.html", "page.css", "view.js", "chart.js", "page.js")


def sources() -> str:
    """Return a digest of template, style and scripts."""
    return hashlib.sha256(b"".join((FOLDER / name).read_bytes() for name in PARTS)).hexdigest()


def page(data: Mapping[str, Any], warning: str = "", still: str = "") -> str:
    """Return the page of :func:`page_data`: HTML that needs no other file.

    A warning stands above everything, without any script; `still` (:func:`static`) is for who has
    none.
    """
    template, look, *scripts = ((FOLDER / name).read_text("utf-8") for name in PARTS)
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # In this order: what is put in may hold what is looked for later, and must not be replaced.
    before, _, rest = template.partition("/*STYLE*/")
    middle, _, rest = rest.partition("/*DATA*/")
    note = f'<p class="warning" role="note">{html.escape(warning)}</p>' if warning else ""
    middle = middle.replace("<!--WARNING-->", note)
    middle = middle.replace("<!--STATIC-->", still)
    last, _, after = rest.partition("/*SCRIPT*/")
    # `</script>` in a name would end the element; \u003c is the same to JSON.
    inside = text.replace("<", "\\u003c")
    return "".join((before, look, middle, inside, last, *scripts, after))
