"""Learning curves: panels and lines, gaps where values are missing, equal bytes each time."""

import itertools
import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Annotation
from small_study import study_with

from privcurve.experiments import kinds, study
from privcurve.experiments.results import IncompleteError
from privcurve.figures import style
from privcurve.numerals import power
from privcurve.outputs import learning_curves as curves
from privcurve.outputs.base import request_output
from privcurve.outputs.registry import OUTPUTS
from privcurve.stored import spoken_frame

ROOT = Path(__file__).parents[2]
EPSILONS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 1, 3, 5]
TITLES = {
    "lazybb~proved": "LazyBB, 1-rules",
    "lazybb~published": "LazyBB, 1-rules",
    "one_rule~proved": "1-rule",
    "dp_lr~published": "DP logistic regression",
    "lr": "Logistic regression",
    "gb": "Gradient boosting",
    "majority": "Majority class",
}
DATASETS = {"adult": "Adult", "codrna": "Cod-RNA", "mushroom": "Mushroom"}
KIND = {
    "lazybb~proved": kinds.NOT_COVERED,
    "lazybb~published": kinds.NOT_COVERED,
    "one_rule~proved": kinds.RULE,
    "dp_lr~published": kinds.TUNED,
}
NAMES = [
    "LazyBB, 1-rules (proved, hyperparameters chosen without privacy)",
    "LazyBB, 1-rules (published, hyperparameters chosen without privacy)",
    "1-rule (proved)",
    "DP logistic regression (published, tuned privately)",
]
BASELINES = {"lr": 0.86, "gb": 0.865, "majority": 0.6}


def accuracy(datasets=DATASETS):
    rows = []
    for dataset, method in itertools.product(datasets, TITLES):
        own = {
            "dataset": dataset,
            "method": method,
            "calibration": method.partition("~")[2] or None,
        }
        own |= {"kind": KIND.get(method, kinds.NOT_PRIVATE), "delta": 0.0, "accuracy_std": 0.01}
        own |= {"scored_on": "test" if dataset == "adult" else "folds"}
        for epsilon in [math.inf] if method in BASELINES else EPSILONS:
            rise = 0.25 * epsilon / (epsilon + 0.1 * (1 + len(method) % 5))
            score = BASELINES[method] if method in BASELINES else 0.6 + rise
            rows.append({**own, "epsilon": epsilon, "accuracy": score})
    return pd.DataFrame(rows)


def draw(frame, datasets=DATASETS, titles=TITLES):
    return curves.draw(frame, titles, datasets)


ONE = {"adult": "Adult"}
TWO = {**ONE, "codrna": "Cod-RNA"}


def panel_of(frame):
    """Draw and return the panel of one dataset, the quickest figure."""
    (panel,) = draw(frame, ONE).axes
    return panel


@pytest.fixture(scope="module")
def figure():
    """Return the curves of all methods on three datasets."""
    return draw(accuracy())


def line(panel, method):
    return next(curve for curve in panel.get_lines() if curve.get_label() == method)


@pytest.mark.parametrize("n", [1, 4])
def test_one_panel_a_dataset_and_one_line_an_method(n):
    datasets = dict(itertools.islice({**DATASETS, "wdbc": "WDBC"}.items(), n))
    figure = draw(accuracy(datasets), datasets)
    assert [panel.get_title() for panel in figure.axes] == list(datasets.values())
    for panel in figure.axes:
        assert {curve.get_label() for curve in panel.get_lines()} >= set(TITLES)
        assert len(line(panel, "lazybb~proved").get_xdata()) == len(EPSILONS)
        assert panel.get_xscale() == "log"
    width = style.COLUMN_WIDTH if n == 1 else style.TEXT_WIDTH
    assert figure.get_size_inches()[0] == width


def test_the_values_match_the_frame():
    frame = accuracy(TWO).sample(frac=1, random_state=3)
    curve = line(draw(frame, TWO).axes[1], "dp_lr~published")
    rows = frame[(frame["dataset"] == "codrna") & (frame["method"] == "dp_lr~published")]
    rows = rows.sort_values("epsilon")
    np.testing.assert_array_equal(curve.get_xdata(), rows["epsilon"])
    np.testing.assert_array_equal(curve.get_ydata(), rows["accuracy"])


def test_the_legend_names_every_curve_its_calibration_and_what_its_settings_cost(figure):
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == NAMES


def test_curves_without_paid_settings_are_thin_and_dashed(figure):
    panel = figure.axes[0]
    not_covered, rule = line(panel, "lazybb~proved"), line(panel, "one_rule~proved")
    assert not_covered.get_linestyle() == "--"
    assert rule.get_linestyle() == "-"
    assert not_covered.get_linewidth() < 0.7 * rule.get_linewidth()
    # The line of a baseline without noise does not show how its settings were chosen.
    frame = accuracy(ONE)
    frame.loc[frame["method"] == "gb", ["method", "kind"]] = ["one_rule~proved", kinds.NOT_PRIVATE]
    assert line(panel_of(frame), "one_rule~proved").get_linestyle() == "-"


def test_calibrations_share_a_colour_and_differ_in_line_and_mark():
    panel = panel_of(accuracy(ONE).replace({"kind": kinds.NOT_COVERED}, kinds.RULE))
    proved, published = line(panel, "lazybb~proved"), line(panel, "lazybb~published")
    assert proved.get_color() == published.get_color()
    assert proved.get_marker() == published.get_marker()
    assert proved.get_linestyle() == "-"
    assert published.get_linestyle() == "--"
    assert published.get_markerfacecolor() == "white"
    assert line(panel, "one_rule~proved").get_color() != proved.get_color()


def test_a_missing_value_is_a_gap_a_cross_and_in_the_legend():
    frame = accuracy(TWO)
    gone = (frame["dataset"] == "codrna") & (frame["method"] == "lazybb~proved")
    gone &= frame["epsilon"].isin([0.2, 5])
    frame.loc[gone, ["accuracy", "accuracy_std"]] = math.nan
    figure = draw(frame, TWO)
    panel = figure.axes[1]
    values = np.asarray(line(panel, "lazybb~proved").get_ydata())
    assert np.flatnonzero(np.isnan(values)).tolist() == [3, 12]
    crosses = line(panel, "_missing lazybb~proved")
    assert list(crosses.get_xdata()) == [0.2, 5]
    assert crosses.get_marker() == "x"
    assert figure.legends[0].get_texts()[-1].get_text() == "missing"


def test_a_missing_baseline_is_named_below_its_panel():
    frame = accuracy(TWO)
    frame.loc[(frame["dataset"] == "adult") & (frame["method"] == "gb"), "accuracy"] = math.nan
    labels = [panel.get_xlabel() for panel in draw(frame, TWO).axes]
    assert labels == ["Privacy budget ε\nmissing: Gradient boosting", "Privacy budget ε"]


def test_a_private_learner_without_noise_is_a_line_of_its_own_colour():
    frame = accuracy(ONE)
    extra = frame.query("method == 'lazybb~proved' and epsilon == 1").assign(epsilon=math.inf)
    panel = panel_of(pd.concat([frame, extra]))
    curve, limit = line(panel, "lazybb~proved"), line(panel, "_limit lazybb~proved")
    assert len(curve.get_xdata()) == len(EPSILONS)
    assert limit.get_color() == curve.get_color()
    assert set(limit.get_ydata()) == {float(extra["accuracy"].iloc[0])}
    names = [text.get_text() for text in panel.texts]
    assert any("LazyBB, 1-rules, no noise" in name for name in names)


def test_ticks_are_as_people_write_them():
    frame = accuracy(ONE)
    frame["epsilon"] = frame["epsilon"].replace({EPSILONS[0]: 1e-6})
    panel = panel_of(frame)
    panel.figure.draw_without_rendering()
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks[0] == "10⁻⁶"
    assert f"{EPSILONS[-1]:g}" in ticks


def test_panels_of_the_same_records_share_their_y_axis():
    frame = accuracy()
    frame.loc[frame["dataset"] == "codrna", "accuracy"] -= 0.3
    groups = {"adult": "a", "codrna": "a", "mushroom": "b"}
    panels = curves.draw(frame, TITLES, DATASETS, groups).axes
    assert panels[0].get_ylim() == panels[1].get_ylim() != panels[2].get_ylim()
    apart = draw(frame, TWO).axes
    assert apart[0].get_ylim() != apart[1].get_ylim()


def test_curves_of_one_method_that_differ_in_a_parameter_look_different():
    methods = ["m~proved~a=1", "m~proved~a=2", "m~published~a=1"]
    calibrations = {method: method.split("~")[1] for method in methods}
    looks = style.curve_styles(methods, calibrations, dict.fromkeys(methods, 0.0))
    assert len(set(looks.values())) == 3
    assert looks[methods[0]].colour != looks[methods[1]].colour


def test_each_measure_has_panels_of_the_methods_that_have_it():
    """Learners that fit votes have no log loss: no curve, and no empty panel."""
    frame = accuracy().assign(log_loss=0.4, log_loss_std=0.02)
    votes = frame["method"].eq("one_rule~proved") | frame["dataset"].eq("mushroom")
    frame.loc[votes, "log_loss"] = math.nan
    figure = curves.draw(frame, TITLES, DATASETS, measures=["accuracy", "log_loss"])
    assert [panel.get_title() for panel in figure.axes] == [*DATASETS.values(), "Adult", "Cod-RNA"]
    by_loss = figure.axes[3]
    assert by_loss.get_ylabel() == "Log loss (less is better, test set)"
    labels = {str(one.get_label()) for one in by_loss.get_lines()}
    assert "one_rule~proved" not in labels
    assert "lazybb~proved" in labels
    assert not by_loss.get_shared_y_axes().joined(by_loss, figure.axes[0])
    assert "missing" not in [text.get_text() for text in figure.legends[0].get_texts()]
    # The legend omits methods that no panel shows.
    alone = curves.draw(frame, TITLES, TWO, measures=["log_loss"])
    assert not any("1-rule (" in text.get_text() for text in alone.legends[0].get_texts())


def test_a_measure_that_no_learner_has_is_reported():
    one = study_with({"votes": {"learner": "lazybb"}})
    frame = accuracy(one.datasets).assign(log_loss=math.nan)
    curves.check_measured(one, frame, measures=["accuracy"])
    with pytest.raises(IncompleteError, match="measures: no learner of the study has a log loss"):
        curves.check_measured(one, frame, measures=["accuracy", "log_loss"])
    # If all trainings failed, the check passes.
    curves.check_measured(one, frame.assign(accuracy=math.nan), measures=["log_loss"])


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (0.1, {"gradient boosting", "logistic regression", "majority class"}),
        # Two lines at the same height share a label.
        (0.0, {"gradient boosting, logistic regression", "majority class"}),
    ],
)
def test_baselines_are_named_on_the_line_and_no_name_covers_another(distance, expected):
    frame = accuracy()
    for i, method in enumerate(BASELINES):
        frame.loc[frame["method"] == method, "accuracy"] = 0.9 - i * distance
    figure = draw(frame)
    for panel in figure.axes:
        labels = [text for text in panel.texts if isinstance(text, Annotation)]
        names = {", ".join(sorted(text.get_text().lower().split(", "))) for text in labels}
        assert names == expected
        boxes = [text.get_window_extent() for text in labels]
        for one, other in itertools.combinations(boxes, 2):
            assert not one.overlaps(other)
        for box in boxes:
            assert panel.bbox.x0 <= box.x0
            assert box.x1 <= panel.bbox.x1


def test_nothing_leaves_the_figure_and_the_panels_keep_clear_of_the_legend(figure):
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.x1
    assert figure.axes[0].get_tightbbox().y0 >= legend.y1
    # A long legend makes the figure taller, not the panel flatter.
    assert figure.axes[0].bbox.height / figure.dpi > 1.5


def test_a_few_curves_of_one_panel_are_named_at_their_ends():
    figure = draw(accuracy(ONE), ONE)
    (panel,) = figure.axes
    assert not figure.legends
    ends = [text for text in panel.texts if text.get_window_extent().x0 >= panel.bbox.x1]
    names = {" ".join(text.get_text().split()): text for text in ends}
    assert set(names) == set(NAMES)
    assert names["1-rule (proved)"].get_color() == line(panel, "one_rule~proved").get_color()
    boxes = [text.get_window_extent() for text in ends]
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


def test_axes_name_the_scored_records_and_label_round_budgets(figure):
    panels = figure.axes
    labels = [panel.get_ylabel() for panel in panels]
    assert labels == ["Accuracy (test set)", "Accuracy (fresh folds)", ""]
    ticks = [text.get_text() for text in panels[0].get_xticklabels()]
    assert ticks == ["0.05", "0.1", "0.2", "0.5", "1", "3", "5"]


def test_one_epsilon_or_only_baselines_can_be_drawn():
    frame = accuracy(ONE)
    one = draw(frame[frame["epsilon"].isin([1, math.inf])], ONE)
    assert [text.get_text() for text in one.axes[0].get_xticklabels()] == ["1"]
    alone = draw(frame[np.isinf(frame["epsilon"])], ONE)
    assert not alone.legends


def test_wrong_frames_are_named():
    with pytest.raises(ValueError, match="the dataset skin has no row"):
        draw(accuracy(), {**DATASETS, "skin": "Skin"})
    with pytest.raises(ValueError, match="one row per curve and ε; it has two"):
        draw(pd.concat([accuracy(), accuracy().head(1)]))


@pytest.mark.slow
def test_files_are_complete_and_the_same_each_time(tmp_path):
    frame = accuracy(ONE)
    for folder in ("a", "b"):
        with mpl.rc_context({"font.size": 20 if folder == "b" else 10}):  # the user's own style
            style.save(draw(frame, ONE), frame, tmp_path / folder / "figure")
    for ending in ("pdf", "png", "svg", "csv"):
        one, other = (tmp_path / folder / f"figure.{ending}" for folder in ("a", "b"))
        assert one.read_bytes() == other.read_bytes()
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".csv", ".pdf", ".png", ".svg"}
    pdf = (tmp_path / "a" / "figure.pdf").read_bytes()
    assert b"/CreationDate" not in pdf
    assert b"/Type3" not in pdf
    # The CSV has the stored names of methods.
    back = spoken_frame(pd.read_csv(tmp_path / "a" / "figure.csv"))
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)


def test_notes_are_above_an_unchanged_figure(tmp_path):
    note = "Other code: " + "a note that is longer than one line of a figure of one panel " * 3
    heights, texts = [], []
    for name, notes in (("plain", ()), ("noted", (note, "Another note."))):
        figure, (panel,) = style.panels(1)
        panel.plot([1, 2], [3, 4])
        style.save(figure, pd.DataFrame({"x": [1]}), tmp_path / name, notes)
        height, width, _ = mpl.image.imread(tmp_path / f"{name}.png").shape
        heights.append(height)
        texts.append((width, panel.get_position().bounds, figure.texts))
    (width, place, none), (same_width, same_place, (text,)) = texts
    assert (same_width, same_place, none) == (width, place, [])
    lines = text.get_text().splitlines()
    assert len(lines) > 3
    assert " ".join(lines) == f"{note.strip()} Another note."
    # A line takes about a ninth of an inch at 300 points per inch.
    assert 20 * len(lines) < heights[1] - heights[0] < 60 * len(lines)


def test_the_users_style_does_not_change():
    before = dict(mpl.rcParams)
    draw(accuracy(ONE), ONE)
    assert dict(mpl.rcParams) == before


# At most six curves per panel -----------------------------------------------------------


def of_many(n_proved, n_published):
    """Return a table of many curves on one dataset, each better than the one before."""
    rows = []
    for place in range(n_published + n_proved):
        calibration = "published" if place < n_published else "proved"
        score = {"calibration": calibration, "accuracy": 0.9 - 0.01 * place}
        rows.append(
            {"dataset": "adult", "method": f"m{place}~{calibration}", "epsilon": 1.0, **score}
        )
    return pd.DataFrame(rows)


def test_proved_curves_come_first_and_of_these_the_best():
    frame = of_many(n_proved=7, n_published=2)
    methods = sorted(set(frame["method"]))
    first = curves.best_curves(frame, methods, "accuracy")
    assert first == [f"m{place}~proved" for place in range(2, 8)]
    # For a loss the lowest is the best.
    losses = frame.rename(columns={"accuracy": "log_loss"})
    assert "m8~proved" in curves.best_curves(losses, methods, "log_loss")


def test_each_part_of_the_curves_has_panels_and_the_legend_what_is_shown():
    parts = [["lazybb~proved", "one_rule~proved"], ["dp_lr~published"]]
    figure = curves.draw(accuracy(ONE), TITLES, ONE, parts=parts)
    first, second = figure.axes
    assert line(first, "one_rule~proved")
    drawn = [str(one.get_label()) for one in second.get_lines()]
    assert [label for label in drawn if label in TITLES and "~" in label] == ["dp_lr~published"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len([name for name in names if "published" in name]) == 1


def made_study(**options):
    learners = {
        "boost": {"learner": "lazybb", "vary": {"n_rounds": [1, 2, 3, 4]}},
        "privgam": {"learner": "privgam", "deltas": [0, 1e-5]},
        "one_rule": {"learner": "one_rule"},
        "majority": {"learner": "majority_class"},
    }
    content = {"title": "many", "datasets": ["wdbc"], "epsilons": [1], "folds": 2, "repeats": 2}
    content |= {"learners": learners, "outputs": [{"learning_curves": options}]}
    return study.from_mapping(content, "many", "many.yaml")


def files(**options):
    made = made_study(**options)
    ((word, given),) = made.outputs
    request = request_output(OUTPUTS, made, word, given, "many.yaml")
    return [path.name for path in request.files.figures]


def test_curves_that_do_not_fit_have_their_own_figure():
    assert files() == ["many", "many_supplement"]
    assert files(learners=["privgam", "one_rule"]) == ["many", "many_supplement"]
    with pytest.raises(study.StudyError, match="privgm"):
        files(learners=["privgm"])


def test_more_than_six_curves_in_a_panel_are_refused():
    labels = sorted({method.partition("~")[0] for method in curves._list_curves(made_study())})
    with pytest.raises(study.StudyError, match="at most 6 curves, which fit in a panel; got 7"):
        files(learners=labels)


def test_powers_of_ten_are_written_as_such():
    assert [power(x) for x in (1e-5, 2.5e-7, 0.01, 1e10)] == ["10⁻⁵", "2.5·10⁻⁷", "0.01", "10¹⁰"]
