"""Shape functions of one additive model: their frame, their figure, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_study import ADDITIVE

from privcurve import datasets
from privcurve.datasets.domain import Column
from privcurve.experiments import models
from privcurve.experiments.study import StudyError, from_mapping
from privcurve.outputs import shapes
from privcurve.workflow import plan

GAM = ADDITIVE["learners"]["gam"]
STUDY = {
    **{"title": "t", "folds": 2, "repeats": 2, "datasets": ["toy-line"], "epsilons": [1]},
    **ADDITIVE,
}


def request_of(learner=None, given=None, **changes):
    """Ask for the shapes of a study; `learner` and `given` are what is different."""
    options = {"learner": "gam", "epsilon": 2, **(given or {})}
    raw = {**STUDY, "learners": {"gam": learner or GAM}, "outputs": [{"shapes": options}]}
    return plan.outputs_of(from_mapping({**raw, **changes}, "s", "s.yaml"), "s.yaml")[0]


NAMES = ["flat", "size", "kind"]
CONDITIONS = [["a", "b"], ["0 <= size < 1", "1 <= size <= 3", "size is missing"], ["x", "y"]]
EDGES = [(), (0.0, 1.0, 3.0), ()]
VALUES = [[0.0, 0.0], [-0.5, 0.25, 0.1], [0.75, -1.0]]
ERRORS = [[0.1, 0.1], [0.2, 0.3, 0.4], [0.05, 0.06]]


def frame():
    return shapes.bins(NAMES, CONDITIONS, EDGES, VALUES, ERRORS)


def test_columns_stand_by_their_spans_and_flat_ones_are_left_out():
    rows = frame()
    assert rows["column"].tolist() == ["kind"] * 2 + ["size"] * 3
    assert rows["value"].tolist() == [0.75, -1.0, -0.5, 0.25, 0.1]
    assert rows["high"].tolist()[2:4] == [1.0, 3.0]
    assert rows["low"].isna().tolist() == [True, True, False, False, True]


def test_ends_are_the_lowest_and_the_highest_value_of_each_column():
    rows = shapes.ends_of(frame())
    assert rows.values.tolist() == [
        ["kind", -1.0, 0.06, "y", 0.75, 0.05, "x"],
        ["size", -0.5, 0.2, "0 <= size < 1", 0.25, 0.3, "1 <= size <= 3"],
    ]
    texts = shapes.readable(rows)
    assert texts["lowest"].tolist() == ["−1.00 ± 0.06", "−0.50 ± 0.20"]
    assert shapes.ends_of(frame().head(0)).empty


def test_what_is_no_estimate_has_no_error():
    """Of stumps: nothing is said to be ± 0.00."""
    bare = frame().assign(error=0.0)
    assert shapes.readable(shapes.ends_of(bare))["lowest"].tolist() == ["−1.00", "−0.50"]
    first, _ = shapes.notes_of((-0.5, 0.0), "sick", [], "the statement", 0)
    assert "score of a record is −0.50, and" in first
    assert first.endswith("its lowest and highest value.")


def test_notes_say_how_to_read_it_and_what_is_promised():
    notes = shapes.notes_of((-0.5, 0.1), "sick", ["flat"], "the statement", 3)
    assert "−0.50 (± 0.10)" in notes[0]
    assert "the label is sick" in notes[0]
    assert notes[1:] == (
        "Without effect: flat.",
        "The figure leaves out the 3 flattest columns.",
        "the statement",
    )
    assert len(shapes.notes_of((0.0, 1.0), "+", [], "the statement", 0)) == 2


def test_the_values_of_the_frame_give_every_score():
    data = datasets.load("toy-line")
    arm = list(from_mapping(STUDY, "s", "s.yaml").arms.values())[1]
    (model,) = models.train_afresh(data, arm, arm.points[0], 1, 7)
    fitted, domain = model.learner.model_, data.domain
    edges = [column.edges if column.ordered else () for column in domain.columns]
    every = shapes.bins(domain.names, domain.bin_names, edges, fitted.shapes, fitted.errors)
    scores = np.full(len(data.X), fitted.intercept)
    for j, name in enumerate(domain.names):
        part = every[every["column"] == name].sort_values("code")
        scores += part["value"].to_numpy()[data.X[:, j]] if len(part) else 0.0
    assert scores == pytest.approx(fitted.scores(data.X))
    assert np.array_equal(scores > 0, model.learner.decision_function(data.X) > 0)


def test_the_figure_has_a_step_a_bin_and_a_point_a_category():
    figure = shapes.draw(frame(), {"size": "equal"}, "t", "+")
    kind, size = figure.axes
    assert [list(line) for line in kind.get_lines()[0].get_data()] == [[0, 1], [-1.0, 0.75]]
    assert [label.get_text() for label in kind.get_xticklabels()] == ["y", "x"]
    assert [list(line) for line in size.get_lines()[0].get_data()] == [
        [0.0, 1.0, 3.0],
        [-0.5, 0.25, 0.25],
    ]
    band = size.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == pytest.approx((-0.7, 0.55))
    assert "missing" in [text.get_text() for text in size.texts]
    with pytest.raises(ValueError, match="no shape to draw"):
        shapes.draw(frame().head(0), {}, "t", "+")


def test_a_figure_has_room_for_so_many_columns_and_names():
    n = shapes.MOST_PANELS + 2
    names = [f"c{j}" for j in range(n)]
    conditions = [[f"c{j} = {'long' * 9}{code}" for code in range(30)] for j in range(n)]
    values = [np.linspace(-1, 1, 30) * (j + 1) for j in range(n)]
    wide = shapes.bins(names, conditions, [()] * n, values, np.ones((n, 30)))
    panels = shapes.draw(wide, {}, "t", "+").axes
    assert [panel.get_title() for panel in panels] == names[:1:-1]
    labels = panels[0].get_xticklabels()
    assert len(labels) == 2 * shapes.ENDS
    assert all(len(label.get_text()) == shapes.LONGEST_NAME for label in labels)


def crossed():
    """Pairs of the second column with the others, its codes in two groups."""
    columns, groups = [(0, 1), (1, 2)], [[[0, 1], [0, 0, 1]], [[0, 0, 1], [0, 0]]]
    values = [[[0.1, 0.2], [0.3, 0.4]], [[-0.5], [0.25]]]
    return shapes.pairs(NAMES, CONDITIONS, columns, groups, values, values)


def test_pairs_say_where_both_columns_are():
    rows = crossed()
    assert rows["column"].tolist() == ["size × kind"] * 2 + ["flat × size"] * 4
    assert rows["condition"].tolist()[:2] == [
        "0 <= size <= 3 and x or y",
        "size is missing and x or y",
    ]
    assert rows["condition"].tolist()[2] == "a and 0 <= size <= 3"
    assert rows["value"].tolist() == [-0.5, 0.25, 0.1, 0.2, 0.3, 0.4]
    assert rows[["first", "second"]].to_numpy().tolist()[2:] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    names = {"column": ["a = 1", "a = 2"]}
    some = shapes.pairs(["a", "b"], [names["column"], ["b = 1"]], [(0, 1)], [[[0, 0], [0]]],
                        [[[1.0]]], [[[1.0]]])  # fmt: skip
    assert some["condition"].tolist() == ["a = 1 or 2 and b = 1"]


def test_the_figure_shows_pairs_as_colours_on_one_scale():
    rows = pd.concat([frame(), crossed()], ignore_index=True)
    panels = shapes.draw(rows, {"size": "equal"}, "t", "+").axes
    meshes = [panel.collections[0] for panel in panels[2:4]]
    assert [mesh.get_array().tolist() for mesh in meshes] == [
        [[-0.5, 0.25]],
        [[0.1, 0.3], [0.2, 0.4]],
    ]
    assert {mesh.get_clim() for mesh in meshes} == {(-0.5, 0.5)}
    assert panels[2].get_xlabel() == "groups of size"


@pytest.mark.parametrize("spacing", ["log", "log1p"])
def test_bins_of_equal_ratio_have_a_scale_of_their_own(spacing):
    column = Column("size", "numeric", (1.0, 1000.0), 3, spacing=spacing)
    rows = shapes.bins(["size"], [column.bin_names], [column.edges], [[1, 2, 3]], [[1, 1, 1]])
    (panel,) = shapes.draw(rows, {"size": spacing}, "t", "+").axes
    assert panel.get_xscale() == {"log": "log", "log1p": "symlog"}[spacing]
    assert panel.get_xticks().tolist() == [1, 10, 100, 1000]


@pytest.mark.parametrize("bounds", [(2.0, 9.0), (0.0, 0.5)])
def test_bounds_between_two_powers_of_ten_are_ticks_themselves(bounds):
    column = Column("size", "numeric", bounds, 3, spacing="log1p")
    rows = shapes.bins(["size"], [column.bin_names], [column.edges], [[1, 2, 3]], [[1, 1, 1]])
    (panel,) = shapes.draw(rows, {"size": "log1p"}, "t", "+").axes
    assert panel.get_xticks().tolist() == list(bounds)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"learner": {"learner": "one_rule"}},
            "gam~certified is not an additive model: shapes are of",
        ),
        ({"learner": {**GAM, "grid": {"n_rounds": [5, 10]}}}, "has a grid or a share"),
        ({"train_shares": [0.5]}, "has a grid or a share of the records"),
        ({"datasets": ["yeast-sites"]}, "shapes are of two classes, and yeast-sites has 10"),
        ({"given": {"epsilon": 0}}, "epsilon = 0 is not above 0"),
        ({"given": {"epsilon": math.nan}}, "epsilon = nan is not above 0"),
        ({"given": {"dataset": "wdbc"}}, "no dataset 'wdbc'"),
        ({"given": {"delta": 0.5}}, "gam has no delta = 0.5 in this study"),
    ],
)
def test_what_has_no_shapes_is_refused(change, says):
    with pytest.raises(StudyError) as caught:
        request_of(**change)
    assert says in str(caught.value)
    assert str(caught.value).startswith("s.yaml: outputs: ")


def test_what_the_model_hangs_on_is_said_and_nothing_of_the_study_is_read():
    reads = request_of().reads
    assert (reads.curves, reads.data) == ((), ("toy-line",))
    assert request_of(given={"delta": 1e-5}).reads.facts != reads.facts
    assert request_of({**GAM, "fixed": {"n_rounds": 5}}).reads.facts != reads.facts
    assert request_of(epsilons=[3]).reads.facts == reads.facts
