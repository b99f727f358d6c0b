"""A sweep and its boxes: the points that are drawn, and learners without a value on the axis."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
from made_up_study import write_made_up_study

from privcurve.analysis import sweep
from privcurve.experiments.study import StudyError
from privcurve.figures import style
from privcurve.learners import registry
from privcurve.learners.entry import Parameter
from privcurve.outputs import sweep as drawing

AXES = sweep.Axes("n_rounds", "accuracy", ("entry",), ("dataset",))
METHODS = {"boost": {"entry": "boost"}, "lr": {"entry": "lr"}}


def run(method, repeat, accuracy, **setting):
    return {
        **{"dataset": "a", "method": method, "calibration": "proved", "delta": 0.0, "epsilon": 1.0},
        **{"setting": json.dumps(setting), "repeat": repeat, "fold": 0, "status": "ok"},
        "accuracy": accuracy,
    }


@pytest.fixture
def runs():
    boosted = [
        run("boost", r, 0.5 + r / 10 + n / 100, n_rounds=n) for r in range(5) for n in (1, 2)
    ]
    return pd.DataFrame(boosted + [run("lr", r, 0.6 + r / 10) for r in range(2)])


def named(frame):
    return frame.assign(line=frame["entry"], panel=frame["dataset"])


def test_a_learner_without_the_parameter_is_a_horizontal_line(runs):
    frame = named(sweep.trainings(runs[runs["method"] == "boost"], METHODS, AXES, {}))
    flat = named(sweep.trainings(runs[runs["method"] == "lr"], METHODS, AXES.without_x(), {}))
    figure = drawing.draw(frame, "n_rounds", "accuracy", "rounds", levels=flat)
    (panel,) = figure.axes
    heights = [line.get_ydata() for line in panel.get_lines()]
    assert any(np.allclose(height, 0.65) and len(height) == 2 for height in heights)
    assert [text.get_text() for text in figure.legends[0].texts] == ["boost", "lr"]
    shown = sweep.points(flat, AXES.without_x())
    assert shown["accuracy"].tolist() == [pytest.approx(0.65)]


def test_equal_levels_alternate_and_a_failed_level_is_not_in_the_legend(runs):
    frame = named(sweep.trainings(runs[runs["method"] == "boost"], METHODS, AXES, {}))
    flat = pd.DataFrame(
        [
            {"panel": "a", "line": line, "entry": line, "calibration": None, "accuracy": height}
            for line, height in (("one", 0.65), ("other", 0.65), ("failed", math.nan))
        ]
    )
    figure = drawing.draw(frame, "n_rounds", "accuracy", "rounds", levels=flat)
    levels = [line for line in figure.axes[0].get_lines() if np.allclose(line.get_ydata(), 0.65)]
    (start, dashes), (other_start, other_dashes) = (line._dash_pattern for line in levels)
    # A method is drawn at values where another one is not.
    assert dashes == other_dashes
    assert abs(other_start - start) == dashes[0] == dashes[1]
    assert levels[0].get_color() != levels[1].get_color()
    assert [text.get_text() for text in figure.legends[0].texts] == ["boost", "one", "other"]


def test_a_level_that_varies_is_refused(runs):
    twice = pd.concat([runs, runs.assign(epsilon=2.0)], ignore_index=True)
    with pytest.raises(ValueError, match="several results: epsilon vary too"):
        sweep.trainings(twice[twice["method"] == "lr"], METHODS, AXES.without_x(), {})


def test_only_parameters_are_reported_as_varying(runs):
    """Scores and times differ between any two trainings."""
    deeper = runs.assign(
        setting=[json.dumps({**json.loads(text), "depth": 2}) for text in runs["setting"]],
        accuracy=runs["accuracy"] + 0.1,
    )
    twice = pd.concat([runs, deeper], ignore_index=True)
    twice = twice[twice["method"] == "boost"].assign(auc=range(20), fit_seconds=range(20), id="x")
    with pytest.raises(ValueError, match="several results: depth vary too"):
        sweep.trainings(twice, METHODS, AXES, {})
    table = sweep.trainings(twice, METHODS, AXES, {"depth": 2})
    assert len(table) == 10


def test_a_parameter_called_entry_does_not_hide_the_names_of_methods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    registered = registry.entry("privgam")
    parameters = {
        **registered.parameters,
        "entry": Parameter("cyclic", choices=("cyclic", "stumps")),
    }
    monkeypatch.setitem(
        registry.LEARNERS, "privgam", dataclasses.replace(registered, parameters=parameters)
    )
    gam = {"learner": "privgam", "vary": {"entry": ["cyclic", "stumps"]}}
    options = {"x": "epsilon", "lines": ["method"]}
    plan = write_made_up_study(tmp_path, learners={"gam": gam}, outputs=[{"sweep": options}])
    (request,) = plan.study_outputs("tiny")
    axes = plan.context(request).methods()
    assert axes["gam~proved~entry=cyclic"] == {"entry": "gam"}
    x = dataclasses.replace(request, options={**request.options, "x": "entry"})
    with pytest.raises(ValueError, match=r"x must be a parameter .* of a learner; got 'entry'"):
        x.output.check(x)


def test_parameters_without_effect_on_a_level_are_not_named(runs):
    axes = dataclasses.replace(AXES, lines=("entry", "share", "n_rounds")).without_x()
    lone = runs[runs["method"] == "lr"]
    shares = [lone.assign(method=f"lr {share}", share=share) for share in (0.1, 1)]
    methods = {f"lr {share}": {"entry": "lr"} for share in (0.1, 1)}
    same, fewer = sweep.levels(pd.concat(shares), methods, axes, {})
    assert fewer.lines == ("entry", "n_rounds")
    assert len(same) == len(lone)
    shares[0]["accuracy"] += 0.1
    differ, all_of_them = sweep.levels(pd.concat(shares), methods, axes, {"n_rounds": 5})
    assert all_of_them.lines == axes.lines
    assert len(differ) == 2 * len(lone)


def test_a_method_without_successful_trainings_is_reported(runs):
    with pytest.raises(ValueError, match="at least one training must have a result"):
        sweep.trainings(runs[:0], METHODS, AXES, {})


def test_axes_without_x_keep_lines_and_panels():
    assert AXES.without_x().keys == ["dataset", "entry"]
    assert dataclasses.replace(AXES, lines=()).without_x().keys == ["dataset"]


def test_a_learners_measures_are_columns_like_any_other(runs):
    boosted = runs[runs["method"] == "boost"].assign(measures='{"n_nodes":7,"n_rounds":99}')
    frame = sweep.describe_runs(boosted, METHODS)
    assert set(frame["n_nodes"]) == {7}
    # A parameter takes precedence over a measure of the same name.
    assert set(frame["n_rounds"]) == {1, 2}
    nodes = sweep.trainings(boosted, METHODS, dataclasses.replace(AXES, y="n_nodes"), {})
    assert set(sweep.points(nodes, dataclasses.replace(AXES, y="n_nodes"))["n_nodes"]) == {7}
    with pytest.raises(ValueError, match="setting must be a number"):
        sweep.trainings(boosted, METHODS, dataclasses.replace(AXES, y="setting"), {})


def test_null_selects_methods_without_the_parameter(runs):
    axes = sweep.Axes("epsilon", "accuracy", ("entry",), ("dataset",))
    both = sweep.trainings(runs, METHODS, axes, {"n_rounds": [2, None]})
    assert both["entry"].value_counts().to_dict() == {"boost": 5, "lr": 2}
    one = sweep.trainings(runs, METHODS, axes, {"n_rounds": 2})
    assert set(one["entry"]) == {"boost"}


LEARNERS = {
    "rule": {"learner": "one_rule", "vary": {"mechanism": ["auto", "exponential"]}},
    "majority": {"learner": "majority_class"},
}


def draw_sweep(folder, monkeypatch, **options):
    """Draw a sweep of a made-up study; return its panels, legend and table."""
    monkeypatch.chdir(folder)
    options = {"levels": ["majority"], "lines": ["calibration"], **options}
    changes = {"datasets": ["toy-line", "toy-line-fine"], "epsilons": [0.5, 2, math.inf]}
    plan = write_made_up_study(folder, **changes, learners=LEARNERS, outputs=[{"sweep": options}])
    frames = {}
    monkeypatch.setattr(style, "save", lambda figure, frame, *_: frames.update({figure: frame}))
    (request,) = plan.study_outputs("tiny")
    request.output.make(plan.context(request))
    ((figure, frame),) = frames.items()
    (legend,) = figure.legends
    return figure.axes, [text.get_text() for text in legend.texts], frame


def test_the_majority_class_and_no_noise_are_levels_of_each_panel(tmp_path, monkeypatch):
    axes = {"x": "epsilon", "scale": "log", "panels": ["dataset", "mechanism"]}
    panels, legend, frame = draw_sweep(tmp_path, monkeypatch, **axes, compare="dataset")
    assert len(panels) == 4
    for panel in panels:
        flat = [line for line in panel.get_lines() if len(set(line.get_ydata())) == 1]
        # One line without noise in the colour of the curve, one line of the majority class.
        assert len(flat) == 2
        assert panel.get_xlim()[1] < 3
    assert legend == ["1-rule", "Majority class", drawing.ENDLESS]
    shared = panels[0].get_shared_y_axes()
    assert shared.joined(panels[0], panels[1])
    assert not shared.joined(panels[0], panels[2])
    # Two datasets, two mechanisms, three ε; one majority row per dataset, in all panels.
    assert len(frame) == 2 * 2 * 3 + 2
    assert set(frame["n_repeats"]) == {5}


def test_without_a_log_axis_no_noise_is_a_place_on_it(tmp_path, monkeypatch):
    panels, legend, frame = draw_sweep(tmp_path, monkeypatch, x="epsilon", at={"mechanism": "auto"})
    assert drawing.ENDLESS not in legend
    assert [len(panel.get_lines()) for panel in panels] == [2, 2]
    assert len(frame) == 2 * 3 + 2


def test_a_misspelt_measure_is_one_message(tmp_path, monkeypatch):
    with pytest.raises(StudyError, match=r"^tiny: sweep: no result has 'n_leafs'"):
        draw_sweep(tmp_path, monkeypatch, x="epsilon", y="n_leafs", at={"mechanism": "auto"})


def test_datasets_and_methods_of_one_title_are_drawn_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "dataset_title", lambda name: "Patients")
    options = {"x": "epsilon", "panels": ["dataset"], "at": {"mechanism": "auto"}}
    panels, _, frame = draw_sweep(tmp_path, monkeypatch, **options)
    assert [panel.get_title(loc="left") or panel.get_title() for panel in panels] == [
        "Patients (toy-line)",
        "Patients (toy-line-fine)",
    ]
    assert set(frame["dataset"]) == {"toy-line", "toy-line-fine"}
