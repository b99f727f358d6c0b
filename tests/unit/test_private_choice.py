"""A learner that is chosen on the records with a part of the budget, and released."""

import html
import math
from pathlib import Path

import numpy as np
import pytest

from privcurve import datasets, models
from privcurve.cli import compare, main
from privcurve.datasets import describe
from privcurve.learners import registry
from privcurve.learners.entries import by_rule
from privcurve.learners.shared import tuning
from privcurve.releases.budget_ledger import DONE, BudgetLedger
from privcurve.releases.choice import CHOOSE, choice, closing_sentence
from privcurve.releases.errors import ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import MODEL, PAGE
from privcurve.releases.request import Request

LINES = [
    "age,town,sick",
    *(f"{20 + k % 60},{'Oslo' if k % 3 else '?'},{'yes' if k % 3 else 'no'}" for k in range(300)),
]
# Two quick candidates in place of the real table.
QUICK = {
    "noisy_majority": {"learner": "noisy_majority"},
    "bayes": {"learner": "noisy_bayes", "title": "Bayes of this test"},
    "trees": {**by_rule.LEARNERS["random_trees"]},
}


@pytest.fixture
def write_private_dataset(write_dataset, fixed_entropy, tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))
    monkeypatch.setattr(by_rule, "LEARNERS", QUICK)
    write_dataset(LINES, n_rows=300, budget={"epsilon": 3})


def request_of(**changes):
    return Request(**{"dataset": "mine", "epsilon": 2.0, "learner": CHOOSE, **changes})


def book():
    return BudgetLedger(Path("releases/mine"))


def test_a_selected_model_is_released_with_the_statement_of_the_selection(write_private_dataset):
    released = release(request_of())
    loaded = models.load(released.path(MODEL))
    assert loaded.learner == released.learner_name == released.learner.best_._learner
    assert loaded.statement == released.statement
    assert loaded.statement.learner == "tuned"
    # Training and scoring, for a random number of runs, cost what the budget ledger counts.
    assert loaded.statement.epsilon == released.price.epsilon == 2.0
    assert 2.0 * (1 - 1e-6) < loaded.statement.epsilon_spent <= 2.0
    each = choice(request_of(), describe("mine")).prices
    assert len(each) == 2
    assert all(price < 2.0 / 2 for price in each)
    data = datasets.load("mine")
    np.testing.assert_array_equal(loaded.predict(data.X), released.learner.predict(data.X))
    (entry,) = book().releases()
    assert entry.state == DONE
    assert entry.facts["kept"] == released.learner_name
    with pytest.raises(ReleaseError, match="budget"):
        release(request_of())


def test_nothing_of_the_other_runs_is_released(write_private_dataset):
    released = release(request_of())
    score = f"{released.learner.score_:.6g}"
    for path in (*released.folder.iterdir(), released.ledger):
        text = path.read_text()
        assert score not in text, path
    text = html.unescape(released.path(PAGE).read_text())
    assert "by private selection from 2: Noisy majority; Bayes of this test" in text


def test_settings_of_one_learner_are_chosen_and_released(write_private_dataset):
    mechanisms = {"mechanism": ["permute_and_flip", "exponential"]}
    parameters = {"learner": "one_rule", "settings": mechanisms, "expected_runs": 2}
    released = release(request_of(learner="tuned", parameters=parameters, epsilon=0.5))
    assert models.load(released.path(MODEL)).learner == "one_rule"
    assert released.setting["mechanism"] in mechanisms["mechanism"]
    page = html.unescape(released.path(PAGE).read_text())
    assert f"mechanism = {released.setting['mechanism']}" in page


def test_neighbours_are_refused_before_prices_are_computed(write_private_dataset, monkeypatch):
    monkeypatch.setattr(tuning, "terms", lambda *given: pytest.fail("it has priced candidates"))
    with pytest.raises(ReleaseError, match="offers neighbours = 'replace-one'"):
        choice(request_of(neighbours="add-remove"), describe("mine"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": math.inf}, "epsilon must be finite for a private selection; got inf"),
        ({"epsilon": 1e-9}, "nothing remains for a training"),
        ({"epsilon": 9}, "budget"),
        ({"parameters": {"settings": []}}, "by a public rule: leave out settings"),
        ({"parameters": {"eta": -1}}, "eta must be .*; got -1"),
        (
            {"learner": "tuned", "parameters": {"learner": "majority_class"}},
            "a selection costs nothing",
        ),
        (
            {"learner": "tuned", "parameters": {"settings": [{"learner": 3}]}},
            "must be the name of a",
        ),
    ],
)
def test_an_impossible_choice_is_refused_before_anything_is_spent(
    write_private_dataset, changes, message
):
    with pytest.raises(ReleaseError, match=message):
        release(request_of(**changes))
    assert book().releases() == []


def test_with_delta_more_learners_are_drawn_from(write_private_dataset):
    assert choice(request_of(), describe("mine")).titles == ("Noisy majority", "Bayes of this test")
    (why,) = choice(request_of(), describe("mine")).left_out
    assert "Boosted random trees: random_trees needs a delta above 0" in why
    assert by_rule.suitable_learners(QUICK, 2, 1e-6) == (QUICK, [])
    several, left_out = by_rule.suitable_learners(QUICK, 3, 1e-6)
    assert len(several) + len(left_out) == 3


def test_the_release_states_its_cost_and_ends_in_a_sentence(
    write_private_dataset, capsys, monkeypatch
):
    monkeypatch.setattr(compare, "LOOKED", "never said")
    assert main.main(["compare", "mine", "--epsilon", "2", "--private-choice"]) == 0
    captured = capsys.readouterr()
    assert "the best of 15 expected trainings, of Noisy majority (ε = " in captured.err
    assert "it spends epsilon = 2, for the choice and the model together" in captured.err
    first = captured.out.splitlines()[0]
    assert first.startswith("At epsilon = 2 the private choice kept ")
    assert "releases/mine/1/model.json: the model (epsilon = 2, delta = 0; " in captured.out
    assert "release 1, together epsilon = 2" in captured.out
    assert not Path("results/compare_mine").exists()
    assert "never said" not in captured.out


def test_a_choice_shows_no_progress(write_private_dataset):
    """The number of trainings is not released, and progress would reveal it."""
    told: list[float] = []
    release(request_of(), progress=told.append)
    assert told == [0.0]
    release(Request("mine", 0.1, learner="noisy_bayes"), progress=told.append)
    assert len(told) > 2


@pytest.fixture
def graded(write_private_dataset, write_dataset):
    """Return the same records with a label of three values."""
    lines = [line.replace("yes", "maybe") if k % 2 else line for k, line in enumerate(LINES)]
    write_dataset(lines, n_rows=300, label={"column": "sick", "classes": ["no", "maybe", "yes"]})


def test_a_learner_of_more_classes_is_chosen_and_released(graded, monkeypatch):
    several = {"privgam": {"learner": "privgam"}, **QUICK}
    monkeypatch.setattr(by_rule, "LEARNERS", several)
    released = release(request_of(delta=1e-6))
    assert choice(request_of(delta=1e-6), describe("mine")).titles == (
        "PrivGAM",
        "Boosted random trees",
    )
    assert released.learner_name in ("privgam", "random_trees")
    loaded = models.load(released.path(MODEL))
    assert loaded.statement.learner == "tuned"
    assert list(loaded.statement.assumptions).count("the classes of the label") == 1
    assert "the two labels" not in loaded.statement.assumptions
    data = datasets.load("mine")
    np.testing.assert_array_equal(loaded.predict(data.X), released.learner.predict(data.X))
    assert released.learner.best_.decision_function(data.X).shape == (300, 3)
    assert (
        f"private choice kept {by_rule.name_of(released.learner_name, released.setting)}"
        in closing_sentence(released)
    )


def test_for_more_classes_there_may_be_no_candidate(graded, monkeypatch):
    monkeypatch.setattr(by_rule, "LEARNERS", {"privgam": {"learner": "privgam"}, **QUICK})
    with pytest.raises(ReleaseError, match=r"for 3 classes, with delta = 0, there is only privgam"):
        release(request_of())
    assert book().releases() == []


def test_learners_of_two_classes_are_refused_for_more(graded):
    settings = {"settings": [{"learner": "lazybb"}, {"learner": "random_trees"}]}
    with pytest.raises(ReleaseError, match="lazybb takes two classes, not 3") as choice:
        release(request_of(learner="tuned", parameters=settings, delta=1e-6))
    with pytest.raises(ReleaseError, match="lazybb takes two classes, not 3") as plain:
        release(Request("mine", 2.0, learner="lazybb"))
    # The learners that both messages recommend can be released.
    names = str(plain.value).partition("classes are: ")[2].rstrip(".")
    assert str(choice.value).endswith(f" classes are: {names}.")
    for name in names.split(", "):
        release(Request("mine", 0.1, 0.0 if registry.entry(name).pure else 1e-6, name))
