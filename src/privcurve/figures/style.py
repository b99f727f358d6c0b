"""Style all figures and save them; importing this module is fast, as it loads no Matplotlib."""

from __future__ import annotations

import hashlib
import io
import math
import textwrap
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve import extras
from privcurve.analysis.keys import method_of
from privcurve.files import replace_file, replace_text
from privcurve.lazy import Axes, Figure, mpl, pd, ticker
from privcurve.numerals import power
from privcurve.stored import stored, stored_frame

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis

# Okabe and Ito's palette, safe for colour-blind readers. Its yellow is omitted (too light on
# white), its black is reserved for baselines, and Tol's wine is added. Dark and light colours
# alternate, so that neighbours differ in grey, too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#882255")
# COLOURS for a dark background: they are equally distinct there, also for colour-blind readers.
DARK = ("#2073FF", "#EED71E", "#00DF7D", "#EC5825", "#CFE9FF", "#BF7C90", "#BC29A1")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

# Indices of colour and marker, by a method's name in a study or by its learner's name: a method has
# the same look in all figures. :func:`method_looks` chooses the look of other names.
LOOKS: Mapping[str, tuple[int, int]] = {
    **{"lazybb_1r": (0, 0), "lazybb": (0, 0), "lazybb_trees": (1, 2)},
    **{"lazybb_trees_best": (4, 5), "lazybb_trees_rule": (2, 7), "lazybb_trees_tuned": (0, 3)},
    **{"lazybb_tuned": (1, 3)},
    **{"lazybb_topdown": (2, 7), "one_rule": (3, 3), "dp_lr": (4, 4)},
    **{"dp_logistic_regression": (4, 4), "dpboost": (5, 5), "dp_bag": (6, 5)},
    **{"dp_bagging": (6, 5), "topdown": (2, 7), "dp_ebm": (1, 4), "dpl_random_forest": (3, 1)},
    **{"dpl_decision_tree": (2, 6), "brc": (6, 7), "brc_private": (1, 2), "brc_zero": (1, 0)},
    **{"brc_em": (2, 6), "adaboost": (0, 5), "bfp": (0, 6), "bfp_private": (3, 1)},
    **{"pate": (5, 0), "single": (0, 0), "noisy_counts": (3, 1), "local_rnm": (2, 2)},
    **{"votes_local": (0, 0), "votes_sums": (4, 5), "histograms_local": (4, 1)},
    **{"histograms_sums": (5, 3), "random_trees_local": (3, 6), "random_trees_sums": (6, 4)},
    **{"votes_placed": (0, 4), "sums_placed": (5, 6), "published_single": (0, 6)},
    **{"published_counts": (4, 7), "bdpe_oc": (3, 2), "bdpe": (3, 4), "bdpe_low": (1, 4)},
    **{"bdpe_one": (2, 4), "bdpe_constant": (4, 0), "boost_oc": (0, 2), "boost_low": (1, 5)},
    **{"boost_one": (3, 5), "rf_l": (5, 6), "rf_e": (6, 2), "tree_of_rules": (2, 3)},
    **{"dp_forest": (2, 1), "random_trees": (6, 6), "privgam": (5, 1), "privgam_ar": (5, 4)},
    **{"noisy_bayes": (3, 7), "tree_of_rules_2": (2, 0), "noisy_majority": (2, 5)},
    **{"linear_start": (4, 2), "rules_start": (0, 1), "bayes_start": (2, 5)},
    **{"threshold": (0, 3), "linear": (1, 3), "table_5_1": (0, 7), "lower": (3, 0)},
    **{"dp_newton": (2, 3), "dp_newton_ar": (1, 0), "boosted_adassp": (0, 4)},
    **{"boosted_adassp_ar": (1, 5), "dp_gradient_descent": (3, 0)},
    **{"dp_gradient_descent_ar": (4, 7), "mst": (1, 7), "mst_ar": (1, 6), "dp_sgd": (6, 3)},
    **{"dp_sgd_ar": (6, 1), "aim": (4, 6), "aim_ar": (4, 5), "dpl_lr": (3, 6), "dpl_nb": (0, 7)},
    **{"dpl_logistic_regression": (3, 6), "dpl_gaussian_nb": (0, 7), "tuned": (4, 0)},
    **{"boosting_for_people": (0, 6), "distributed_topdown": (4, 2), "forest_published": (1, 1)},
    **{"random_trees_deep": (0, 5)},
}

# Widths of a column and of a page in a two-column paper, in inches.
COLUMN_WIDTH = 3.4
TEXT_WIDTH = 7.0

# Font size of notes above a figure, in points.
NOTE_SIZE = 6.5

BASELINE_COLOUR = "0.35"
BASELINE_DASHES: tuple[tuple[float, ...], ...] = (
    *((4, 1.5), (1, 1.2), (6, 1.5, 1, 1.5), (9, 2), (4, 1.2, 1, 1.2, 1, 1.2)),
)

DASHES_OF = {"lr": 0, "gb": 1, "lr_public": 1, "majority": 2, "raw": 3, "raw_codes": 4}

PANELS_PER_ROW = 3
# Longest line of a panel's title, in characters.
TITLE = 30
PANEL_HEIGHT = 2.35
SINGLE_PANEL_HEIGHT = 2.5

_PAPER: Any = {
    # DejaVu Sans ships with Matplotlib, so that all machines write the same bytes.
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.4,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType, as publishers ask: text can be searched and copied
    "ps.fonttype": 42,
    "savefig.dpi": 300,
    "figure.dpi": 150,
}


def paper() -> Any:
    """Return a context in which figures have the style of a paper, not the user's own style."""
    return mpl.rc_context({**mpl.rcParamsDefault, **_PAPER, "backend": "agg"})


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure that opens no window; `width` and `height` are in inches."""
    extras.check("matplotlib", "a figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class CurveStyle:
    """The style of one curve; colour and marker identify the method.

    The line and the marker's filling show the calibration. Proved noise has a solid line
    (dash-dotted if δ > 0) and a filled marker. Published noise has a dashed line (dotted if δ > 0)
    and a hollow marker. A claimed ε has long dashes and a half-filled marker. A curve whose
    hyperparameters were chosen without privacy is thin and dashed.
    """

    colour: str
    marker: str
    linestyle: Any
    filled: bool
    thin: bool = False
    half: bool = False

    def line(self) -> dict[str, Any]:
        """Return Matplotlib's keyword arguments for drawing the line."""
        return {
            "color": self.colour,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.8,
            **({"linewidth": 0.6, "markersize": 2.2} if self.thin else {}),
            **({"fillstyle": "left", "markerfacecoloralt": "white"} if self.half else {}),
        }


def method_looks(methods: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the colour and the marker of each method; no two methods have the same look.

    A method has the look that `LOOKS` lists for its name. If `LOOKS` lists none, or if another
    method already has this look, the method gets a free look.
    """
    looks = _methods(methods)
    return {name: (COLOURS[colour], MARKERS[marker]) for name, (colour, marker) in looks.items()}


def _methods(methods: Iterable[str]) -> dict[str, tuple[int, int]]:
    names = list(dict.fromkeys(methods))
    looks: dict[str, tuple[int, int]] = {}
    for name in sorted(names, key=lambda name: (name not in LOOKS, name)):
        own = LOOKS.get(name)
        if own is None or own in looks.values():
            own = _free_look(name, looks.values())
        looks[name] = own
    return {name: looks[name] for name in names}


def _free_look(name: str, used: Collection[tuple[int, int]]) -> tuple[int, int]:
    """Return a look (colour, marker): a least-used colour, a marker not yet used with it.

    Looks are pairs of indices; `used` are the looks of other methods. If several looks are free, a
    hash of `name` decides, so that a method has the same look in each figure.
    """
    number = int(hashlib.sha256(stored(name).encode()).hexdigest()[:8], 16)
    times = Counter(colour for colour, _ in used)
    colour = min(_turned(len(COLOURS), number), key=lambda one: times[one])
    markers = _turned(len(MARKERS), number // len(COLOURS))
    return colour, min(markers, key=lambda one: (colour, one) in used)


def _turned(n: int, start: int) -> list[int]:
    return [(start + i) % n for i in range(n)]


def curve_looks(curves: Mapping[str, tuple[str, Hashable]]) -> dict[str, tuple[str, str]]:
    """Return the colour and the marker of each curve.

    `curves` maps a curve to its method and its other features, such as the line style. A curve has
    the colour and marker of its method. If an earlier curve has the same method and the same other
    features, the curve gets a colour and marker that no method and no other curve has.
    """
    of_methods = _methods(method for method, _ in curves.values())
    taken: set[tuple[str, Hashable]] = set()
    looks: dict[str, tuple[int, int]] = {}
    for curve, own in curves.items():
        used = [*of_methods.values(), *looks.values()]
        looks[curve] = _free_look(curve, used) if own in taken else of_methods[own[0]]
        taken.add(own)
    return {name: (COLOURS[colour], MARKERS[marker]) for name, (colour, marker) in looks.items()}


def name_missing(names: Sequence[str], width: int = TITLE) -> str:
    """Return a text that names the methods without a curve in a panel; empty if there are none."""
    return textwrap.fill(f"without {', '.join(names)}", width) if names else ""


def baseline_dashes(methods: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Return the dash pattern of each method that is drawn as a horizontal line."""
    names = list(dict.fromkeys(methods))
    numbers = {name: DASHES_OF[name] for name in names if name in DASHES_OF}
    for name in sorted(set(names) - set(numbers)):
        free = [i for i in range(len(BASELINE_DASHES)) if i not in numbers.values()]
        numbers[name] = free[0] if free else len(numbers) % len(BASELINE_DASHES)
    return {name: BASELINE_DASHES[numbers[name]] for name in names}


def curve_styles(
    methods: Iterable[str],
    calibrations: Mapping[str, str | None],
    deltas: Mapping[str, float],
    thin: Collection[str] = (),
) -> dict[str, CurveStyle]:
    """Return the style of each method: colour and marker by name, line and filling by calibration.

    `thin` are the methods whose hyperparameters were chosen without privacy.
    """
    methods, lines = list(methods), dict[str, Any]()
    for method in methods:
        published, claimed = (calibrations[method] == word for word in ("published", "claimed"))
        if deltas[method] > 0:
            linestyle: Any = (0, (1, 1.2) if published else (5, 1.2, 1, 1.2))
        else:
            linestyle = (0, (3.2, 1.4)) if published or method in thin else "-"
        if claimed:
            linestyle = (0, (8, 1.6, 2, 1.6)) if deltas[method] > 0 else (0, (8, 1.6))
        lines[method] = (linestyle, not published, method in thin, claimed)
    looks = curve_looks({method: (method_of(method), line) for method, line in lines.items()})
    return {method: CurveStyle(*looks[method], *lines[method]) for method in methods}


def check_not_empty(frame: pd.DataFrame) -> None:
    """Raise ValueError if a frame has no rows to draw."""
    if frame.empty:
        raise ValueError("the frame must have rows to draw; it has none")


def panels(n: int, groups: Sequence[Any] | None = None) -> tuple[Figure, list[Axes]]:
    """Return a figure with `n` panels in rows; a single panel has the width of a column.

    Panels with the same value in `groups` share their y axis; by default no panels do.
    """
    columns = panel_columns(n)
    rows = math.ceil(n / columns)
    size = (COLUMN_WIDTH, SINGLE_PANEL_HEIGHT) if n == 1 else (TEXT_WIDTH, rows * PANEL_HEIGHT)
    figure = new_figure(*size)
    first: dict[Any, Axes] = {}
    axes = []
    for i in range(n):
        group = i if groups is None else groups[i]
        axes.append(figure.add_subplot(rows, columns, i + 1, sharey=first.get(group)))
        first.setdefault(group, axes[-1])
    return figure, axes


def panel_columns(n: int) -> int:
    """Return the number of panels in a row: at most three, and two if there are four panels."""
    return 2 if n == 4 else min(n, PANELS_PER_ROW)


def legend_below(figure: Figure, handles: Sequence[Artist | tuple[Artist, ...]]) -> None:
    """Add one legend below all panels, in as many columns as fit, and enlarge the figure.

    An entry may be a tuple of artists, which appear side by side with the label of the first
    artist.
    """
    if not handles:
        return
    from matplotlib.legend_handler import HandlerTuple

    width, height = figure.get_size_inches()
    for n_columns in range(min(3, len(handles)), 0, -1):
        legend = figure.legend(  # type: ignore[call-overload]
            list(handles),
            [str((key[0] if isinstance(key, tuple) else key).get_label()) for key in handles],
            handler_map={tuple: HandlerTuple(ndivide=None)},
            loc="outside lower center",
            ncols=n_columns,
            handlelength=2.6,
            handletextpad=0.5,
            columnspacing=1.0,
            borderaxespad=0.2,
        )
        box = legend.get_window_extent().transformed(figure.dpi_scale_trans.inverted())
        if box.width <= width or n_columns == 1:
            break
        legend.remove()
    figure.set_size_inches(width, height + box.height)


def write_ticks(axis: Axis) -> None:
    """Write the ticks of an axis as short texts, such as 0.05 and 10⁻⁶ (:func:`power`)."""
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: power(value)))


def choose_labels(places: Sequence[float], share: float, logarithmic: bool) -> list[float]:
    """Return the positions in `places` that get a label, sorted.

    The two ends are chosen first, then positions in the order of `places`. Any two chosen positions
    are further apart than `share` times the distance of the ends.
    """
    position = {place: math.log(place) if logarithmic else place for place in places}
    ends = [min(places), max(places)]
    room = share * (position[ends[1]] - position[ends[0]])
    chosen: list[float] = []
    for place in [*ends, *places]:
        if all(abs(position[place] - position[other]) > room for other in chosen):
            chosen.append(place)
    return sorted(chosen)


def key_line(label: str, **look: Any) -> Artist:
    """Return a line for the legend, with its label."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def key_patch(label: str, **look: Any) -> Artist:
    """Return a coloured rectangle for the legend, with its label."""
    from matplotlib.patches import Patch

    return Patch(label=label, **look)


# On a dark page the SVG inverts its lightness and keeps its hues.
_DARK = "@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }"


def svg(figure: Figure, **box: Any) -> str:
    """Return a figure as SVG without a background, for light and dark pages.

    `box` has arguments of :meth:`Figure.savefig` that select a part of the figure.
    """
    text = io.StringIO()
    with paper(), mpl.rc_context({"svg.hashsalt": "privcurve"}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None}, **box)
    return text.getvalue().replace("<defs>", f"<style>{_DARK}</style>\n <defs>", 1)


def _write_above(figure: Figure, notes: Sequence[str]) -> dict[str, Any]:
    """Write notes above a figure without changing its layout.

    Returns the arguments with which :meth:`Figure.savefig` saves figure and notes.
    """
    if not notes:
        return {}
    from matplotlib.transforms import Bbox

    width, height = figure.get_size_inches()
    # A character is about half as wide as high.
    letters = int(width * 72 / (NOTE_SIZE / 2))
    lines = [line for note in notes for line in textwrap.wrap(note, letters)]
    room = 1.4 * NOTE_SIZE / 72 * (len(lines) + 1)
    place: Any = {"va": "bottom", "fontsize": NOTE_SIZE, "in_layout": False}
    figure.text(0.01, 1 + NOTE_SIZE / 144 / height, "\n".join(lines), **place)
    return {"bbox_inches": Bbox.from_extents(0, 0, width, height + room)}


def save(figure: Figure, frame: pd.DataFrame, stem: Path, notes: Sequence[str] = ()) -> None:
    """Save a figure as PDF, PNG and SVG, and the frame with its data as CSV.

    Each file is written under a temporary name, then moved. The same figure and frame give the same
    bytes on each call, as no date and no program name is written. `stem` is the path without
    extension; `notes` are written above the figure.
    """
    with paper():
        box = _write_above(figure, notes)
        for kind, dated in (("pdf", "CreationDate"), ("png", "Software")):
            replace_file(
                stem.with_name(f"{stem.name}.{kind}"),
                partial(figure.savefig, format=kind, metadata={dated: None}, **box),
            )
    replace_text(stem.with_name(f"{stem.name}.svg"), svg(figure, **box))
    replace_file(
        stem.with_name(stem.name + ".csv"),
        # Twelve digits are stored, as writing and reading CSV may change the last bits of a float.
        lambda path: stored_frame(frame).to_csv(
            path, index=False, float_format="%.12g", lineterminator="\n"
        ),
    )
