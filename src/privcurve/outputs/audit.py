"""What an adversary finds against what learners claim: the audits of several in one table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from privcurve.figures import style
from privcurve.lazy import pd, ticker
from privcurve.learners import registry
from privcurve.outputs.base import FIGURE, LIST, TABLE, Asked, Option, Output, Reads
from privcurve.outputs.context import Context
from privcurve.schema import nearest
from privcurve.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Audit(Output):
    """Table and figure ``audit``."""

    word: ClassVar[str] = "audit"
    writes: ClassVar = (TABLE, FIGURE)
    version: ClassVar[int] = 3
    selects: ClassVar[bool] = False
    options: ClassVar = {
        "learners": Option("a list of private learners; by default those of the study", LIST)
    }

    def check(self, asked: Asked) -> None:
        known = audited()
        learners = self.learners(asked)
        for name in learners:
            if name not in known:
                hint = nearest(name, known)
                raise ValueError(
                    f"there is no audit of {name!r}{hint} There are those of: {', '.join(known)}."
                )
        if not learners:
            raise ValueError("the study has no private learner of this project to audit")

    def learners(self, asked: Asked) -> list[str]:
        """Return the learners whose audits are shown."""
        known = audited()
        of_study = dict.fromkeys(arm.learner for arm in asked.study.arms.values())
        return asked.options["learners"] or [name for name in of_study if name in known]

    def reads(self, asked: Asked) -> Reads:
        learners = tuple(self.learners(asked))
        return Reads(audits=learners, facts=[registry.entry(name).title for name in learners])

    def make(self, context: Context) -> None:

        from privcurve.audit import report

        learners = context.asked.reads.audits
        frame = report.table([pd.read_csv(context.audit(name)) for name in learners])
        context.write(Table(frame, report.CAPTION, report.notes(frame), report.shown(frame)))
        titles = {name: registry.entry(name).title for name in learners}
        claims = report.claimed(frame)
        context.draw(draw(claims, titles), claims)


def audited() -> list[str]:
    """Return the learners that are audited: peers claim what others have proved, for their own."""
    entries = map(registry.entry, registry.names())
    return [one.name for one in entries if one.private and not one.peer]


COLUMNS = ("learner", "calibration", "method", "epsilon", "found_epsilon", "verdict")
HEIGHT = 3.9

# Methods by shape, calibrations by filling (as in the learning curves). Learners beyond the
# number of colours have the second shapes.
EXACT, SAMPLED = ("o", "s"), ("^", "D")
NOTHING = "v"
VIOLATION = "#000000"

# Points of one claim are set side by side: so far apart, in powers of ten, and together no
# wider than this share of the way to the next claim.
STEP = 0.042
BAND = 0.8

# Room on both sides of the claims, a factor.
MARGIN = 1.5

# Where points go that show nothing: this far below the smallest claim.
DEPTH = 50.0


def draw(frame: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw what was found against what is claimed, log-log, with the diagonal.

    The points of one claim are set side by side, and the diagonal is level across them:
    what is below it stands. Violations have a ring; a sampled search that found nothing is
    drawn on the floor.
    """
    absent = [name for name in COLUMNS if name not in frame]
    if absent:
        raise ValueError(f"the table of the audit has no column {absent[0]!r}")
    unnamed = sorted(set(frame["learner"]) - set(titles))
    if unnamed or frame.empty:
        raise ValueError(f"nothing to draw, or no title for the learners {unnamed}")
    claims = sorted(set(frame["epsilon"]))
    floor = claims[0] / DEPTH
    ceiling = 4 * max([*claims, *frame.loc[frame["found_epsilon"] < math.inf, "found_epsilon"]])
    parts = [frame[frame["epsilon"] == claim] for claim in claims]
    limits = _Limits(_step(claims, parts), floor, ceiling)
    with style.paper():
        figure = style.new_figure(style.COLUMN_WIDTH, HEIGHT)
        panel = figure.add_subplot()
        bands = [_draw_claim(panel, rows, list(titles), limits) for rows in parts]
        _finish(panel, claims, bands, floor, ceiling)
        figure.legend(
            handles=_handles(frame, titles),
            loc="outside lower center",
            ncols=2,
            handletextpad=0.4,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
    return figure


@dataclass(frozen=True)
class _Limits:
    """Between which heights points are drawn, and how far apart (in powers of ten)."""

    step: float
    floor: float
    ceiling: float


def _groups(rows: pd.DataFrame) -> list[tuple[Any, Any]]:
    return list(rows[["learner", "calibration"]].drop_duplicates().itertuples(index=False))


def _step(claims: Sequence[float], parts: Sequence[pd.DataFrame]) -> float:
    most = max(len(_groups(rows)) for rows in parts)
    gaps = [math.log10(high / low) for low, high in itertools.pairwise(claims)]
    return min([STEP, *(BAND * gap / most for gap in gaps)])


def _draw_claim(panel: Axes, rows: pd.DataFrame, learners: Sequence[str], limits: _Limits) -> float:
    """Draw the points of one claim side by side; give half the width, as a factor."""
    groups = sorted(_groups(rows), key=lambda g: (learners.index(g[0]), g[1] != "published"))
    for i, (learner, calibration) in enumerate(groups):
        shift = 10 ** (limits.step * (i - (len(groups) - 1) / 2))
        cycle, colour = divmod(learners.index(learner), len(style.COLOURS))
        of_group = (rows["learner"] == learner) & (rows["calibration"] == calibration)
        for row in rows[of_group].to_dict("records"):
            shapes = SAMPLED if row["method"] == "sampled" else EXACT
            shape = NOTHING if row["verdict"] == "found nothing" else shapes[cycle % len(shapes)]
            mark = _mark(shape, style.COLOURS[colour], calibration == "certified")
            x = row["epsilon"] * shift
            y = min(max(row["found_epsilon"], limits.floor), limits.ceiling)
            panel.plot(x, y, **mark, zorder=3, clip_on=False)
            if row["verdict"] == "violated":
                panel.plot(x, y, **_ring(), zorder=4, clip_on=False)
    return float(10 ** (limits.step * len(groups) / 2))


def _mark(shape: str, colour: str, filled: bool) -> dict[str, Any]:
    return {
        "marker": shape,
        "linestyle": "none",
        "color": colour,
        "markersize": 3.6,
        "markeredgewidth": 0.8,
        "markerfacecolor": colour if filled else "white",
    }


def _ring() -> dict[str, Any]:
    return {
        "marker": "o",
        "linestyle": "none",
        "color": VIOLATION,
        "markersize": 8,
        "markeredgewidth": 1.2,
        "markerfacecolor": "none",
    }


def _finish(
    panel: Axes, claims: Sequence[float], bands: Sequence[float], floor: float, ceiling: float
) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    # The diagonal, level where the points of a claim are.
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
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(ticker.NullLocator())
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))


def _handles(frame: pd.DataFrame, titles: Mapping[str, str]) -> list[Any]:
    handles = []
    for i, title in enumerate(titles.values()):
        cycle, colour = divmod(i, len(style.COLOURS))
        shape = EXACT[cycle % len(EXACT)]
        handles.append(style.key_line(title, **_mark(shape, style.COLOURS[colour], True)))
    grey = "0.35"
    second = len(titles) > len(style.COLOURS)
    for name, shapes in (("exact or certain", EXACT), ("sampled", SAMPLED)):
        for shape in shapes if second else shapes[:1]:
            handles.append(style.key_line(name, **_mark(shape, grey, True)))
    handles.append(style.key_line("certified", **_mark("s", grey, True)))
    handles.append(style.key_line("published", **_mark("s", grey, False)))
    if (frame["verdict"] == "found nothing").any():
        handles.append(style.key_line("found nothing", **_mark(NOTHING, grey, True)))
    if (frame["verdict"] == "violated").any():
        handles.append(style.key_line("violated", **_ring()))
    return handles
