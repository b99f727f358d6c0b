"""``privcurve describe``: what it asks about numbers, and which columns it describes at once."""

from __future__ import annotations

import pytest
from drafting import column, drafted


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ([1.5, 2, 3, "-999"] * 9, "-999"),
        (["-9.0", 1, 2, 5] * 9, "-9.0"),
        ([*range(20, 60), "999", "888"], "888 or 999"),
        ([1, 2, 9] * 9, "9"),
        ([0, 3, 7.5, "-1"] * 9, "-1"),
        ([0, 3, 7.5, "-200"] * 9, "-200"),
        ([-20, 5, 38.5, 999] * 9, "999"),
        # Nothing odd: numbers go on from one to the next.
        ([*range(70, 100)] * 2, None),
        ([1, 2, 3, 4, 5, 9] * 9, None),
        ([-2, -1, 0, 1.5, 2] * 9, None),
        ([-0.5, 1, 2, 3] * 9, None),
    ],
)
def test_numbers_that_may_stand_for_nothing_are_asked_about(folder, values, markers):
    for public in (False, True):
        described, found = column(values, public=public)
        asked = f"; if {markers} stands for a missing value, add it to missing"
        assert (asked in found.columns["x"].seen) == (markers is not None)
        assert ("stands for a missing" in found.columns["x"].seen) == (markers is not None)
        # What was seen is in no draft of private records.
        noted = markers is not None and f"if {markers} is no value" in found.text
        assert noted == (public and markers is not None)
        assert described["kind"] == "numeric"


def names(content):
    return [entry["name"] for entry in content["columns"]]


def test_columns_of_numbers_of_another_magnitude_are_lines_of_their_own(folder):
    # Shares, amounts, whole numbers, larger ones, numbers below and above 0.
    rows = [
        f"{k / 97:.3f},{k / 300:.4f},{k * 700.5},{k * 640.5},{k % 9 + 3},{k % 7},{k - 9.5},{k % 2}"
        for k in range(2, 90)
    ]
    content, found = drafted(rows, "column8", header=False)
    assert names(content) == ["column{1..2}", "column{3..4}", "column{5..6}", "column7"]
    assert found.blanks == 4


def test_columns_of_other_words_are_lines_of_their_own(folder):
    towns, grades = ["Oslo", "Bergen", "Rome"], ["fair", "good", "poor"]
    rows = [
        f"{towns[k % 3]},{towns[k % 2].upper()},{grades[k % 3]},{grades[(k + 1) % 3]},{k % 2}"
        for k in range(60)
    ]
    content, _ = drafted(["x1,x2,x3,x4,sick", *rows])
    assert names(content) == ["x{1..2}", "x{3..4}"]
