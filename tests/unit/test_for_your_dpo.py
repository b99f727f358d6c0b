"""The page for a data protection officer: its numbers follow from the guarantee."""

import math
import re
from pathlib import Path

import pytest

from privcurve.privacy.budget import most_right_guesses, replace_one_guarantee

PAGE = Path(__file__).parents[2] / "docs/for_your_dpo.md"
EPSILONS = (0.5, 1.0, 3.0)


def rows():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| **")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {re.sub(r"[*:]", "", name): [int(cell) for cell in numbers] for name, *numbers in cells}


def times(share):
    return math.ceil(100 * share - 1e-9)


def named(epsilon, n):
    """Return the success rate of the best guess among n values: n-ary randomised response."""
    return math.exp(epsilon) / (math.exp(epsilon) + n - 1)


def test_times_in_a_hundred_are_what_the_guarantee_allows():
    twice = [replace_one_guarantee(epsilon, 0.0)[0] for epsilon in EPSILONS]
    secret = [times(most_right_guesses(epsilon, 0.0)) for epsilon in EPSILONS]
    assert rows() == {
        "inference a yes-or-no secret, replace-one": [50, *secret],
        "inference the same, add-remove": [50, *(times(most_right_guesses(e, 0.0)) for e in twice)],
        "singling out whether the person is in the table, add-remove": [50, *secret],
        "linking which of 100 people a record is about, replace-one": [
            1, *(times(named(epsilon, 100)) for epsilon in EPSILONS)
        ],
        "linking the same, add-remove": [1, *(times(named(epsilon, 100)) for epsilon in twice)],
    }  # fmt: skip


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_naming_one_of_two_is_a_yes_or_no_secret(epsilon):
    assert named(epsilon, 2) == pytest.approx(most_right_guesses(epsilon, 0.0))


def test_each_question_of_the_law_has_its_source():
    text = PAGE.read_text()
    law = text.partition("## Questions of the law")[2].partition("##")[0]
    items = [item for item in law.split("\n- ") if item.strip()]
    assert [bool(re.search(r"\]\(https://", item)) for item in items].count(False) <= 1
    assert "no legal advice" in text
    assert len(text.split()) <= 900
