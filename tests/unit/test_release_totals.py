"""What several releases of the same records guarantee together: one total, wherever it stands."""

import itertools
import json
import math
from pathlib import Path

import pytest
import yaml
from own_release import book, request

from privcurve.audit.contract import Case, train
from privcurve.audit.pairs import flipped_balance
from privcurve.audit.replay_fits import Replay
from privcurve.cli import main
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.releases.budget_ledger import Budget, Price, claim, totals
from privcurve.releases.release import release
from privcurve.releases.released import CARD

# As they are asked for: ε and whom it is for.
FOUR = ((1.0, REPLACE_ONE), (1.0, ADD_REMOVE), (1.0, REPLACE_ONE), (2.0, REPLACE_ONE))
NOTHING = "epsilon = inf: nothing is guaranteed"


def without_budget():
    path = Path("resources/datasets/mine.yaml")
    content = yaml.safe_load(path.read_text())
    del content["budget"]
    path.write_text(yaml.safe_dump(content))


def command(epsilon, neighbours):
    words = ["release", "mine", "--epsilon", str(epsilon), "--neighbours", neighbours]
    if neighbours == REPLACE_ONE:
        return [*words, "--learner", "noisy_majority"]
    return [*words, "--set", "n_estimate=50", "--set", "n_steps=1"]


@pytest.mark.parametrize("order", sorted(set(itertools.permutations(FOUR))))
def test_card_terminal_and_ledger_state_one_total_for_each_relation(mine, capsys, order):
    """By its own rule a release for add-remove neighbours counts twice for replaced records."""
    without_budget()
    for number, one in enumerate(order, start=1):
        assert main.main(command(*one)) == 0
        terminal = capsys.readouterr().out.splitlines()[-1]
        card = Path(f"releases/mine/{number}", CARD).read_text().replace("\\", "")
        lines = [json.loads(text) for text in book().path.read_text().splitlines()]
        ledger = {total["neighbours"]: total["epsilon"] for total in lines[-2]["together"]}
        counted = [(2 if n == ADD_REMOVE else 1) * epsilon for epsilon, n in order[:number]]
        replaced = f"epsilon = {sum(counted):g}"
        assert f"together {replaced} (replace-one); " in terminal
        assert f"- Together, for replace-one neighbours: {replaced}.\n" in card
        assert ledger.pop(REPLACE_ONE) == sum(counted)
        if FOUR[1] in order[:number]:
            added = "epsilon = 1" if number == 1 else NOTHING
            assert f"(replace-one); {added} (add-remove); " in terminal
            assert f"- Together, for add-remove neighbours: {added}.\n" in card
            assert ledger.pop(ADD_REMOVE) == (1 if number == 1 else "inf")
        assert not ledger
        assert card.count("- Together, for ") == 1 + (FOUR[1] in order[:number])


def exact_loss(epsilon, neighbours, pair):
    """The privacy loss of a whole PrivGAM on two neighbours: the worst of what it can release.

    Sums beyond what either side can have: there Laplace densities differ by all of their distance.
    """
    parameters = {"epsilon": epsilon, "neighbours": neighbours}
    if neighbours == ADD_REMOVE:
        parameters["n_estimate"] = 9
    losses = []
    for k in range(60):
        sides = [Replay([k])]
        sides.append(Replay([k], sides[0]))
        for side, curator in zip((pair.left, pair.right), sides, strict=True):
            train(Case("privgam", parameters), side, curator)
        calls = zip(*(curator.events for curator in sides), strict=True)
        apart = [one.losses(other).values() for one, other in calls]
        losses.append(sum(float(part.sum()) for parts in apart for part in parts))
    return max(losses)


def test_the_total_bounds_the_exact_composition_of_two_learners_and_is_reached():
    """Two PrivGAMs of nine records, one label flipped: they cost 1 and 2, and together 3."""
    pair = flipped_balance(9, 0)
    losses = {one: exact_loss(*one, pair) for one in set(FOUR)}
    assert losses[1.0, ADD_REMOVE] == pytest.approx(2.0, rel=1e-3)
    for order in itertools.permutations(FOUR):
        for number in range(1, 5):
            # Their noise is drawn apart, so the losses of a composition add up.
            exact = math.fsum(losses[one] for one in order[:number])
            prices = [Price(epsilon, 0.0, neighbours) for epsilon, neighbours in order[:number]]
            replaced = totals(prices, Budget())[0]
            assert replaced.neighbours == REPLACE_ONE
            assert 0.99 * replaced.epsilon < exact <= replaced.epsilon * (1 + 1e-9)


def test_what_nothing_is_guaranteed_for_is_said():
    added, partial, replaced = (
        Price(1.0, 1e-6, one) for one in (ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE)
    )
    ones = [added, partial, replaced]
    said = {one.neighbours: one for one in totals(ones, Budget())}
    assert claim(said[ADD_REMOVE]) == claim(said[REPLACE_ONE]) == NOTHING
    # A change of private columns alone is a replacement.
    assert said[PRIVATE_COLUMNS].epsilon == 4
    assert said[PRIVATE_COLUMNS].delta == pytest.approx(1e-6 * (1 + math.e) + 2e-6)
    assert totals([replaced], Budget()) == [replaced]
    assert [one.neighbours for one in totals([added], Budget(neighbours=ADD_REMOVE))] == [
        ADD_REMOVE
    ]
    assert claim(totals([Price(1.0, 0.5, REPLACE_ONE)] * 3, Budget())[0]).endswith(
        "delta = 1: nothing is guaranteed"
    )


def test_a_budget_and_the_totals_are_one_sum(mine):
    mine(budget={"epsilon": 5})
    release(request())
    added = release(
        request(learner="privgam", neighbours=ADD_REMOVE, parameters={"n_estimate": 50})
    )
    (replaced, _) = added.together
    assert replaced == added.budget.total(added.prices) == Price(3.0, 0.0, REPLACE_ONE)
