"""Test that no learner is worse than the class frequencies, unless a page of the docs lists it."""

import functools
import itertools
import re
from pathlib import Path

import pytest
from made_learners import INSTALLED
from nothing_known import FACTORS, LEAST_BUDGET, MOST_LOST, first_places, levels_of, losses

from privcurve.learners.registry import LEARNERS

PAGE = Path(__file__).parents[2] / "docs/worse_than_majority.md"
N_PLACES, N_SLOW_PLACES, N_BLOCKS = 150, 3_000, 60
N_OTHER_PLACES = 60
# Numbers of the places of the quick test at which PrivGAM is worse; the page says how many they
# are.
PRIVGAM_WORSE = {49, 115, 122, 124}
MOST_WORSE_OF_50 = 10
# Number of places of the quick test, for learners with a slow fit.
FEW_PLACES = {
    **{"gradient_boosting": 0, "aim": 1, "dp_ebm": 1, "mst": 2, "logistic_regression": 3},
    **{"dpl_random_forest": 6, "dpl_decision_tree": 12, "pate": 12},
}

OTHERS = [name for name in INSTALLED if name != "privgam"]


@functools.cache
def listed():
    """Return, for each learner on the page, the measures that the page lists."""
    rows = re.findall(r"^\| `(\w+)` \| ([a-z, -]+) \| \S.* \|$", PAGE.read_text(), re.MULTILINE)
    return {name: set(measures.split(", ")) for name, measures in rows}


def failures(name, place):
    """Return a learner's loss in each measure in which it is worse than the class shares."""
    lost = losses(name, place)
    return {measure: by for measure, by in lost.items() if by > MOST_LOST[measure]}


def failed_measures(name, places):
    """Return the measures in which a learner is worse at some place.

    The page must list these measures. The search ends when the learner is worse in all measures.
    """
    allowed, failed = listed().get(name, set()), set()
    for place in places:
        worse = failures(name, place)
        unlisted = {measure: by for measure, by in worse.items() if measure not in allowed}
        assert not unlisted, (unlisted, place)
        failed |= worse.keys()
        if failed == MOST_LOST.keys():
            break
    return failed


def ids_of(numbered):
    """Return the id of a test: the levels of its place."""
    return str([*numbered[1]])


@pytest.mark.parametrize("numbered", [*enumerate(first_places(FACTORS, N_PLACES))], ids=ids_of)
def test_privgam(numbered):
    number, place = numbered
    worse = failures("privgam", place)
    assert bool(worse) == (number in PRIVGAM_WORSE), worse


def test_the_page_counts_where_privgam_is_worse():
    assert f"at {len(PRIVGAM_WORSE)} of its {N_PLACES} places" in PAGE.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_privgam_at_many_places(block):
    places = first_places(FACTORS, N_SLOW_PLACES)[block::N_BLOCKS]
    worse = {place: failures("privgam", place) for place in places}
    assert sum(map(bool, worse.values())) <= MOST_WORSE_OF_50, worse


@pytest.mark.parametrize("name", [name for name in OTHERS if FEW_PLACES.get(name) != 0])
def test_others(name):
    n_places = FEW_PLACES.get(name, N_OTHER_PLACES)
    failed = failed_measures(name, first_places(levels_of(name), n_places))
    assert n_places < N_OTHER_PLACES or failed == listed().get(name, set())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in OTHERS if name in FEW_PLACES])
def test_slow_others(name):
    places = first_places(levels_of(name), N_OTHER_PLACES)
    assert failed_measures(name, places) == listed().get(name, set())


def test_the_page_lists_learners_once():
    rows = re.findall(r"^\| `(\w+)` ", PAGE.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(listed())
    assert set(rows) <= LEARNERS.keys() - {"privgam"}
    assert all(measures <= MOST_LOST.keys() for measures in listed().values())


@pytest.mark.parametrize("name", LEARNERS)
def test_each_two_levels_meet(name):
    levels = levels_of(name)
    places = first_places(levels, N_PLACES if name == "privgam" else N_OTHER_PLACES)
    for one, other in itertools.combinations(levels, 2):
        met = {(getattr(place, one), getattr(place, other)) for place in places}
        pairs = set(itertools.product(levels[one], levels[other]))
        if (one, other) == ("n", "epsilon"):
            pairs = {(n, epsilon) for n, epsilon in pairs if n * epsilon >= LEAST_BUDGET}
        assert met == pairs, (one, other)
