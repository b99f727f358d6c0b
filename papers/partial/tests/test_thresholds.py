"""Test the figure of the thresholds of one BRC model on a line, and its refusals."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from made_up_study import THRESHOLD_STUDY, output_request

from privcurve import datasets
from privcurve.experiments import models
from privcurve.experiments.study import StudyError, from_mapping
from privcurve.papers.partial import flipped_labels
from privcurve.papers.partial import thresholds as drawing
from privcurve.papers.partial.learners._half_spaces_noise import BRCNoise

threshold_frame, votes_frame = drawing.threshold_frame, drawing.votes_frame

BRC = THRESHOLD_STUDY["learners"]["brc"]
STUDY = {"title": "t", "folds": 2, "repeats": 2, **THRESHOLD_STUDY}


def ask(learner=BRC, given=None, **changes):
    """Return a request for the figure.

    `given` are options of the figure, `learner` is the study's entry for BRC, and `changes` are
    other changes of the study.
    """
    options = {"learner": "brc", "epsilon": 100, **(given or {})}
    return output_request(
        "thresholds", options, **{**THRESHOLD_STUDY, "learners": {"brc": learner}, **changes}
    )


def test_a_threshold_is_the_first_value_that_is_called_positive():
    edges = [0.0, 1.0, 10.0, 100.0]  # edges of three bins, at −1, 0 and 1 on the learner's scale
    rounds = [(1, -1.0, 0.1), (3, -0.01, 0.2), (4, 0.0, -0.3), (5, 0.99, 0.4)]
    frame = threshold_frame(rounds, edges)
    assert frame["threshold"].tolist() == [1, 1, 10, 10]
    assert frame["round"].tolist() == [1, 3, 4, 5]
    assert frame["alpha"].tolist() == [0.1, 0.2, -0.3, 0.4]


def test_thresholds_and_weights_give_every_score():
    data = datasets.load("toy-line-fine")
    (method,) = from_mapping(STUDY, "s", "s.yaml").methods.values()
    (point,) = method.points
    (model,) = models.train_afresh(data, method, point, 1, 7)
    learner = model.learner
    rounds = [(t, -vote.intercept, vote.alpha) for t, vote in enumerate(learner.votes_)]
    assert not any(vote.public for vote in learner.votes_)
    frame = threshold_frame(rounds, data.domain.columns[0].edges)
    assert len(frame) == 20
    # The dataset has 2,000 positions, and one bin for each: bin and position are equal.
    positions = np.arange(2000)
    sides = np.where(positions[:, None] >= frame["threshold"].to_numpy(), 1, -1)
    X = np.column_stack([positions, np.zeros(2000)]).astype(np.uint16)
    assert np.allclose(sides @ frame["alpha"].to_numpy(), learner.decision_function(X))


def test_each_repeat_draws_its_own_whatever_else_is_trained():
    data = datasets.load("toy-line-fine")
    (method,) = from_mapping(STUDY, "s", "s.yaml").methods.values()
    (point,) = method.points
    first = [model.learner.votes_ for model in models.train_afresh(data, method, point, 2, 7)]
    again = [model.learner.votes_ for model in models.train_afresh(data, method, point, 1, 7)]
    assert first[0] == again[0] != first[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": {**BRC, "fixed": {}}}, "one numeric column; got brc~published"),
        (
            {"learner": {"learner": "one_rule", "neighbours": "replace-one"}},
            "learner must be brc with",
        ),
        ({"learner": {**BRC, "grid": {"n_kept": [5, 10]}}}, "got brc~published with a grid"),
        ({"train_shares": [0.5]}, "a share of the records"),
        ({"learner": {**BRC, "fixed": {**BRC["fixed"], "n_kept": 3}}}, "rounds that do not vote"),
        ({"neighbours": "replace-one"}, "got brc~published with the columns position, coin"),
        ({"given": {"epsilon": 0}}, "epsilon must be > 0; got 0"),
        ({"given": {"dataset": "wdbc"}}, "no dataset 'wdbc'"),
        ({"given": {"boundary": 3000}}, "boundary must be within the bounds of position"),
    ],
)
def test_a_method_without_thresholds_on_one_column_is_refused(change, message):
    with pytest.raises(StudyError, match=f"^tiny: outputs: .*{re.escape(message)}"):
        ask(**change)


def test_the_output_trains_no_run_of_the_study_and_names_its_inputs():
    reads = ask().reads
    assert reads.curves == ()
    assert reads.data == ("toy-line-fine",)
    longer = {**BRC, "fixed": {**BRC["fixed"], "n_rounds": 30}}
    assert ask(longer).reads.facts != reads.facts
    assert ask({**BRC, "calibrations": ["proved"]}).reads.facts != reads.facts
    assert ask(epsilons=[1, 2]).reads.facts == reads.facts


def test_the_figure_has_every_threshold_in_both_panels():
    values = {"threshold": [0, 5, 11, 19, 20], "alpha": [-0.1, 0.2, 0.4, 0.1, 0.0]}
    frame = pd.DataFrame(values)
    figure = drawing.draw(frame, "t", "position", (0.0, 20.0), 10.0)
    left, right = figure.axes
    assert [bar.get_height() for bar in left.patches] == [1, 0, 1, 0, 0, 1, 0, 0, 0, 2]
    (marks,) = right.collections
    assert marks.get_offsets().tolist() == frame.to_numpy().tolist()
    colours = {tuple(colour) for colour in marks.get_facecolors()[1:]}
    assert len(colours) == 1
    assert tuple(marks.get_facecolors()[0]) not in colours
    assert [10, 10] in [list(line.get_xdata()) for line in right.get_lines()]
    unknown = drawing.draw(frame, "t", "position", (0.0, 20.0), None)
    assert len(unknown.axes[1].get_lines()) == len(right.get_lines()) - 1
    with pytest.raises(ValueError, match="must have at least one threshold"):
        drawing.draw(frame.head(0), "t", "position", (0.0, 20.0), None)


def noise(n, epsilon=math.inf):
    return BRCNoise("brc", n, 6, 0.5, 2.0, epsilon, 0.0, "published")


def test_the_best_cut_has_the_fewest_mistakes():
    rng = np.random.default_rng(3)
    for _ in range(50):
        codes, positive = rng.integers(6, size=9), rng.random(9) < 0.5
        mistakes = [int(((codes >= cut) != positive).sum()) for cut in range(7)]
        assert flipped_labels.best_cut(codes, positive, 6) == int(np.argmin(mistakes))


def test_flipped_labels_are_boosted_as_the_paper_says():
    codes, positive = np.arange(40), np.arange(40) >= 15
    votes = flipped_labels.vote_on_flipped_labels(
        codes, positive, 40, noise(40), 0.4, np.random.default_rng(1)
    )
    # An independent implementation of the paper's Algorithm 3.
    rng, weights = np.random.default_rng(1), np.ones(40)
    cuts, alphas = [], []
    for _ in range(6):
        flipped = positive ^ (rng.random(40) < 0.4)
        cuts.append(min(range(41), key=lambda cut: ((codes >= cut) != flipped).sum()))
        wrong = (codes >= cuts[-1]) != positive
        alphas.append(0.5 - weights[wrong].sum() / weights.sum())
        moved = weights * np.exp(alphas[-1] * wrong)
        weights = np.where((moved <= 2) & (moved >= 0.5), moved, weights)
    frame = votes_frame(votes, np.arange(41.0))
    assert frame["threshold"].tolist() == cuts
    assert frame["alpha"].tolist() == pytest.approx(alphas, abs=1e-9)
    sides = np.where(codes[:, None] >= np.array(cuts), 1, -1)
    right = ((sides @ np.array(alphas) > 0) == positive).mean()
    table = flipped_labels.summary({"x": [frame]}, codes, positive, (0, 40), 20)
    assert table["accuracy"].unique() == pytest.approx([right])
    assert table["n_thresholds"].sum() == 6
    assert table["share_of_even"].mean() == pytest.approx(1)


def test_labels_that_are_not_flipped_give_the_boundary():
    codes, positive = np.arange(40), np.arange(40) >= 15
    rng = np.random.default_rng(0)
    votes = flipped_labels.vote_on_flipped_labels(codes, positive, 40, noise(40), 0.0, rng)
    assert set(votes_frame(votes, np.arange(41.0))["threshold"]) == {15}
