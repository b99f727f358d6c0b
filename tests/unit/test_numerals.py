"""Numbers on command lines have one parser."""

import argparse
import ast
import math
from pathlib import Path

import pytest

from privcurve.numerals import amount, count

SOURCE = Path(__file__).parents[2] / "src/privcurve"


@pytest.mark.parametrize(
    "text", ["1_0", "ten", "", "0x10", "1,5", "nan", "-NaN", "1e400", "9" * 400]
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not a number|is too large for"):
        amount(text)


@pytest.mark.parametrize("text", ["1_0", "1.0", "1e3", "", "0x10", "9" * 5000])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        count(text)


def test_numbers_are_read():
    assert [amount(text) for text in ("1", " 0.5", "1e-6", "-inf", "Infinity")] == [
        *(1, 0.5, 1e-6, -math.inf, math.inf)
    ]
    assert [count(text) for text in ("0", "-7", " 12 ")] == [0, -7, 12]


def test_every_option_that_is_a_number_is_read_by_it():
    options = {
        f"{path.name}:{node.value.lineno}": ast.unparse(node.value)
        for path in SOURCE.rglob("*.py")
        if "type=" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.keyword) and node.arg == "type"
    }
    assert {"amount", "count"} <= set(options.values())
    assert not [place for place, kind in options.items() if kind in ("int", "float")]
