"""What tells methods apart in figures: the plans of all studies, drawn with made-up scores."""

import itertools
import math
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from small_study import ROOT

from privcurve.analysis import ranks
from privcurve.analysis.keys import method_of
from privcurve.experiments import kinds, study
from privcurve.figures import style
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.outputs import (
    arena,
    audit,
    comparison,
    leaderboard,
    learning_curves,
    mean_ranks,
    sweep,
)
from privcurve.outputs.base import request_output
from privcurve.outputs.error_table import method_labels, method_styles
from privcurve.outputs.registry import OUTPUTS
from privcurve.workflow.reading import study_files


@pytest.fixture(scope="module")
def studies():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "missing_package", lambda learner: None)
        return {name: study.load(path) for name, path in study_files({}, ROOT).items()}


def requests(studies, word):
    """Yield the outputs of a kind, of all studies."""
    for made in studies.values():
        for other, options in made.outputs:
            if other == word:
                yield request_output(OUTPUTS, made, word, options, made.name)


def methods_with_epsilon(made):
    return [name for name, one in made.methods.items() if any(map(math.isfinite, one.epsilons))]


def look(line):
    """Return everything visible of a line except its position."""
    names = ("color", "marker", "linestyle", "fillstyle", "markerfacecolor", "linewidth")
    dashes = str(getattr(line, "_unscaled_dash_pattern", None))
    return (*(str(getattr(line, f"get_{name}")()) for name in names), dashes)


def test_all_methods_of_a_study_look_different_and_the_same_everywhere(studies):
    colours = {}
    for made in studies.values():
        names = list(dict.fromkeys(map(method_of, methods_with_epsilon(made))))
        looks = style.method_looks(names)
        assert len(set(looks.values())) == len(names), made.name
        for name, own in looks.items():
            assert colours.setdefault(name, own) == own, name
        curves = [name for name, one in made.methods.items() if one.calibration]
        request = next(requests({made.name: made}, "accuracy"), None)
        if request:
            assert len(set(method_styles(request).values())) == len(curves), made.name
    gathered = [made for name, made in studies.items() if name.startswith("arena_")]
    names = {method_of(name) for made in gathered for name in methods_with_epsilon(made)}
    assert len(set(style.method_looks(names).values())) == len(names) > 25
    assert len(set(style.method_looks(by_rule.LEARNERS).values())) == len(by_rule.LEARNERS)
    # A learner looks as the study's method that has its name.
    for name in audit.auditable_learners():
        assert style.method_looks([name])[name] == style.method_looks([name, "x"])[name]
        assert name in style.LOOKS


def test_own_methods_get_free_colours_then_free_markers():
    names = [f"own{i}" for i in range(len(style.COLOURS) * len(style.MARKERS))]
    looks = style.method_looks(names)
    assert len(set(looks.values())) == len(names)
    few = style.method_looks(names[: len(style.COLOURS)])
    assert len({colour for colour, _ in few.values()}) == len(style.COLOURS)
    assert (
        style.method_looks(["mine", "privgam"])["privgam"]
        == style.method_looks(["privgam"])["privgam"]
    )
    # Two names of one learner.
    both = style.method_looks(["lazybb", "lazybb_1r"])
    assert both["lazybb"] != both["lazybb_1r"]


def test_curves_of_one_method_that_differ_in_a_parameter_look_different():
    methods = ["m~proved~a=1", "m~proved~a=2", "m~published~a=1", "n~proved"]
    calibrations = {method: method.split("~")[1] for method in methods}
    looks = style.curve_styles(methods, calibrations, dict.fromkeys(methods, 0.0))
    assert len(set(looks.values())) == 4
    assert len({looks[method].colour for method in methods if method != methods[2]}) == 3
    assert looks[methods[0]].colour == looks[methods[2]].colour


def test_learning_curves_draw_or_name_each_method(studies, monkeypatch):
    # What takes time, and changes no line.
    monkeypatch.setattr(style, "legend_below", lambda *_: None)
    monkeypatch.setattr(Figure, "draw_without_rendering", lambda *_: None)
    for name, value in {"label_ends": [], "move_apart": None, "label_lines": None}.items():
        monkeypatch.setattr(learning_curves, name, lambda *_, value=value: value)
    n_checked = 0
    for request in requests(studies, "learning_curves"):
        made, options = request.study, request.options
        datasets = list(options["datasets"] or made.datasets)[:1]
        curves = methods_with_epsilon(made)
        frame = pd.DataFrame(
            {
                **{"dataset": name, "method": method, "calibration": one.calibration},
                **{"delta": one.delta, "kind": kinds.kind(one), "scored_on": "test"},
                **{"epsilon": epsilon, "status": "ok", "accuracy_std": 0.0, "auc_std": 0.0},
                **{"log_loss_std": 0.0, "log_loss": math.nan if place % 3 else 0.5},
                **dict.fromkeys(("accuracy", "auc"), 0.5 + (place + epsilon / 100) / 100),
            }
            for place, (method, one) in enumerate(made.methods.items())
            for name in datasets
            for epsilon in [*filter(math.isfinite, one.epsilons), math.inf][-3:]
            if math.isfinite(epsilon) or method not in curves
        )
        measures = options["measures"] or (made.metric,)
        labels = options["learners"]
        figures = learning_curves.figures(made, frame, labels, datasets, measures)
        drawn, named = defaultdict(set), ""
        for figure in itertools.islice(figures, len(request.files.figures)):
            for panel in figure.axes:
                lines = [one for one in panel.get_lines() if str(one.get_label()) in curves]
                assert len({look(one) for one in lines}) == len(lines)
                named += panel.get_xlabel()
                for one in lines:
                    drawn[one.get_label()].add(look(one))
        assert all(len(own) == 1 for own in drawn.values())
        styles = method_styles(request)
        assert all(next(iter(drawn[one]))[0] == styles[one].colour for one in drawn)
        lacking = [one for one in curves if one not in drawn]
        assert all(made.methods[one].title in named.replace("\n", " ") for one in lacking)
        entries = set(map(method_of, styles))
        if len(entries) <= len(style.COLOURS):
            assert len({own[0] for own in style.method_looks(entries).values()}) == len(entries)
        n_checked += 1
    assert n_checked > 10


def test_mean_ranks_draw_or_name_each_method(studies):
    n_checked = 0
    for request in requests(studies, "mean_ranks"):
        titles, styles = method_labels(request), method_styles(request)
        first, *names = [name for name, own in styles.items() if not own.thin]
        draws = np.random.default_rng(1)
        table = pd.DataFrame(
            {"epsilon": 1.0, "dataset": f"d{k}", "method": name, "error": draws.random()}
            for k, name in itertools.product(range(6), names)
        )
        table["rank"] = table.groupby("dataset")["error"].rank()
        tests = ranks.compare_pairs(table).assign(ranked=mean_ranks.COVERED, measure="auc")
        figure = mean_ranks.draw(tests, titles, styles)
        (panel,) = figure.axes
        lines = [one for one in panel.get_lines() if len(one.get_xdata()) == 3]
        assert len({look(one) for one in lines}) == len(lines) == len(names)
        assert {one.get_color() for one in lines} == {styles[name].colour for name in names}
        lacking = [name for name in (first,) if not styles[name].thin]
        title = panel.get_title(loc="left").replace("\n", " ")
        assert f"without {', '.join(titles[name] for name in lacking)}" in title
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in panel.texts]
        assert all(figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1 for box in boxes)
        n_checked += 1
    assert n_checked > 3


def test_comparisons_draw_or_name_each_method(studies):
    n_checked = 0
    for request in requests(studies, "comparison"):
        titles, styles = method_labels(request), method_styles(request)
        names = comparison.compared_methods(request)
        frame = pd.DataFrame(
            {
                **{"measure": measure, "method": name, "epsilon": 1.0, "dataset": "d"},
                **{"difference": 0.01, "low": 0.0, "high": 0.02},
            }
            for measure, name in itertools.product(("accuracy", "auc"), names)
            if (measure, name) != ("auc", names[0])
        )
        figure = comparison.draw(frame, None, titles, styles, "the reference")
        for panel, drawn in zip(figure.axes, (names, names[1:]), strict=True):
            # An interval and its middle.
            lines = [*zip(*[iter(panel.get_lines()[: 2 * len(drawn)])] * 2, strict=True)]
            seen = [(interval.get_color(), look(interval), look(dot)) for interval, dot in lines]
            assert len(set(seen)) == len(drawn)
            assert [colour for colour, *_ in seen] == [styles[name].colour for name in drawn]
        assert figure.get_supxlabel().replace("\n", " ").endswith(f"without {titles[names[0]]}")
        n_checked += 1
    assert n_checked > 3


def test_the_arena_draws_or_names_each_method(studies):
    gathered = [made for name, made in studies.items() if name.startswith("arena_")]
    methods = {name: one for made in gathered for name, one in made.methods.items()}
    rows = [
        {
            **{"method": name, "delta": one.delta, "dataset": dataset, "epsilon": epsilon},
            **{"status": "proved" if one.calibration == "proved" else "claimed; x"},
            **{"auc": 0.5 + place / 100, "accuracy": 0.5, "log_loss": 0.5 if place % 5 else np.nan},
        }
        for place, (name, one) in enumerate(methods.items())
        for dataset in ("german", "telco")
        for epsilon in (one.epsilons if one.calibration else [math.inf])
        if (place, dataset) != (0, "telco")
    ]
    runs = pd.DataFrame(rows)
    titles, looks = {name: name for name in methods}, arena.looks_of(runs)
    for figure in (
        arena.draw_means(runs[runs["dataset"] == "german"], titles, looks),
        arena.draw_tables(runs, titles, looks),
    ):
        for panel in figure.axes:
            lines = [one for one in panel.get_lines() if len(one.get_xdata()) > 2]
            levels = [one for one in panel.get_lines() if len(one.get_xdata()) == 2]
            assert len({look(one) for one in lines}) == len(lines) > 20
            assert len({look(one) for one in levels}) == len(levels)
            missing = panel.get_xlabel().partition("without")[2].replace("\n", " ").split(", ")
            missing = [name for name in missing if name]
            assert len(lines) + len(levels) + len(missing) == len(methods)
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {*methods}


def test_sweeps_draw_or_name_each_line():
    lines = [f"line {k}" for k in range(20)]
    frame = pd.DataFrame(
        {
            **{"panel": "p", "line": line, "entry": f"m{k // 2}", "calibration": "proved"},
            **{"x": x, "y": math.nan if not k else k + x, "repeat": repeat},
        }
        for k, line in enumerate(lines)
        for x, repeat in itertools.product((1.0, 2.0), (1, 2))
    )
    looks = sweep.looks_of(frame)
    assert len(set(looks.values())) == len(lines)
    (panel,) = sweep.draw(frame, "x", "y", "the x").axes
    seen = {
        (one.get_color(), one.get_marker()) for one in panel.get_lines() if len(one.get_xdata())
    }
    assert len(seen) == len(lines) - 1
    assert panel.get_xlabel() == "the x\nwithout line 0"


def test_curves_of_a_page_have_the_colours_of_figures_and_no_two_the_same():
    names = [f"{name}~proved" for name in by_rule.LEARNERS]
    place = SimpleNamespace(eligible=pd.DataFrame({"method": names}), contracts={})
    colours = leaderboard._colours([place])
    assert len(set(colours.values())) == len(colours) == leaderboard.MOST_CURVES
    for name, number in colours.items():
        assert style.COLOURS[number] == style.method_looks([method_of(name)])[method_of(name)][0]


def test_points_of_audits_differ_and_have_the_colours_of_learners():
    learners = audit.auditable_learners()
    looks = audit.looks_of(learners)
    assert len(set(looks.values())) == len(learners)
    own = style.method_looks(learners)
    assert all(looks[name][0] == own[name][0] for name in learners)
    own_names = [f"learner {i}" for i in range(40)]
    assert len(set(audit.looks_of(own_names).values())) == len(own_names)
