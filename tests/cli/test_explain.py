"""``privcurve explain``: importances, shapes and pictures of a model, from its file alone."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import assert_refused

import privcurve
from privcurve import extras, models
from privcurve.cli import main
from privcurve.datasets import Column, Domain, Label
from privcurve.learners import LazyBBClassifier, PrivGAMClassifier, TopDownTreeClassifier
from privcurve.learners.additive.model import AdditiveModel
from privcurve.models.explain import Effects

TOWNS = ("Oslo", "Rome", "?")
DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 80.0), 4, missing_bin=True),
        Column("town", "categorical", categories=tuple((town, town) for town in TOWNS)),
        Column("day", "numeric", (18262.0, 19722.0), 2, dates="iso"),
        Column("idle", "numeric", (0.0, 1.0), 2),
    ),
    Label("sick", "no", "yes"),
)


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Return a PrivGAM with shapes that are set by hand."""
    monkeypatch.chdir(tmp_path)
    X, y = np.zeros((40, 4), dtype=np.uint8), np.arange(40) % 2
    fitted = PrivGAMClassifier(n_bins=DOMAIN.n_bins, delta=1e-6, classes=(0, 1)).fit(X, y)
    shapes = ([-1.0, -1.0, 0.5, 2.0, 0.0], [0.25, -0.25, 0.0], [-0.5, 0.5], [0.0, 0.0])
    values = tuple(np.array(shape) for shape in shapes)
    fitted.model_ = AdditiveModel(0.5, 0.1, values, tuple(v * 0 + 0.2 for v in values))
    models.save("model.json", fitted, DOMAIN)
    return fitted


def test_it_prints_importances_and_shapes(model, capsys):
    assert main.main(["explain", "model.json"]) == 0
    output = capsys.readouterr().out
    for line in (
        r"day +0\.5 ",
        r"Without effect of their own: idle\.",
        r"0 <= age < 40 +-1 ± 0\.39",
        r"age is missing +\+0 ± 0\.39",
    ):
        assert re.search(line, output), line
    assert main.main(["explain", "model.json", "--json", "--columns", "1"]) == 0
    content = json.loads(capsys.readouterr().out)
    # The mean of |values − their mean|: (1.1 + 1.1 + .4 + 1.9 + .1)/5.
    assert content["importances"]["age"] == pytest.approx(0.92)
    assert [column["name"] for column in content["columns"]] == ["age"]


def test_a_picture_has_the_steps_and_bands_of_the_model(model, capsys):
    axes = privcurve.load("model.json").explain().plot()
    assert [panel.get_title() for panel in axes] == ["age", "day", "town"]
    steps, band = axes[0].lines[0], axes[0].collections[0].get_paths()[0].vertices
    assert steps.get_xydata().tolist() == [[0, -1], [40, 0.5], [60, 2], [80, 2]]
    assert band[:, 1].max() == pytest.approx(2.392)
    given = axes[0].figure.subplots(1, 2)
    drawn = model.explain(DOMAIN).plot(most=1, axes=given)
    assert [bool(panel.lines) for panel in drawn] == [True, False]
    assert model.explain(DOMAIN).plot(most=0)[0].texts[0].get_text() == "no shape to draw"
    assert main.main(["explain", "model.json", "--picture", "shapes.svg", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert b"<svg" in Path("shapes.svg").read_bytes()


def test_a_model_that_cannot_be_explained_is_reported(model, tmp_path, capsys, monkeypatch):
    assert_refused(
        tmp_path, capsys, "explain model.json --columns -1", "must be at least 0; got -1"
    )
    assert_refused(
        tmp_path,
        capsys,
        "explain model.json --picture a.txt",
        r"--picture must be a file with the ending \.svg, \.png, \.pdf",
    )
    assert_refused(tmp_path, capsys, "explain new.json", "new.json can't be read")
    for other in (type(model), "model.json"):
        with pytest.raises(models.ModelError, match="can't be explained: give a fitted learner"):
            privcurve.explain(other)
    assert str(privcurve.explain(privcurve.load("model.json"))) == str(model.explain(DOMAIN))
    with pytest.raises(models.ModelError, match=r"domain must be a Domain.*Give dataset"):
        model.explain(["age", "town"])
    with pytest.raises(ValueError, match="most must be ≥ 0; got -1"):
        model.explain(DOMAIN).plot(most=-1)
    with pytest.raises(models.ModelError, match="the domain must have"):
        model.explain(Domain(DOMAIN.columns[:1], DOMAIN.label))
    assert not hasattr(PrivGAMClassifier(), "feature_importances_")
    monkeypatch.setattr(extras.importlib.util, "find_spec", lambda name: None)
    assert_refused(tmp_path, capsys, "explain model.json --picture a.svg", r"privcurve\[workflow\]")


def test_an_interaction_of_two_rare_codes_makes_it_no_sum():
    sizes = np.array([41, 16, 2])
    for a, b in ((1, 1), (40, 15), (17, 4)):
        both = Effects.measure(lambda X, a=a, b=b: 1.0 * (X[:, [0]] == a) * (X[:, [1]] == b), sizes)
        assert not both.is_sum
        assert min(both.importances[:2]) > 0 == both.importances[2]


@pytest.mark.parametrize("size", [8, 100])
def test_a_tree_that_asks_for_three_codes_is_no_sum_though_no_random_cell_has_them(size):
    X = np.where(np.random.default_rng(0).random((2000, 3)) < 0.8, 3, 5).astype(np.uint8)
    codes = tuple((str(code), str(code)) for code in range(size))
    columns = tuple(Column(name, "categorical", categories=codes) for name in "abc")
    domain = Domain(columns, Label("sick", "no", "yes"))
    model = TopDownTreeClassifier(epsilon=200, n_bins=domain.n_bins, random_state=1)
    explanation = model.fit(X, (X == 3).all(axis=1).astype(int)).explain(domain)
    assert set(model.predict(X)) == {0, 1}
    assert not explanation.is_sum
    assert "always" not in str(explanation)


def test_votes_are_no_sum_where_the_last_round_breaks_ties():
    X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(np.uint8)
    start = {"start": "public", "public_columns": [0]}
    for n_rounds, more, joins in ((5, {}, False), (6, {}, True), (6, start, False)):
        model = LazyBBClassifier(n_rounds=n_rounds, n_bins=4, random_state=1, **more)
        assert model.fit(X, (X[:, 0] > 1).astype(int)).joins_columns == joins
