"""Make the tables and figures of the arena, which compares private classifiers on many datasets."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from privcurve.analysis import arena, ranks
from privcurve.analysis.keys import short_text
from privcurve.analysis.measures import MEASURES, RANKED
from privcurve.experiments.results import IncompleteError
from privcurve.figures import style
from privcurve.home import home
from privcurve.lazy import Axes, Figure, pd, ticker
from privcurve.numerals import power
from privcurve.outputs import checks
from privcurve.outputs import runs as run_files
from privcurve.outputs.base import (
    SLASH,
    Context,
    Files,
    Option,
    Output,
    OutputRequest,
    Reads,
    check_name,
    dataset_title,
)
from privcurve.outputs.runs import Runs, suite_of
from privcurve.privacy.budget import ADD_REMOVE, PROVED
from privcurve.tables.table import MISSING, Table, format_decimals

# Value of the option `against` that selects FROZEN_FILE, the results that ship with this version.
FROZEN = "frozen"
FROZEN_FILE = Path("resources/arena/results.parquet")
REFERENCE = "privgam"
FREE, GUESS = "gb", "majority"
RESULTS = "results"
MEANS, WINS, TABLES = "means", "wins", "tables"

MEANS_NOTES = (
    "Each table counts once, with the mean of its hold-outs; 'lost' is by how much boosting "
    "without privacy is ahead. By log loss less is better. Seconds are those of a fit; memory is "
    "the most that its process had during a fit, imports included.",
    "Status: 'proved' is a theorem of this project and a test; 'claimed' is an author's word.",
)
WINS_NOTES = (
    "A difference is by how much a method is ahead of {reference} with the same neighbours, both "
    "with δ or both without, as a mean over tables; brackets are 95 % intervals by bootstrap over "
    "tables. A table is won or lost if the difference is beyond two of its standard errors, which "
    "cover the draw of the records (Nadeau and Bengio 2003).",
    "p (Wilcoxon) is exact and of the mean differences of tables, p (Holm) is corrected for all "
    "methods of a measure and ε.",
)
TABLES_NOTES = (
    "AUC at ε = {epsilon}, the mean of the hold-outs; the best private method of a row is bold.",
    "{mark} Somebody has looked at results of PrivGAM on this table before: docs/arena.md.",
)
MARK = "*"
# Added to captions and notes about the second suite: datasets whose records set constants of
# PrivGAM.
SET_ON_CAPTION = ", on tables that set PrivGAM"
SET_ON_NOTE = (
    "Records of these tables, also those that score here, set constants of PrivGAM or trained its "
    "network: PrivGAM's results are too good."
)
# Maps methods to Matplotlib's keyword arguments for their lines.
Looks = Mapping[str, Mapping[str, Any]]


class Arena(Output):
    """Tables, figures and a file that compare methods by their runs in one or several studies.

    The output reads the output ``runs`` of the study or, if the study combines other studies, of
    each of these studies. If the option `against` is set, it also reads the runs in a file. All
    datasets must be of one suite, so that no mean mixes datasets that set constants of PrivGAM with
    other datasets.
    """

    word: ClassVar[str] = "arena"
    version: ClassVar[int] = 3
    writes: ClassVar = ("table", "figure")
    gathers: ClassVar[bool] = True
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "against": Option(f"{FROZEN!r}, or a file of runs to compare with", str, None),
        "shown": Option("a list of methods that figures and the table of tables show", list, None),
        "epsilon": Option("ε of the table of tables", float, 1.0),
        "looks": Option("a list of datasets on which PrivGAM was looked at before", list, None),
    }

    def check(self, request: OutputRequest) -> None:
        for name in request.options["looks"] or ():
            if request.study.datasets:
                check_name("looks: the study has no dataset", name, request.study.datasets)
        if why := mixed_suites({name: suite_of(name) for name in request.study.datasets}):
            raise ValueError(why)

    def files(self, request: OutputRequest) -> Files:
        parts = [
            request.table.with_name(f"{request.table.name}_{part}")
            for part in (MEANS, WINS, TABLES)
        ]
        figures = (request.figure, request.figure.with_name(f"{request.figure.name}_{TABLES}"))
        folder = run_files.FOLDER
        results = folder / f"{RESULTS}.parquet"
        if request.place.parts[0] != folder.name:
            results = folder / request.place.parts[0] / f"{RESULTS}.parquet"
        others = {RESULTS: results, checks.FILE: checks.beside(results)}
        return Files(tables=tuple(parts), figures=figures, others=others)

    def reads(self, request: OutputRequest) -> Reads:
        words = (Runs.word, checks.Checks.word)
        studies = [f"{name}{SLASH}{word}" for name in request.study.studies for word in words]
        against = request.options["against"]
        resources: list[Path] = []
        if against:
            path = against_file(against)
            resources = [path, *filter(Path.is_file, [checks.beside(path)])]
        return Reads(outputs=tuple(studies or words), resources=tuple(resources))

    def make(self, context: Context) -> None:
        request = context.request
        others = [other.files.others for other in context.others.values()]
        frames = [run_files.read(files[Runs.word]) for files in others if Runs.word in files]
        tried = [checks.read(files[checks.FILE]) for files in others if checks.FILE in files]
        own = pd.concat(frames, ignore_index=True)
        shown = [*(request.options["shown"] or default_shown(own))]
        if request.options["against"]:
            shown = list(dict.fromkeys([*default_shown(own), *shown]))
            path = against_file(request.options["against"])
            own = beside(own, run_files.read(path))
            tried.append(checks.read(checks.beside(path)))
        passed = pd.concat(tried, ignore_index=True).drop_duplicates("method")
        passed = passed[passed["method"].isin(own["method"])]
        if why := mixed_suites(dict(zip(own["dataset"], own["suite"], strict=True))):
            raise IncompleteError(f"{request.study.name}: {self.word}: {why}")
        files = request.files
        run_files.write(own, files.others[RESULTS])
        checks.write(passed, files.others[checks.FILE])
        means, wins, tables = files.tables
        context.write(means_table(own, passed), means)
        context.write(wins_table(own), wins)
        there = [name for name in shown if name in set(own["method"])]
        looks = request.options["looks"] or ()
        context.write(tables_table(own, there, float(request.options["epsilon"]), looks), tables)
        mean = arena.mean_scores(own, FREE)
        drawn = mean[mean["method"].isin([*there, FREE, GUESS])]
        each = own[own["method"].isin([*there, FREE, GUESS])]
        looks, titles = looks_of(each), titles_of(own)
        context.draw(draw_means(drawn, titles, looks), drawn, files.figures[0])
        means_of = arena.table_means(each)
        context.draw(draw_tables(means_of, titles, looks), means_of, files.figures[1])


def mixed_suites(suites: Mapping[str, str]) -> str | None:
    """Return a message if datasets belong to different suites, else None.

    `suites` maps datasets to their suites.
    """
    firsts = {suite: name for name, suite in reversed(list(suites.items()))}
    if len(firsts) < 2:
        return None
    got = " and ".join(f"{name} ({suite})" for suite, name in sorted(firsts.items()))
    return f"datasets must be of one suite of the arena; got {got}; make a study for each suite"


def suite_notes(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the note on datasets that set constants of PrivGAM, if `runs` has such datasets."""
    return (SET_ON_NOTE,) if runs["suite"].eq(run_files.SET_ON).any() else ()


def against_file(word: str) -> Path:
    """Return the path of the file of runs that the value `word` of the option `against` names."""
    return home() / FROZEN_FILE if word == FROZEN else Path(word)


def beside(own: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the runs `own`, and the runs of `others` on the same datasets and hold-outs.

    If `own` has runs at finite ε, runs of `others` at any other finite ε are omitted. Methods of
    `others` with the name of a method of `own` are omitted. Raises IncompleteError if no run of
    `others` remains.
    """
    finite = own[own["epsilon"].map(math.isfinite)]
    keys = ["dataset", "fold", "split"]
    places = own[keys].drop_duplicates()
    kept = others[~others["method"].isin(set(own["method"]))].merge(places, on=keys)
    alike = kept["epsilon"].isin({*finite["epsilon"]}) | kept["epsilon"].map(math.isinf)
    kept = kept[alike | finite.empty]
    if kept.empty:
        raise IncompleteError("the two files of runs have no table and ε in common")
    return pd.concat([own, kept[own.columns]], ignore_index=True)


def titles_of(runs: pd.DataFrame) -> dict[str, str]:
    """Return each method's title; add-remove, δ > 0 and a status other than proved are added."""
    titles = {}
    for row in runs.drop_duplicates("method").to_dict("records"):
        words = [row["title"]]
        if row["neighbours"] == ADD_REMOVE and ADD_REMOVE not in row["title"]:
            words.append(ADD_REMOVE)
        if row["delta"] > 0:
            words.append(f"δ = {power(row['delta'])}")
        if row["status"] not in (PROVED, run_files.NOT_PRIVATE):
            words.append(row["status"])
        titles[row["method"]] = ", ".join(words)
    return titles


def default_shown(runs: pd.DataFrame) -> list[str]:
    """Return the methods that are trained at a finite ε, in the order of the runs."""
    finite = runs[runs["epsilon"].map(math.isfinite)]
    return list(dict.fromkeys(finite["method"]))


def means_table(runs: pd.DataFrame, passed: pd.DataFrame) -> Table:
    """Return the table of each method at each ε: mean scores over datasets, and checks.

    `passed` has the checks of the methods, as :func:`.checks.read` returns them.
    """
    facts = runs.drop_duplicates("method").set_index("method")
    facts = facts.join(passed.set_index("method")[["contract", "measured", "reason"]])
    frame = arena.mean_scores(runs, FREE)
    names = ("title", "status", "contract", "measured", "delta", "neighbours", "suite")
    for place, name in enumerate(names, start=2):
        frame.insert(place, name, [facts.loc[method, name] for method in frame["method"]])
    texts = pd.DataFrame({"ε": frame["epsilon"].map(_epsilon), "method": frame["title"]})
    texts["status"] = frame["status"]
    texts["contract"] = [checks.short_contract(text) for text in frame["contract"]]
    texts["measured ε at 1"] = [checks.describe(value) for value in frame["measured"]]
    texts["δ"] = [power(delta) if delta else "0" for delta in frame["delta"]]
    texts["neighbours"] = frame["neighbours"].replace("", MISSING)
    for measure in RANKED:
        texts[MEASURES[measure].title] = format_decimals(frame[measure], 3)
        texts[f"lost {MEASURES[measure].title}"] = format_decimals(frame[f"lost_{measure}"], 3)
    texts["tables"] = frame["n_datasets"].astype(str)
    texts["hold-outs"] = frame["n_splits"].astype(str)
    texts["seconds"] = format_decimals(frame["seconds"], 2)
    texts["MiB"] = format_decimals(frame["memory"], 0)
    caption = f"Methods in the arena, means over tables{_of_suite(runs)}"
    private = facts[facts["neighbours"] != ""]
    titles, reasons = titles_of(runs), private["reason"].fillna(checks.NOT_MEASURED)
    whys = [f"{titles[str(method)]}: {reason}." for method, reason in reasons.items() if reason]
    without = (f"Without a measured ε: {' '.join(whys)}",) if whys else ()
    return Table(frame, caption, (*MEANS_NOTES, checks.NOTE, *without, *suite_notes(runs)), texts)


def _of_suite(runs: pd.DataFrame) -> str:
    return SET_ON_CAPTION if suite_notes(runs) else ""


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else short_text(value)


def wins_table(runs: pd.DataFrame) -> Table:
    """Return the table of differences between each method and its reference, a PrivGAM method.

    :func:`.find_references` says which PrivGAM method is the reference.
    """
    titles = titles_of(runs)
    references = arena.find_references(runs, REFERENCE)
    frame = arena.compare(runs, references)
    texts = pd.DataFrame({"measure": [MEASURES[name].cost for name in frame["measure"]]})
    texts["ε"] = frame["epsilon"].map(_epsilon)
    texts["method"] = frame["method"].map(titles)
    texts["difference"] = [
        f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
        for mean, low, high in zip(frame["difference"], frame["low"], frame["high"], strict=True)
    ]
    counts = zip(*(frame[name] for name in (arena.WINS, arena.EVEN, arena.LOSSES)), strict=True)
    texts["wins/level/losses"] = [
        f"{won}/{even}/{lost}" if won + even + lost else MISSING for won, even, lost in counts
    ]
    for name, column in (("p (Wilcoxon)", "p_value"), ("p (Holm)", "p_holm")):
        values = format_decimals(frame[column], 4)
        texts[name] = ["< 0.0001" if text == "0.0000" else text for text in values]
    texts["tables"] = frame["n_datasets"].astype(str)
    reference = runs.loc[runs["learner"] == REFERENCE, "title"]
    of = reference.iloc[0] if len(reference) else "PrivGAM, which has no runs here,"
    notes = (WINS_NOTES[0].format(reference=of), *WINS_NOTES[1:], *what_can_be_found(frame))
    caption = f"Methods beside {of} over tables{_of_suite(runs)}"
    return Table(frame, caption, (*notes, *suite_notes(runs)), texts)


def what_can_be_found(frame: pd.DataFrame) -> list[str]:
    """Return a note on the differences that the tests can detect with this number of datasets.

    `frame` has the comparisons of :func:`.analysis.arena.compare`.
    """
    if frame.empty:
        return []
    n_methods = int(frame.groupby(["measure", "epsilon"])["method"].nunique().max())
    n_tables = int(frame["n_datasets"].max())
    ranks_against = arena.most_against(n_tables, n_methods)
    least = arena.least_tables(n_methods)
    if ranks_against is None:
        return [
            f"With {n_tables} tables and {n_methods} methods no difference can be found: the exact "
            f"test with Holm's correction needs {least} tables for that."
        ]
    total = n_tables * (n_tables + 1) // 2
    return [
        f"What can be found at all, of {n_methods} methods on {n_tables} tables: the method with "
        f"the smallest p-value has p (Holm) < {ranks.LEVEL:g} if the ranks of the tables that "
        f"speak against it add up to at most {ranks_against} of {total} (rank {n_tables} is that "
        f"of the largest difference). Below {least} tables nothing can be found."
    ]


def tables_table(
    runs: pd.DataFrame, shown: Sequence[str], epsilon: float, looks: Sequence[str]
) -> Table:
    """Return the table of AUC at one ε: a row per dataset, a column per method, the best in bold.

    `shown` are the private methods with a column; the table marks the datasets `looks`, on
    which PrivGAM had been evaluated before this study.
    """
    of_table = arena.table_means(runs)
    titles = titles_of(runs)
    columns = [*shown, *(name for name in (FREE, GUESS) if name in set(runs["method"]))]
    at = of_table[(of_table["epsilon"] == epsilon) | of_table["epsilon"].map(math.isinf)]
    wide = at[at["method"].isin(columns)].pivot(index="dataset", columns="method", values="auc")
    wide = wide.reindex(columns=[name for name in columns if name in wide])
    private = wide[[name for name in shown if name in wide]].round(3).max(axis=1)
    texts = pd.DataFrame(
        {"table": [_name_table(name, name in looks) for name in wide.index]}, index=wide.index
    )
    for name in map(str, wide):
        cells = format_decimals(wide[name], 3)
        texts[titles[name]] = [
            f"**{cell}**" if name in shown and value == value and round(value, 3) == best else cell
            for cell, value, best in zip(cells, wide[name], private, strict=True)
        ]
    mean = {titles[name]: f"{wide[name].mean():.3f}" for name in map(str, wide)}
    texts = pd.concat([texts, pd.DataFrame([{"table": "mean", **mean}])], ignore_index=True)
    notes = [TABLES_NOTES[0].format(epsilon=short_text(epsilon))]
    if any(name in looks for name in wide.index):
        notes.append(TABLES_NOTES[1].format(mark=MARK))
    caption = f"AUC at ε = {short_text(epsilon)} on each table{_of_suite(runs)}"
    return Table(wide.reset_index(), caption, (*notes, *suite_notes(runs)), texts)


def _name_table(name: str, looked: bool) -> str:
    return f"{dataset_title(name)} {MARK}" if looked else dataset_title(name)


def draw_means(means: pd.DataFrame, titles: Mapping[str, str], looks: Looks) -> Figure:
    """Draw the mean scores of methods over datasets against ε: a panel for each measure."""
    style.check_not_empty(means)
    with style.paper():
        figure, panels = style.panels(len(RANKED))
        for panel, measure in zip(panels, RANKED, strict=True):
            panel.set_title(f"mean {MEASURES[measure].title}")
            panel.set_xlabel("ε")
            _draw_panel(panel, means.assign(score=means[measure]), titles, looks)
            if MEASURES[measure].less_is_better:
                panel.set_yscale("log")
                panel.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
                panel.yaxis.set_minor_formatter(ticker.NullFormatter())
                style.write_ticks(panel.yaxis)
        style.legend_below(figure, _keys(looks, titles))
    return figure


def draw_tables(means: pd.DataFrame, titles: Mapping[str, str], looks: Looks) -> Figure:
    """Draw the AUC of methods against ε: a panel for each dataset."""
    style.check_not_empty(means)
    names = sorted(set(means["dataset"]))
    with style.paper():
        figure, panels = style.panels(len(names))
        for panel, name in zip(panels, names, strict=True):
            part = means[means["dataset"] == name]
            _draw_panel(panel, part.assign(score=part["auc"]), titles, looks)
            panel.set_title(textwrap.fill(dataset_title(name), style.TITLE))
        style.legend_below(figure, _keys(looks, titles))
    return figure


def _draw_panel(panel: Axes, part: pd.DataFrame, titles: Mapping[str, str], looks: Looks) -> None:
    """Draw scores against ε; methods without privacy are horizontal lines.

    The names of methods without a score are below the panel.
    """
    scored = part[part["score"].notna()].sort_values("epsilon")
    for method, look in looks.items():
        rows = scored[scored["method"] == method]
        if not rows.empty and rows["epsilon"].map(math.isinf).all():
            panel.axhline(float(rows["score"].iloc[0]), linewidth=0.9, **look)
        elif not rows.empty:
            panel.plot(rows["epsilon"], rows["score"], **look)
    lacking = [titles[name] for name in looks if name not in set(scored["method"])]
    panel.set_xlabel(f"{panel.get_xlabel()}\n{style.name_missing(lacking)}".strip())
    panel.set_xscale("log")
    epsilons = sorted({e for e in part["epsilon"] if math.isfinite(e)})
    panel.set_xticks(epsilons, [short_text(e) for e in epsilons])
    panel.minorticks_off()


def looks_of(runs: pd.DataFrame) -> Looks:
    """Return Matplotlib's keyword arguments for the lines of all methods, by method."""
    finite = runs["epsilon"].map(math.isfinite)
    facts = runs[finite].drop_duplicates("method").set_index("method")
    ways = facts["status"].str.split(";").str[0]
    styles = style.curve_styles(facts.index, dict(ways), dict(facts["delta"]))
    dashes = style.baseline_dashes(runs.loc[~finite, "method"])
    levels = {
        name: {"color": style.BASELINE_COLOUR, "linestyle": (0, dash)}
        for name, dash in dashes.items()
    }
    return {name: look.line() for name, look in styles.items()} | levels


def _keys(looks: Looks, titles: Mapping[str, str]) -> list[Any]:
    return [style.key_line(titles[name], **look) for name, look in looks.items()]
