"""Make an HTML page on which learner to use: curves, scores, settings, ledgers and audit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from privcurve.analysis.keys import method_of, short_text
from privcurve.analysis.measures import IN_TABLES, LOSSES, RANKED
from privcurve.experiments import kinds
from privcurve.figures import pictures
from privcurve.figures.page import Block, Folded, Heading, Links, Page, Picture, Points, Rows, Text
from privcurve.figures.style import COLOURS, method_looks
from privcurve.files import replace_text
from privcurve.lazy import pd
from privcurve.outputs import price
from privcurve.outputs.accuracy import FRESH_NOTES, SELECTION_NOTES
from privcurve.outputs.answers import (
    LEDGERS,
    RAW,
    REFERENCES,
    Ranking,
    errors_key,
    full_sentence,
    rankings,
    short_metric_name,
)
from privcurve.outputs.base import (
    SLASH,
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    dataset_title,
    description_of,
    metric_name,
)
from privcurve.outputs.wishes import Needed, Wish, needed_epsilon
from privcurve.privacy.budget import LOOKED
from privcurve.privacy.ledger import KNOWN
from privcurve.stored import spoken_frame
from privcurve.tables.table import MISSING, read_table

RESULTS = Path("results")
# Tables that the page shows: each study must have the table `accuracy`; the others are optional.
ACCURACY, SETTINGS, PRICE = "accuracy", "selected_settings", "price"
TABLES = (ACCURACY, SETTINGS, LEDGERS, RAW, PRICE)
AUDIT = "audit"
# Name of the output that audits all learners; it belongs to the entire run, not to a study.
RUN_AUDIT = f"{SLASH}{AUDIT}"
TITLE = "Privacy and accuracy"
OWNERS = "These are exact statistics of private records: show them to owners of the records only."
AUDIT_NOTE = (
    "Found ε is the largest ε of any attack, next to the ε that the attacked training "
    "claimed. It can refute a claim, but not prove one."
)
NOT_AUDITED = (
    "No audit is available: it attacks learners, not these data. In a checkout of "
    "privcurve “snakemake --cores all audit” attacks each of them (docs/audit.md)."
)
# Maximum number of coloured curves in a picture, as readers cannot distinguish more colours; other
# curves are grey.
MOST_CURVES = 5
GREY = (
    " Grey: learners that rank lower, or whose ε is not proved or does not cover the "
    "choice of settings."
)
GAP = " A curve has a gap where a training has failed."
# If learners are compared at more than this number of ε on a dataset, the page shows only the
# answer for the ε nearest to 1; the reader must unfold the other answers.
MOST_ANSWERS = 3
# Scores far worse than the constant prediction's score are cut off: beyond that score, the axis
# only has this share of the distance from the constant prediction's score to the best score.
BELOW_MAJORITY = 0.15
PLACE = ["dataset", "method", "epsilon"]
# Columns of the table `selected_settings` that are not hyperparameters.
NO_SETTING = {
    "dataset", "method", "learner", "calibration", "delta", "epsilon", "kind",
    "n_settings", "n_failed_settings", "status", "error",
}  # fmt: skip


class Leaderboard(Output):
    """Page ``leaderboard``: one HTML file that requests nothing from any network."""

    word: ClassVar[str] = "leaderboard"
    version: ClassVar[int] = 13
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "tables": Option(
            "a list of tables, each <study>/accuracy, <study>/selected_settings, "
            "<study>/ledgers, <study>/raw, <study>/price, or /audit (of all learners); by "
            "default the tables of the study",
            list,
            None,
        ),
        "want": Option(
            "a score for which the page gives ε: 'auc >= 0.9', 'accuracy within 0.02'", str, None
        ),
    }

    def check(self, request: OutputRequest) -> None:
        names = request.options["tables"] or ()
        for name in names:
            study, slash, word = str(name).partition(SLASH)
            if name == RUN_AUDIT:
                continue
            if not (study and slash and word in TABLES):
                raise ValueError(
                    f"tables: each must be <study>/<{' or '.join(TABLES)}>; got {name!r}"
                )
            first = f"{study}{SLASH}{ACCURACY}"
            if first not in names:
                raise ValueError(f"tables: {first} is required to include {study}; add it")
        wish = request.options["want"] and Wish.parse(request.options["want"])
        if wish and wish.metric != request.study.metric:
            raise ValueError(
                f"want: must be about the study's metric, {request.study.metric}; got {wish}"
            )

    def files(self, request: OutputRequest) -> Files:
        return Files(others={"page": (RESULTS / request.place).with_suffix(".html")})

    def reads(self, request: OutputRequest) -> Reads:
        mine = [word for word, _ in request.study.outputs if word in (*TABLES, AUDIT)]
        names = request.options["tables"] or dict.fromkeys((ACCURACY, *mine))
        return Reads(outputs=tuple(names))

    def facts(self, context: Context) -> Any:
        """Return titles of studies, methods and datasets on the page, and its private datasets.

        The page is made again if these change.
        """
        return [
            [
                outputs[ACCURACY].study.name,
                outputs[ACCURACY].study.title,
                {name: method.title for name, method in outputs[ACCURACY].study.methods.items()},
                {name: description_of(name).title for name in outputs[ACCURACY].study.datasets},
            ]
            for outputs in _studies(context)
        ] + _private_datasets(context)

    def make(self, context: Context) -> None:
        audits = [context.others[name] for name in (RUN_AUDIT, AUDIT) if name in context.others]
        worst = _worst_findings(audits[0].files.frames[0]) if audits else None
        wish = context.options["want"] and Wish.parse(context.options["want"])
        private = bool(_private_datasets(context))
        page = page_of(_studies(context), private, worst, wish or None, context.code_notes)
        replace_text(context.request.files.others["page"], page.html())


# The outputs of one study that the page shows, indexed by `Output.word`.
Outputs = Mapping[str, OutputRequest]
# The worst finding of the audit as a text, by (learner, calibration, relation, whether δ > 0).
Audit = Mapping[tuple[str, str, str, bool], str]


def _studies(context: Context) -> list[Outputs]:
    """Return the outputs that the page shows, one mapping for each study."""
    others = context.others
    names = [name for name in others if name.rpartition(SLASH)[2] == ACCURACY]
    prefixes = [name.removesuffix(ACCURACY) for name in names]
    return [{word: others[p + word] for word in TABLES if p + word in others} for p in prefixes]


def _private_datasets(context: Context) -> list[str]:
    """Return the datasets on the page whose records are private."""
    datasets = [name for outputs in _studies(context) for name in outputs[ACCURACY].study.datasets]
    return [name for name in dict.fromkeys(datasets) if not description_of(name).public_benchmark]


def page_tables(outputs: Iterable[OutputRequest]) -> list[str]:
    """Return the names of the outputs that a page of a study shows; none without ``accuracy``."""
    words = [one.output.word for one in outputs]
    return [word for word in TABLES if word in words] if ACCURACY in words else []


def page_of(
    studies: Sequence[Outputs],
    private: bool,
    audit: Audit | None,
    wish: Wish | None,
    warnings: Iterable[str] = (),
) -> Page:
    """Return the page, with a section for each dataset of `studies`.

    `private` says whether the page has exact statistics of private records. `audit` has the
    findings of the audit. `wish` is a wanted score: the page says which ε reaches it. The page
    begins with the `warnings`.
    """
    parts: list[tuple[str, str, Iterator[Block]]] = []
    for outputs in studies:
        study = outputs[ACCURACY].study
        of = f": {study.title}" if len(studies) > 1 else ""
        for dataset in study.datasets:
            own = f"{dataset}, {study.name}" if len(studies) > 1 else dataset
            blocks = _section(outputs, dataset, audit, wish)
            parts.append((f"{dataset_title(dataset)}{of}", own, blocks))
    counts = Counter(title for title, _, _ in parts)
    sections = {
        f"{title} ({own})" if counts[title] > 1 else title: blocks for title, own, blocks in parts
    }
    frames = [read_table(outputs[ACCURACY].files.frames[0]) for outputs in studies]
    scored_on = set(pd.concat(frames)["scored_on"].dropna())
    notes = [errors_key("score", scored_on), *SELECTION_NOTES, *FRESH_NOTES[1:]]
    notes += kinds.NOTES
    if any(PRICE in outputs for outputs in studies):
        notes += [price.KEY, f"{REFERENCES[RAW]}: {price.LEARNER}", *price.PRICE_NOTES]
    notes.append(NOT_AUDITED if audit is None else AUDIT_NOTE)
    return Page(
        TITLE,
        (
            *([Text(OWNERS, warning=True)] if private else []),
            *(Text(warning, warning=True) for warning in warnings),
            *([Links(tuple(sections))] if len(sections) > 1 else []),
            *(
                block
                for title, blocks in sections.items()
                for block in (Heading(title), *blocks)
            ),
            Folded("What the numbers mean", (*([Text(LOOKED)] if private else []),
                                           Points(tuple(notes)))),
        ),
    )  # fmt: skip


def _section(
    outputs: Outputs, dataset: str, audit: Audit | None, wish: Wish | None
) -> Iterator[Block]:
    """Yield the blocks of the page about one dataset: answers, pictures and tables."""
    study = outputs[ACCURACY].study
    all_epsilons = {e for method in study.methods.values() for e in method.epsilons}
    epsilons = sorted(filter(math.isfinite, all_epsilons))
    # A study without private methods ranks only its methods without privacy.
    ranked_at = epsilons or [math.inf]
    places = rankings(outputs, dataset, ranked_at)
    want, is_of_metric = None, wish is not None and wish.metric == study.metric
    if wish is not None:
        # On a page of several studies, the wanted score may be of another metric than this study's
        # metric.
        wished = places if is_of_metric else rankings(outputs, dataset, ranked_at, wish.metric)
        want = needed_epsilon(wished, wish)
    if want is not None:
        yield Text(full_sentence(want.sentence), answer=True)
    prices = price.sentences(outputs[PRICE], dataset, study.metric) if PRICE in outputs else {}
    answers = [answer(place, prices) for place in places] if epsilons else []
    first = min(range(len(answers)), key=lambda k: abs(math.log(epsilons[k])), default=0)
    unfolded = range(len(answers)) if len(answers) <= MOST_ANSWERS else [first]
    for k in unfolded:
        yield from answers[k]
    if epsilons:
        named = _colours(places)
        yield _picture(places, named, want if is_of_metric else None)
        others = [
            _picture(ranked, named)
            for name in RANKED
            if name != study.metric
            for ranked in [rankings(outputs, dataset, epsilons, name)]
            if any(len(place.private) for place in ranked)
        ]
        if others:
            yield Folded("By other measures", tuple(others), 3)
    rest = [block for k, one in enumerate(answers) if k not in unfolded for block in one]
    if rest:
        yield Folded("At the other ε", tuple(rest), 3)
    if remark := places[0].remark():
        yield Text(remark)
    yield Folded("Every score", tuple(_scores(places)), 3)
    yield Folded("Settings and ledgers", (_details(outputs, places, audit),), 3)


def answer(place: Ranking, prices: Mapping[str, str]) -> tuple[Text, ...]:
    """Return sentences on the learner to use at an ε, and on what encoding and privacy cost.

    `prices` has the sentences on costs, indexed by ε as text.
    """
    more = [prices[at]] if (at := short_text(place.epsilon)) in prices else []
    return (
        Text(full_sentence(place.sentence()), answer=True),
        *(Text(full_sentence(one)) for one in more),
    )


def _picture(
    places: Sequence[Ranking], named: Mapping[str, int], want: Needed | None = None
) -> Picture:
    """Return the picture of the learners' scores: dots if there is one ε, curves if several.

    `places` are the rankings by one metric, sorted by ε. `named` has the colour numbers of methods;
    other methods are grey. `want` has a wanted score and the ε at which it is
    reached; the picture marks both.
    """
    last = places[-1]
    metric = last.metric
    levels = [(name, float(row[metric])) for name, row in _levels(last)]
    rows = pd.concat([place.eligible for place in places])
    error = max(rows["error"][rows["method"].isin(named)].dropna(), default=0.0)
    ends = _axis_ends(rows[metric].tolist(), error, levels, metric)
    name = metric_name(metric)
    title = f"{name[0].upper()}{name[1:]}{' (less is better)' * (metric in LOSSES)}"
    if len(places) == 1:
        dots = []
        for _, row in last.private.iterrows():
            label, colour = last.marked_name(row), named.get(row["method"])
            dots.append(pictures.Row(label, _point(last, row), last.score(row), colour))
        caption = f"± one standard error.{GREY * any(dot.colour is None for dot in dots)}"
        return Picture(pictures.draw_ranks(dots, levels, ends, title), caption)
    lines = []
    for method in {method: None for place in places for method in place.private["method"]}:
        mine = [(place, row) for place in places for _, row in place.private.iterrows()
                if row["method"] == method]  # fmt: skip
        at, row = mine[-1]
        points = [_point(place, row) for place, row in mine]
        points += [pictures.Point(place.epsilon, math.nan) for place in places
                   if method in place.failed_methods]  # fmt: skip
        line = tuple(sorted(points, key=lambda point: point.x))
        lines.append(pictures.Line(at.marked_name(row), line, named.get(method)))
    lines.sort(key=lambda line: line.colour is not None)
    mark = want and pictures.Mark(want.target, want.epsilon, want.low, want.high)
    caption = f"Bands: ± one standard error.{GREY * any(line.colour is None for line in lines)}"
    caption += GAP * any(math.isnan(point.y) for line in lines for point in line.points)
    axes = ("privacy budget ε", title)
    return Picture(pictures.curves(lines, levels, ends, axes, mark or None), caption)


def _point(place: Ranking, row: pd.Series) -> pictures.Point:
    hint = f"{place.name(row)}, ε = {place.epsilon:g}: {place.score(row)}"
    error = float(row["error"]) if row["error"] > 0 else 0.0
    return pictures.Point(place.epsilon, float(row[place.metric]), error, hint)


def _levels(place: Ranking) -> Iterator[tuple[str, pd.Series]]:
    """Yield the reference lines: the best model without privacy, and the constant prediction.

    A line is a pair: a name, and the row of the table ``accuracy`` with the score.
    """
    if len(place.coded_models):
        yield "no privacy", place.coded_models.iloc[0]
    if place.majority is not None:
        yield "most frequent label", place.majority


def _colours(places: Sequence[Ranking]) -> dict[str, int]:
    """Return the colour numbers of the methods with the best mean ranks, at most `MOST_CURVES`.

    A method has the same colour as in the learning curves. If several methods have the same colour
    there, only the best of these methods gets a colour. A user's own learner gets no colour, as
    only its author claims its ε.
    """
    ranks: dict[str, list[float]] = {}
    for place in places:
        for k, method in enumerate(place.eligible["method"]):
            if method not in place.contracts:
                ranks.setdefault(method, []).append(k)
    best = sorted(ranks, key=lambda method: sum(ranks[method]) / len(ranks[method]))
    looks = method_looks(map(method_of, ranks))
    colours = {method: COLOURS.index(looks[method_of(method)][0]) for method in best}
    firsts = {colour: method for method, colour in reversed(colours.items())}
    chosen = [method for method in best if firsts[colours[method]] == method]
    return {method: colours[method] for method in chosen[:MOST_CURVES]}


def _axis_ends(
    scores: Sequence[float], error: float, levels: Sequence[tuple[str, float]], metric: str
) -> tuple[float, float]:
    """Return the ends of the axis of scores, with room for an error bar of length `error`.

    `levels` are the reference lines. Scores far worse than the constant prediction are cut off.
    """
    heights = [*scores, *(height for _, height in levels)] or [0.0, 1.0]
    low, high = min(heights), max(heights)
    if levels and levels[-1][0] == "most frequent label":
        base = levels[-1][1]
        if metric in LOSSES:
            high = min(high, base + max(BELOW_MAJORITY * (base - low), error))
        else:
            low = max(low, base - max(BELOW_MAJORITY * (high - base), error))
    room = max(0.05 * (high - low), error) or 0.05
    return max(low - room, 0.0), high + room


def _scores(places: Sequence[Ranking]) -> Iterator[Block]:
    """Yield a table of scores for each ε, and a table of the scores without privacy."""
    for place in places:
        yield from _table(f"ε = {place.epsilon:g}", place, place.private)
    yield from _table("Without privacy", places[0], places[0].free)


def _table(title: str, place: Ranking, rows: pd.DataFrame) -> Iterator[Block]:
    if rows.empty:
        return
    names = [place.marked_name(row) for _, row in rows.iterrows()]
    others = [name for name in IN_TABLES if name != place.metric and name in rows]
    scores = (place.metric, *others)
    columns = [[place.score(row, name) for _, row in rows.iterrows()] for name in scores]
    yield Heading(title, 4)
    header = ("learner", *map(short_metric_name, scores))
    yield Rows(header, list(zip(names, *columns, strict=True)))


def _details(outputs: Outputs, places: Sequence[Ranking], audit: Audit | None) -> Rows:
    """Return a table of each learner at each ε: its setting, ledger and audit."""
    words = [word for word in (SETTINGS, LEDGERS) if word in outputs]
    frames = {word: read_table(outputs[word].files.frames[0]) for word in words}
    rows = []
    for place in places:
        for _, row in place.private.iterrows():
            cells = [place.marked_name(row), f"{place.epsilon:g}"]
            for word, written in ((SETTINGS, _setting), (LEDGERS, _ledger)):
                frame = frames.get(word, pd.DataFrame(columns=PLACE))
                mine = frame[frame[PLACE].eq(row[PLACE]).all(axis=1)]
                cells.append("".join(written(one) for _, one in mine.iterrows()) or MISSING)
            if audit is not None:
                method = outputs[ACCURACY].study.methods[row["method"]]
                claim = (method.learner, method.calibration or "", method.claim, row["delta"] > 0)
                cells.append(audit.get(claim, MISSING))
            rows.append(tuple(cells))
    header = ("learner", "ε", "setting", "ledger", *(["found by the audit"] if audit else []))
    return Rows(header, rows)


def _setting(row: pd.Series) -> str:
    """Write the hyperparameters in a row of the table `selected_settings`."""
    setting = {
        name: value
        for name, value in row.items()
        if name not in NO_SETTING and isinstance(value, str | int | float) and value == value
    }
    return ", ".join(f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
                     for name, value in setting.items())  # fmt: skip


def _ledger(row: pd.Series) -> str:
    """Write the ledger in a row of the table `ledgers`; add the status if ε is not proved."""
    status = "" if row["status"] in KNOWN else f" ({row['status']})"
    return str(row["ledger"]).removeprefix("The model is made of ") + status


def _worst_findings(audit: Path) -> Audit:
    """Return the worst finding against each claim, as text: found ε, claimed ε and verdict."""
    from privcurve.audit import report

    stated = report.rows_of_claims(spoken_frame(pd.read_csv(audit)))
    worst = {}
    for _, row in report.worst_rows(stated).iterrows():
        key = (row["learner"], row["calibration"], row["neighbours"], row["delta"] > 0)
        delta = f", δ = {row['delta']:g}" if row["delta"] > 0 else ""
        largest = f"{row['found_epsilon']:.3f}" if row["found_epsilon"] > 0 else "none"
        worst[key] = f"{largest} of {row['epsilon']:g}{delta} ({row['method']}): {row['verdict']}"
    return worst
