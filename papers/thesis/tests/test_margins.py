"""Test margins, the advantages of boosting rounds, and the figure of both."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from privcurve.datasets import distinct
from privcurve.kernels.lazybb_rules import round_scores
from privcurve.learners import LazyBBClassifier
from privcurve.learners.one_rule import VoteModel
from privcurve.papers.thesis import advantage_and_margins as margins
from privcurve.papers.thesis import rademacher
from privcurve.papers.thesis._insides import round_advantages

RNG = np.random.default_rng(4)
ONES = np.ones(500, dtype=np.int64)


def test_the_ramp_loss_lies_between_error_and_share_of_small_margins():
    values = RNG.uniform(-1, 1, 500)
    for theta in (0.01, 0.3, 1.0):
        loss = rademacher.ramp_loss(values, ONES, theta)
        assert (values <= 0).mean() <= loss <= (values < theta).mean()
    assert rademacher.ramp_loss(np.array([0.25]), np.array([3]), 0.5) == 0.5
    with pytest.raises(ValueError, match="above 0"):
        rademacher.ramp_loss(values, ONES, 0)


def test_the_histogram_counts_records_and_keeps_a_lattice_together():
    n_rounds = 50
    values = np.arange(-n_rounds, n_rounds + 1, 2) / n_rounds
    heights = margins.histogram(values, np.ones(len(values), dtype=np.int64), n_bins=50)
    # Each interval has one margin, at its lower edge; only the last interval also has the margin 1.
    assert np.allclose(heights * len(values), [1] * 49 + [2])
    weighted = margins.histogram(np.array([-1.0, 0.0]), np.array([1, 3]), n_bins=2)
    assert weighted.tolist() == [0.25, 0.75]


def test_the_rounds_of_the_theorem():
    # The thesis says "approximately 4,000 rounds" for κ = 1/2 and γ = 1/20.
    assert margins.rounds_needed(0.5, 0.05) == 4437


def test_the_failing_round_starts_the_first_window_that_is_too_low():
    advantages = np.concatenate([np.full(30, 0.2), np.full(30, 0.0)])
    # The window of 10 rounds that begins at index t ≥ 20 has the mean 0.2·(30 − t)/10. It is below
    # 0.05 for the first time at t = 28, which is round 29.
    assert margins.failing_round(advantages, 0.05, window=10) == 29
    assert margins.failing_round(advantages, -0.1, window=10) is None
    single_dip = np.full(60, 0.2)
    single_dip[5] = -0.4
    assert margins.failing_round(single_dip, 0.05, window=10) is None
    with pytest.raises(ValueError, match="rounds must be at least the window"):
        margins.failing_round(np.zeros(5), 0.05, window=10)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (400, 3)).astype(np.uint8)
    y = np.where((X[:, 0] > 1) ^ (rng.random(400) < 0.2), 1, -1).astype(np.int8)
    X, y, counts = distinct(X, y)
    model = LazyBBClassifier(
        n_bins=4,
        n_rounds=40,
        density=0.3,
        learning_rate=0.4,
        epsilon=5.0,
        random_state=np.random.default_rng(1),
    )
    return model.fit(X, y, counts), X, y, counts


def test_the_advantage_is_half_less_the_error_in_the_round(fitted):
    model, X, y, counts = fitted
    advantages = round_advantages(model, X, y, counts)
    assert advantages.shape == (40,)
    for t in range(40):
        errors = round_scores(
            X, model.n_bins_, y, counts, model.chosen_[:t], 0.3, 0.4, normalise=True
        )
        assert advantages[t] == pytest.approx(0.5 - errors[model.chosen_[t]], abs=1e-12)
    assert advantages[0] > 0.2
    assert advantages.min() < 0.1


def test_constants_count_as_rules(fitted):
    _, X, y, counts = fitted
    other = LazyBBClassifier(n_bins=4, n_rounds=2, density=0.3, learning_rate=0.4).fit(X, y, counts)
    picks = np.array([2 * 12, 2 * 12 + 1])
    other.model_ = VoteModel.from_picks(picks, other.n_bins_)
    share = counts[y > 0].sum() / counts.sum()
    first, second = round_advantages(other, X, y, counts)
    assert first == pytest.approx(share - 0.5, abs=1e-12)
    # The first vote, for the positive class, is wrong about negative records: relative to positive
    # records, their weight grows by the factor e^{0.8}.
    negative = (1 - share) * np.exp(0.8)
    assert second == pytest.approx(negative / (negative + share) - 0.5, abs=1e-9)


@pytest.mark.usefixtures("given_streams")
def test_trees_have_rounds_too(fitted):
    one, X, y, counts = fitted
    rules = clone(one).set_params(random_state=np.random.default_rng(1))
    trees = clone(one).set_params(
        weak_learner="topdown", depth=1, leaves="rules", random_state=np.random.default_rng(1)
    )
    # Trees of one level with leaves="rules" are equivalent to 1-rules, so both have equal
    # advantages.
    gains = [round_advantages(model.fit(X, y, counts), X, y, counts) for model in (rules, trees)]
    assert np.array_equal(*gains)
    assert len(np.unique(gains[0])) > 1


def frame():
    rounds = np.linspace(0.2, 0.0, 100)
    lattice = RNG.integers(-50, 51, 500) / 50
    return pd.concat(
        [
            margins.advantage_frame("proved", [rounds + 0.01, rounds - 0.01]),
            margins.advantage_frame("without noise", [rounds + 1]),
            *(margins.margin_frame("proved", part, [(lattice, ONES)]) for part in PARTS),
        ],
        ignore_index=True,
    )


PARTS = ("train", "test")


def test_frames_are_tidy():
    made = frame()
    assert made.groupby("quantity").size().to_dict() == {"advantage": 200, "margin": 200}
    first = made.iloc[0]
    assert (first["value"], first["n_runs"], first["round"]) == (pytest.approx(0.2), 2, 1)
    assert first["std"] == pytest.approx(0.01 * np.sqrt(2))
    assert made[made["quantity"] == "margin"].groupby("part")["value"].sum().tolist() == [
        pytest.approx(1),
        pytest.approx(1),
    ]
    failing = margins.failing_rounds(made, 0.05)
    assert failing["without noise"] is None
    assert made.loc[failing["proved"] - 1, "window_mean"] < 0.05
    assert made.loc[failing["proved"] - 2, "window_mean"] >= 0.05


def draw(made, failing):
    titles = {"proved": "proved, ε = 1", "without noise": "without noise"}
    return margins.draw(made, 0.05, failing, titles, drawn="proved")


def test_the_figure_marks_the_failing_round():
    made = frame()
    figure = draw(made, {"proved": 73, "without noise": None})
    upper, lower = figure.axes
    legend = [text.get_text() for text in upper.get_legend().get_texts()]
    assert legend == ["proved, ε = 1: below γ from round 73", "without noise: never below γ"]
    marks = [line for line in upper.get_lines() if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in marks] == [73]
    assert upper.get_xlabel()
    assert lower.get_xlabel()
    assert len(lower.patches) == 2


def test_a_frame_with_nothing_to_draw_is_refused():
    made = frame()
    with pytest.raises(ValueError, match="frames must have advantages"):
        draw(made[made["quantity"] == "margin"], {})
