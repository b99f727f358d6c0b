"""Show the audits of several learners: a table and a figure of found ε against claimed ε."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from privcurve.figures import style
from privcurve.lazy import Axes, Figure, pd, ticker
from privcurve.learners import registry
from privcurve.outputs.base import AUDITS, Context, Option, Output, OutputRequest, Reads, check_name
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.ledger import CLAIMED
from privcurve.stored import spoken_frame
from privcurve.tables.table import Table


class Audit(Output):
    """Table and figure ``audit``: the ε that attacks on learners find, against the claimed ε."""

    word: ClassVar[str] = "audit"
    writes: ClassVar = ("table", "figure")
    version: ClassVar[int] = 7
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "learners": Option(
            "a list of private learners; by default those of the study and this project", list, None
        )
    }

    def check(self, request: OutputRequest) -> None:
        learners = self.learners(request)
        for name in learners:
            check_name("no audit exists of", name, auditable_learners())
            if why := registry.missing_package(name):
                raise ValueError(why)
        if not learners:
            raise ValueError(
                "the study has no private learner of this project to audit; to audit a learner "
                "of another library, name it in 'learners'"
            )

    def learners(self, request: OutputRequest) -> list[str]:
        """Return the learners whose audits the table and the figure show."""
        of_study = [method.learner for method in request.study.methods.values()]
        audited = [name for name in of_study if name in audited_learners()]
        return list(dict.fromkeys(map(str, request.options["learners"] or audited)))

    def reads(self, request: OutputRequest) -> Reads:
        learners = tuple(self.learners(request))
        return Reads(audits=learners, facts=[registry.entry(name).title for name in learners])

    def make(self, context: Context) -> None:
        from privcurve.audit import report

        learners = context.request.reads.audits
        frame = report.table(
            [spoken_frame(pd.read_csv(AUDITS / f"{name}.csv")) for name in learners]
        )
        context.write(Table(frame, report.CAPTION, report.notes(frame), report.format_table(frame)))
        titles = {name: registry.entry(name).title for name in learners}
        claims = report.rows_of_claims(frame)
        context.draw(draw(claims, titles), claims)


def audited_learners() -> list[str]:
    """Return the learners audited by default: all private ones of this project and the user."""
    return [name for name in auditable_learners() if not registry.entry(name).peer]


def auditable_learners() -> list[str]:
    """Return the names of all private learners: each of them can be audited."""
    return [name for name in registry.names() if registry.entry(name).private]


HEIGHT = 2.9

# A marker in `EXACT` shows the ε that an exact search found, a marker in `SAMPLED` the ε that a
# sampled search found. Filled markers mean proved noise. A learner has the same colour as in the
# learning curves, and learners of one colour have different markers.
EXACT, SAMPLED = ("o", "s", "P", "h", "p", "d"), ("^", "D", "X", "<", ">", "*")
NOTHING = "v"
GREY = "0.35"
RING: dict[str, Any] = {
    "marker": "o",
    "linestyle": "none",
    "color": "#000000",
    "markersize": 8,
    "markeredgewidth": 1.2,
    "markerfacecolor": "none",
}
CURVE = ["learner", "calibration"]

# The points of one claimed ε are drawn side by side. STEP is their distance in powers of ten. BAND
# limits the width of the group, as a share of the distance to the next claimed ε.
STEP = 0.042
BAND = 0.8

# The axis of claimed ε extends beyond the smallest and the largest claimed ε by this factor.
MARGIN = 1.5

# The axis of found ε begins at the smallest claimed ε divided by this factor; audits that found
# nothing are drawn there.
DEPTH = 50.0


def draw(frame: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw found ε against claimed ε on logarithmic axes, with the line "found = claimed".

    The points of one claim are drawn side by side; the line is level across them. A point above the
    line refutes its claim and has a ring around it. A search that found nothing is drawn at the
    bottom.
    """
    style.check_not_empty(frame)
    claims = sorted(set(frame["epsilon"]))
    parts = [frame[frame["epsilon"] == claim] for claim in claims]
    floor = claims[0] / DEPTH
    ceiling = 4 * max([*claims, *frame.loc[frame["found_epsilon"] < math.inf, "found_epsilon"]])
    # Distance between the points of one claim, in powers of ten. If claims are close together, this
    # distance is smaller.
    most = max(len(rows.drop_duplicates(CURVE)) for rows in parts)
    gaps = [math.log10(high / low) for low, high in itertools.pairwise(claims)]
    step = min([STEP, *(BAND * gap / most for gap in gaps)])
    looks = looks_of(titles)
    with style.paper():
        figure = style.new_figure(style.COLUMN_WIDTH, HEIGHT)
        panel = figure.add_subplot()
        frame = frame.assign(shown=frame["found_epsilon"].clip(floor, ceiling))
        bands = [
            _draw_claim(panel, frame[frame["epsilon"] == claim], looks, step) for claim in claims
        ]
        _finish(panel, claims, bands, floor, ceiling)
        keys = [
            tuple(style.key_line(name, **mark) for mark in marks)
            for name, *marks in _list_marks(frame, titles, looks)
        ]
        style.legend_below(figure, keys)
    return figure


def looks_of(learners: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return each learner's colour and the index of its marker in `EXACT` and `SAMPLED`.

    Learners of the same colour get different markers.
    """
    colours = {name: colour for name, (colour, _) in style.method_looks(learners).items()}
    places: Counter[str] = Counter()
    looks = {}
    for name, colour in colours.items():
        looks[name] = colour, places[colour] % len(EXACT)
        places[colour] += 1
    return looks


def _draw_claim(
    panel: Axes, rows: pd.DataFrame, looks: Mapping[str, tuple[str, int]], step: float
) -> float:
    """Draw the points of one claimed ε side by side.

    `rows` are the points, `step` is their distance in powers of ten. Returns the factor by which
    the outermost points lie left and right of the claimed ε.
    """
    places = {name: place for place, name in enumerate(looks)}
    order = {tuple(map(str, key)): part for key, part in rows.groupby(CURVE, sort=False)}
    curves = sorted(order, key=lambda curve: (places[curve[0]], curve[1] != "published"))
    for i, curve in enumerate(curves):
        shift = 10 ** (step * (i - (len(curves) - 1) / 2))
        colour, place = looks[curve[0]]
        for row in order[curve].to_dict("records"):
            shapes = SAMPLED if row["method"] in ("sampled", "canaries") else EXACT
            shape = NOTHING if row["verdict"] == "found nothing" else shapes[place]
            is_proved = curve[1] == PROVED and curve[0] in registry.LEARNERS
            mark = _make_mark(shape, colour, is_proved)
            x, y = row["epsilon"] * shift, row["shown"]
            panel.plot(x, y, **mark, zorder=3, clip_on=False)
            if row["verdict"] == "violated":
                panel.plot(x, y, **RING, zorder=4, clip_on=False)
    return float(10 ** (step * len(curves) / 2))


def _make_mark(shape: str, colour: str, filled: bool = True) -> dict[str, Any]:
    return {
        "marker": shape,
        "linestyle": "none",
        "color": colour,
        "markersize": 3.6,
        "markeredgewidth": 0.8,
        "markerfacecolor": colour if filled else "white",
    }


def _list_marks(
    frame: pd.DataFrame, titles: Mapping[str, str], looks: Mapping[str, tuple[str, int]]
) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of the legend: tuples of a name and one or several markers."""
    for learner, (colour, place) in looks.items():
        yield titles[learner], _make_mark(EXACT[place], colour)
    n_shapes = 1 + max(place for _, place in looks.values())
    for name, shapes in (("exact or certain", EXACT), ("sampled", SAMPLED)):
        yield name, *(_make_mark(shape, GREY) for shape in shapes[:n_shapes])
    yield PROVED, _make_mark("s", GREY)
    is_own = not set(titles) <= {*registry.LEARNERS}
    yield PUBLISHED + f" or {CLAIMED}" * is_own, _make_mark("s", GREY, filled=False)
    if (frame["verdict"] == "found nothing").any():
        yield "found nothing", _make_mark(NOTHING, GREY)
    if (frame["verdict"] == "violated").any():
        yield "violated", RING


def _finish(
    panel: Axes, claims: Sequence[float], bands: Sequence[float], floor: float, ceiling: float
) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    # The line "found = claimed" rises between claims and is level across the points of each claim.
    x = [claims[0] / bands[0] / MARGIN]
    y = [claims[0] / MARGIN]
    for claim, band in zip(claims, bands, strict=True):
        x += [claim / band, claim * band]
        y += [claim, claim]
    x.append(x[-1] * MARGIN)
    y.append(y[-1] * MARGIN)
    panel.set_xlim(x[0], x[-1])
    panel.set_ylim(floor, ceiling)
    panel.plot(x, y, color="0.35", linewidth=0.9, zorder=2)
    panel.fill_between(x, y, ceiling, color="0.5", alpha=0.12, linewidth=0, zorder=1)
    panel.text(0.03, 0.97, "more than claimed", transform=panel.transAxes, va="top", color="0.35")
    panel.set_xlabel("Claimed ε")
    panel.set_ylabel("Found ε (exact, or lower bound)")
    panel.xaxis.set_major_locator(ticker.FixedLocator(list(claims)))
    style.write_ticks(panel.xaxis)
    style.write_ticks(panel.yaxis)
    panel.xaxis.set_minor_locator(ticker.NullLocator())
