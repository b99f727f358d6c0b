"""Test the inspection of models, and the card of a model."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from made_up_study import output_request
from small_study import study_with

from privcurve import datasets
from privcurve.experiments import models, train
from privcurve.experiments.results import IncompleteError
from privcurve.experiments.splits import TEST, Split
from privcurve.papers.thesis import _insides as insides
from privcurve.papers.thesis import model_card

LEARNERS = {
    "boost": {"learner": "lazybb", "grid": {"n_rounds": [5, 9]}},
    "lr": {"learner": "logistic_regression"},
}
BOOST = "boost~proved"


@pytest.fixture(scope="module")
def data():
    return datasets.load("toy-line")


@pytest.fixture(scope="module")
def data_with_test_part(data):
    """Return the dataset with its last 500 records as a test part."""
    return dataclasses.replace(
        data, X=data.X[:1500], y=data.y[:1500], X_test=data.X[1500:], y_test=data.y[1500:]
    )


@pytest.fixture(scope="module")
def methods():
    return study_with(LEARNERS, epsilons=[0.4, 2]).methods


def selected(setting, epsilon=0.4):
    row = {"dataset": "toy-line", "method": BOOST, "epsilon": epsilon, "setting": setting}
    return pd.DataFrame([row])


def test_models_match_the_fresh_trainings(data_with_test_part, methods, tmp_path):
    point = methods[BOOST].points[0]
    inspected = list(models.train_afresh(data_with_test_part, methods[BOOST], point, 3, 7))
    trainer = train.Trainer(data_with_test_part, methods[BOOST], 7, tmp_path)
    rows = trainer.run([(point, split) for split in [Split(TEST, k) for k in (1, 2, 3)]])
    assert [model.accuracy() for model in inspected] == [row["accuracy"] for row in rows]
    used = [model.learner.n_features_used_ for model in inspected]
    assert used == [row["n_features_used"] for row in rows]
    assert len({model.accuracy() for model in inspected}) > 1


def test_without_a_test_part_all_records_train_and_none_are_unseen(data, methods):
    (model,) = models.train_afresh(data, methods[BOOST], methods[BOOST].points[0], 1, 7)
    assert model.unseen is None
    assert np.isnan(model.accuracy())
    assert model.learner.n_records_ == len(data.y)


def test_margins_and_rounds(data_with_test_part, methods):
    setting = {"n_rounds": 30, "density": 0.5, "learning_rate": 0.1, "weak_learner": "one_rule"}
    advantages, margins = insides.round_by_round(
        data_with_test_part, methods[BOOST], 1.0, setting, 2, 7
    )
    assert [len(run) for run in advantages] == [30, 30]
    assert set(margins) == {"train", "test"}
    values, counts = margins["test"][0]
    assert counts.sum() == 500
    assert np.abs(values).max() <= 1
    assert np.allclose(values * 15, np.round(values * 15))
    alone, _ = insides.round_by_round(data_with_test_part, methods[BOOST], np.inf, setting, 2, 7)
    assert len(alone) == 1


def test_the_selected_point_is_found_in_the_study(methods):
    method = methods[BOOST]
    point = models.selected_point(method, selected(method.points[1].text), "toy-line", 0.4)
    assert (point.epsilon, point.setting) == (0.4, {"n_rounds": 9})
    moved = selected(method.points[1].text, epsilon=0.40000000000000002)
    assert models.selected_point(method, moved, "toy-line", 0.4) == point
    # A table of selected settings has ε with only twelve digits. The function finds the setting
    # at the exact ε.
    half = dataclasses.replace(method, epsilons=(math.log(2),))
    moved = selected(method.points[1].text, epsilon=0.69314718056)
    assert models.selected_point(half, moved, "toy-line", math.log(2)).epsilon == math.log(2)


@pytest.mark.parametrize(
    ("setting", "epsilon", "dataset"),
    [('{"n_rounds":7}', 0.4, "toy-line"), (None, 0.4, "toy-line"), ('{"n_rounds":5}', 0.4, "x")],
)
def test_a_missing_selection_is_reported(methods, setting, epsilon, dataset):
    with pytest.raises(IncompleteError, match=r"no setting .* at ε = 0.4"):
        models.selected_point(methods[BOOST], selected(setting, epsilon), dataset, 0.4)


def test_the_votes_give_every_score(data_with_test_part, methods):
    names = data_with_test_part.domain.bin_names
    X = data_with_test_part.X_test
    for model in models.train_afresh(
        data_with_test_part, methods[BOOST], methods[BOOST].points[1], 3, 7
    ):
        scores = np.zeros(len(X))
        for votes, condition in insides.votes_of(model, names):
            where = [
                (j, c) for j, of in enumerate(names) for c, n in enumerate(of) if n == condition
            ]
            holds = np.full(len(X), condition == "always")
            for column, code in where:
                holds = X[:, column] == code
            scores += np.where(holds, votes, -votes)
        assert np.array_equal(scores, model.learner.decision_function(X))


VOTES = [(1, "a"), (-3, "b"), (2, "c"), (-1, "d")]


def test_the_card_is_sorted():
    card = model_card.votes_in_order(VOTES)
    assert card["votes"].tolist() == [-3, 2, 1, -1]
    assert card["condition"].tolist() == ["b", "c", "a", "d"]
    assert model_card.format_table(card)["votes"].tolist() == ["-3", "+2", "+1", "-1"]


def test_the_notes_hold_the_statement(data_with_test_part, methods):
    (model,) = models.train_afresh(
        data_with_test_part, methods[BOOST], methods[BOOST].points[0], 1, 7
    )
    statement = str(model.learner.privacy_)
    notes = model_card.notes_of("sick", "{}", statement, trees=False, tested=True)
    assert any("epsilon = 0.4" in note and "Not covered" in note for note in notes)
    assert "sick" in notes[0]


def test_without_a_test_part_no_accuracy_is_reported():
    lines = model_card.headings("LazyBB", "Toy", 0.4, None)
    notes = model_card.notes_of("sick", "{}", "statement", trees=False, tested=False)
    assert "nan" not in " ".join([*lines, *notes])
    assert lines[1] == "Toy: no test part"
    assert any("no test part" in note for note in notes)


@pytest.mark.parametrize("extra", [{}, {"splits": "threshold", "leaves": "rules"}])
def test_leaves_of_trees_give_every_score(data_with_test_part, extra):
    fixed = {"weak_learner": "topdown", "depth": 2, "n_rounds": 5, **extra}
    method = study_with({"trees": {"learner": "lazybb", "fixed": fixed}}).methods["trees~proved"]
    (model,) = models.train_afresh(data_with_test_part, method, method.points[1], 1, 7)
    names = data_with_test_part.domain.bin_names
    places = {n: (j, c) for j, of in enumerate(names) for c, n in enumerate(of)}
    assert insides.is_of_trees(model)
    X = data_with_test_part.X_test
    scores = np.zeros(len(X))
    for votes, condition in insides.votes_of(model, names):
        holds = np.ones(len(X), dtype=bool)
        for part in condition.split(" and ") if condition != "always" else []:
            word, _, name = part.rstrip("]").rpartition("[")
            column, code = places[name]
            values = X[:, column]
            answer = {"up to ": values <= code, "above ": values > code, "not ": values != code}
            holds &= answer.get(word, values == code)
        scores += np.where(holds, votes, 0)
    assert np.array_equal(scores, model.learner.decision_function(X))


def test_models_without_votes_are_not_lost():
    frame = model_card.votes_frame("proved", 0.4, [(1, 0.8, VOTES), (2, 0.7, [])])
    assert frame.groupby("repeat").size().to_dict() == {1: 4, 2: 1}
    assert pd.isna(frame.iloc[-1]["condition"])


def test_a_figure_without_votes_is_refused():
    with pytest.raises(ValueError, match="card must have at least one vote"):
        model_card.draw(model_card.votes_in_order([]), "a", "sick")


def test_cards_of_several_names_have_their_own_votes():
    options = {"learner": "boost", "dataset": "toy-line", "epsilon": 2}
    names = (None, "model_card", "other_card", "second")
    cards = [output_request("model_card", {**options, "name": name}) for name in names]
    files = [str(card.files.others["votes"]) for card in cards]
    first, *others = [f"results/tiny/{name}_votes.csv" for name in ("model", "other", "second")]
    assert files == [first, first, *others]
