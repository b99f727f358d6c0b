"""privcurve attack: how often it guesses one record's secret, on copies of a table."""

import json
import math

import numpy as np
import pytest
from own_release import N_ROWS, release_request

from privcurve import datasets
from privcurve.cli.main import main
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, most_right_guesses
from privcurve.releases import attack as attacking
from privcurve.releases import cited
from privcurve.releases.attack import Attack, attack, guaranteed
from privcurve.releases.errors import ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import CARD

N = 2000


def run_attack(n_fits=N, made_up=False, **changes):
    description = datasets.describe("mine")
    asked_for = release_request(**changes).of(description)
    data = None if made_up else datasets.load("mine")
    return attack(asked_for, description, data, n_fits)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_attack_on_a_noisy_majority_reaches_the_best_guess(write_private_dataset, epsilon):
    """The best guess is right with probability 1 − e^(−ε/2)/2.

    The secret moves the margin by 2, and the noise of the margin is Laplace with the scale 2/ε.
    """
    result = run_attack(epsilon=epsilon)
    best = 1 - math.exp(-epsilon / 2) / 2
    # Five standard errors: false alarm below 10⁻⁶.
    assert abs(result.right - best) < 5 * result.error + 0.01
    assert result.most == most_right_guesses(epsilon, 0.0) > result.right
    assert not result.refutes
    false, true = result.curve()
    assert (np.diff(false) >= 0).all()
    assert (np.diff(true) >= 0).all()
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    # The measured trade-off curve is below the guaranteed one, up to sampling error.
    assert (true <= guaranteed(false, epsilon, 0.0) + 0.06).all()


def test_a_learner_with_less_noise_than_stated_is_refuted(write_private_dataset, monkeypatch):
    own = NoisyMajorityClassifier._fit_one

    def loud(self, records, curator):
        self.epsilon, stated = 20.0, self.epsilon
        try:
            return own(self, records, curator)
        finally:
            self.epsilon = stated

    monkeypatch.setattr(NoisyMajorityClassifier, "_fit_one", loud)
    result = run_attack(200)
    assert result.refutes
    assert result.right > 0.95


def test_records_that_are_added_and_several_of_a_person(write_private_dataset):
    private = {"learner": "privgam", "neighbours": ADD_REMOVE, "parameters": {"n_estimate": N_ROWS}}
    assert not run_attack(60, epsilon=1.0, **private).refutes
    write_private_dataset(unit={"column": "note", "at_most": 3})
    # A person has three different records at ε/3 each, as good as one record at ε.
    result = run_attack(N, epsilon=2.0)
    assert abs(result.right - (1 - math.exp(-1.0) / 2)) < 5 * result.error + 0.01


def test_an_impossible_attack_is_refused(write_private_dataset):
    with pytest.raises(ReleaseError, match="fits must be at least 50; got 3"):
        run_attack(3)
    write_private_dataset(public_label=True, budget=None)
    with pytest.raises(ReleaseError, match="neighbours must be replace-one or add-remove for"):
        run_attack(60, learner="noisy_bayes", neighbours=PRIVATE_COLUMNS)
    write_private_dataset(rows_per_part=20)
    assert main(["attack", "mine", "--epsilon", "1"]) != 0


def test_the_made_up_table_follows_from_public_facts(write_private_dataset):
    description = datasets.describe("mine")
    table = attacking.make_table(description, release_request())
    assert (table.n, set(np.unique(table.labels))) == (N_ROWS, {-1, 1})
    assert (table.codes < np.array(description.domain.n_bins)).all()
    private = release_request(neighbours=ADD_REMOVE, parameters={"n_estimate": 33})
    assert attacking.make_table(description, private).n == 33
    write_private_dataset(
        lines=["age,town,note,sick", *("99,Oslo,x,yes",) * (N_ROWS - 1), "1,Oslo,x,no"]
    )
    other = attacking.make_table(datasets.describe("mine"), release_request())
    assert all((one == two).all() for one, two in zip(table, other, strict=True))


def test_a_card_cites_only_the_attack_on_a_made_up_table(write_private_dataset, capsys, tmp_path):
    write_private_dataset(budget=None)
    arguments = ["attack", "mine", "--epsilon", "1", "--learner", "noisy_majority", "--fits", "60"]
    assert main([*arguments, "--picture", "attack.svg", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["made_up"], content["n_fits"]) == (False, 120)
    assert "<svg" in (tmp_path / "attack.svg").read_text()
    assert "attack" not in release(release_request()).path(CARD).read_text()
    assert main([*arguments, "--made-up"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("The best attack that we tried guessed right ")
    assert "at most 73.1 are possible." in output
    sentence = output.partition(".\n")[0]
    card = release(release_request()).path(CARD).read_text()
    assert f"{sentence[0].lower()}{sentence[1:]}" in card.replace("\\", "")
    # The card of a release at another ε does not cite the attack.
    assert "attack" not in release(release_request(epsilon=2.0)).path(CARD).read_text()
    (tmp_path / cited.FOLDER / "mine_made_up.json").write_text("[]")
    assert "attack" not in release(release_request()).path(CARD).read_text()


def test_the_guaranteed_curve_is_the_curve_of_randomised_response():
    false = np.array([0.0, 0.1, 1 / (1 + math.e), 0.5, 1.0])
    most = guaranteed(false, 1.0, 0.0)
    assert most[1] == pytest.approx(0.1 * math.e)
    assert (most[2] + 1 - false[2]) / 2 == pytest.approx(most_right_guesses(1.0, 0.0))
    assert most[-1] == 1.0
    assert guaranteed(np.zeros(1), 1.0, 0.01)[0] == pytest.approx(0.01)
    assert Attack("", np.zeros(9), np.ones(9), 0.5, 1.0, 0.0).right == 1.0
