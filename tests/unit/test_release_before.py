"""Releases: what δ means in records, and what is found out before anything is spent."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from own_release import QUICK, ROWS, book, request, states

from privcurve import datasets
from privcurve.cli import main
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.privacy import seeds
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.releases import budget_ledger as books
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import FAILED, RESERVED, Budget, Price
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import CARD
from privcurve.releases.request import (
    check_delta,
    in_records,
    made_up,
    make_estimator,
    public_number,
    rehearse,
)

# δ in records ----------------------------------------------------------------------

WORDS = ["release", "mine", "--epsilon", "0.1", "--delta"]


def test_a_delta_of_one_over_the_number_of_records_has_to_be_allowed(mine, capsys):
    mine(budget={"epsilon": 9, "delta": 0.99})
    for delta in ("0.9", str(1 / ROWS)):
        assert main.main([*WORDS, delta]) == 1
        said = capsys.readouterr().err
        assert "which of 60 records are" in said
        assert "--allow-large-delta. Nothing was trained." in said
        assert not book().path.exists()
    assert main.main([*WORDS, "0.9", "--allow-large-delta"]) == 0
    warning = "warning: Delta = 0.9: whatever epsilon is, a mechanism of this delta may show each "
    assert warning in capsys.readouterr().err
    card = Path("releases/mine/1", CARD).read_text()
    assert "**Delta = 0.9: whatever epsilon is" in card
    assert "which of 60 records are 54 in the mean.**" in card


@pytest.mark.parametrize(("delta", "warned"), [(1 / 600, True), (1.6e-3, False), (1e-6, False)])
def test_from_a_tenth_of_that_there_is_a_warning(mine, capsys, delta, warned):
    mine(budget={"epsilon": 9, "delta": 0.01})
    assert main.main([*WORDS, str(delta)]) == 0
    assert ("warning: " in capsys.readouterr().err) == warned
    card = Path("releases/mine/1", CARD).read_text()
    # A small one is told in records, too.
    assert ("**Delta = " in card) == warned
    assert f"which of 60 records are {delta * ROWS:.2g} in the mean." in card


def test_deltas_of_all_releases_are_told_in_records_and_add_up_to_less_than_one(mine, capsys):
    content = {"epsilon": 9, "delta": 0.99}
    mine(budget=content)
    for number in (1, 2):
        assert main.main([*WORDS, "0.001"]) == 0
        said = "All releases together have delta = 0.002: " in capsys.readouterr().err
        assert said == (number == 2)
    Path("resources/datasets/mine.yaml").write_text(
        re.sub(r"budget:\n(  .*\n)+", "", Path("resources/datasets/mine.yaml").read_text())
    )
    for _ in range(2):
        release(request(learner="privgam", delta=0.4), large_delta=True)
    with pytest.raises(
        LedgerError, match=r"add up to 1 or more.*Nothing was trained.*--allow-large"
    ):
        book().check(Budget(), Price(1.0, 0.4, REPLACE_ONE))
    with pytest.raises(ReleaseError, match=r"delta = 0\.4: whatever epsilon is"):
        release(request(learner="privgam", delta=0.4))
    found = release(request(learner="privgam", delta=0.4), large_delta=True)
    text = found.path(CARD).read_text()
    assert "Together, for replace-one neighbours: epsilon = 3.2, delta = 1: nothing is guar" in text


def test_where_the_number_of_records_is_not_public_its_estimate_counts(mine):
    """A refusal that went by the number would tell of it."""
    description = datasets.describe("mine")

    def adding(delta, **parameters):
        return request(learner="privgam", neighbours=ADD_REMOVE, delta=delta, parameters=parameters)

    assert public_number(request(), description) == ROWS
    assert public_number(adding(0.1, n_estimate=5000), description) == 5000
    for n, delta in ((5000, 1e-3), (5, 0.21), (None, 0.5)):
        given = {} if n is None else {"n_estimate": n}
        with pytest.raises(ReleaseError, match="--allow-large-delta"):
            check_delta(adding(delta, **given), description)
        check_delta(adding(delta * 0.9 if n is None else 0.9 / n, **given), description)
    assert "of about 5,000 records are 5 in the mean" in in_records(1e-3, 5000, ADD_REMOVE)
    assert "their number, which is not public" in in_records(1e-3, None, ADD_REMOVE)
    mine(budget={"epsilon": 9, "delta": 0.1, "neighbours": ADD_REMOVE})
    found = release(adding(1e-6, n_estimate=5000))
    text = found.path(CARD).read_text()
    assert "of about 5,000 records are 0.005 in the mean" in text
    assert "60 records" not in text


# Noise that can't be had -----------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"learner": "privgam", "delta": 1e-320}, "too small to compute with: give 0, or at least"),
        ({"learner": "lazybb", "delta": 1e-310}, "too small to compute with: give 0, or at least"),
        ({"learner": "topdown", "delta": 1e-6, "epsilon": 1e-100}, "can't be trained with epsilon"),
        ({"learner": "dpboost", "epsilon": 1e-320}, "can't be trained with epsilon"),
    ],
)
def test_noise_that_can_not_be_had_spends_nothing(mine, changes, says):
    mine(budget={"epsilon": 9, "delta": 1e-3})
    with pytest.raises(ReleaseError, match=says):
        release(request(**changes))
    assert not book().path.exists()
    assert not seeds.folder().exists()


def released():
    """All that can be released: learners, each for its relations, with and without δ."""
    for name, entry in LEARNERS.items():
        if entry.certified and not entry.requires and registry.estimator_class(name)._released:
            for neighbours in entry.neighbours:
                for delta in [0.0] * entry.pure + [1e-6] * entry.approximate:
                    yield name, neighbours, delta


SOME = ("lazybb", "topdown", "noisy_bayes", "privgam", QUICK)
EVERY = tuple(dict.fromkeys(name for name, _, _ in released()))


@pytest.mark.parametrize(
    ("n", "names"), [(2, SOME), *(pytest.param(n, EVERY, marks=pytest.mark.slow) for n in (2, 60))]
)
def test_whatever_can_be_trained_can_be_rehearsed(n, names):
    """On as few records as there can be; of the toy data, whose label may be public."""
    description = datasets.describe("toy-line")
    domain = replace(description.domain, label=replace(description.domain.label, public=True))
    description = replace(description, n_rows=n, domain=domain)
    for name, neighbours, delta in (one for one in released() if one[0] in names):
        given = {"n_estimate": n} if neighbours == ADD_REMOVE else {}
        one = request(learner=name, neighbours=neighbours, delta=delta, parameters=given)
        rehearse(one, description, make_estimator(one, domain))


def test_made_up_records_are_as_many_and_tell_nothing(mine):
    domain = datasets.describe("mine").domain
    for n in (2, 60, 64, 65, 100_000):
        X, y, counts = made_up(domain, n)
        assert counts.sum() == n
        assert counts.min() >= 1
        assert set(y.tolist()) == {-1, 1}
        assert (X.max(axis=0) < domain.n_bins).all()
        assert math.isclose(counts[y > 0].sum(), n / 2, abs_tol=1)


# Stopped ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "moment", "states_then"),
    [
        (releasing, "rehearse", []),
        # Between the line in the ledger and whatever comes next.
        (books, "sync", [RESERVED]),
        (releasing, "_trained", [FAILED]),
        (releasing, "_write", [FAILED]),
    ],
)
def test_who_stops_a_release_is_told_whether_it_is_spent(
    mine, monkeypatch, capsys, place, moment, states_then
):
    once = [KeyboardInterrupt]
    whole = getattr(place, moment)

    def stopped(*given):
        if once:
            raise once.pop()
        return whole(*given)

    monkeypatch.setattr(place, moment, stopped)
    assert main.main(["release", "mine", "--epsilon", "1", "--learner", QUICK]) == 130
    said = capsys.readouterr().err
    assert said.startswith("privcurve: stopped")
    spent = "The ledger, releases/mine/ledger.jsonl, counts this release as spent"
    assert (spent in said) == bool(states_then)
    assert states() == states_then
