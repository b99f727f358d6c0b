"""The kind of a curve follows from how its settings were chosen."""

import math
from pathlib import Path

import pytest
from small_study import study_with

from privcurve.experiments import kinds
from privcurve.experiments.study import load
from privcurve.outputs.base import dataset_title, datasets_of_rule, description_of, rule_notes
from privcurve.outputs.learning_curves import MARK, panel_title
from privcurve.privacy.calibration.privgam import SET_ON
from privcurve.workflow.reading import study_files

GRID = {"n_rounds": [1, 9]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"learner": "privgam"}, kinds.RULE),
        ({"learner": "lazybb", "vary": GRID}, kinds.RULE),
        ({"learner": "lazybb", "grid": GRID}, kinds.NOT_COVERED),
        ({"learner": "lazybb", "tune": {"grid": GRID}}, kinds.TUNED),
        ({"learner": "gradient_boosting"}, kinds.NOT_PRIVATE),
    ],
)
def test_the_kind_follows_from_how_settings_are_chosen(spec, expected):
    for method in study_with({"a": spec}).methods.values():
        assert kinds.kind(method) == expected
        assert kinds.kind(method, math.inf) == kinds.NOT_PRIVATE
        if expected == kinds.NOT_COVERED:
            # Without a selection (`select: all`) there is no choice that ε fails to cover.
            assert kinds.kind(method, selected=False) == kinds.RULE


SHIPPED = study_files({}, Path(__file__).parents[2])


def test_datasets_that_set_a_rule_are_distinguished():
    """The README's figure has curves of each kind, and names the kinds."""
    shown = load(SHIPPED["three_kinds"])
    seen = [f"{name}-fine" for name in ("adult", "bank", "creditcard", "codrna")]
    seen += ["mushroom", "magic-bounds"]
    assert datasets_of_rule(shown) == seen
    assert {description_of(name).source for name in seen} <= set(SET_ON)
    others = [name for name in shown.datasets if name not in seen]
    assert len(others) >= 3
    titles = {name: panel_title(shown, name) for name in shown.datasets}
    assert [name for name in titles if titles[name].endswith(MARK)] == seen
    (note,) = rule_notes(shown)
    assert note.startswith(f"Records of {', '.join(seen)}, including test records, trained PrivGAM")


def test_a_rule_is_named_only_where_one_is_followed():
    shown = load(SHIPPED["approximate_fixed"])
    assert "adult" in shown.datasets
    assert rule_notes(shown) == datasets_of_rule(shown) == []
    assert panel_title(shown, "adult") == dataset_title("adult")
