"""Numbers on command lines have one parser."""

import argparse
import ast
import math
from pathlib import Path

import pytest

from privcurve.numerals import amount, count

SOURCE = Path(__file__).parents[2] / "src/privcurve"


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        *[(amount, text, "must be a number; got") for text in ("1_0", "ten", "", "0x10", "1,5")],
        *[(amount, text, "must be a number; got") for text in ("nan", "-NaN")],
        *[(amount, text, "must be at most 1.8e308; got") for text in ("1e400", "9" * 400)],
        *[
            (count, text, "must be a whole number; got")
            for text in ("1_0", "1.0", "1e3", "", "0x10")
        ],
        (count, "9" * 5000, "must be a whole number; got"),
    ],
)
def test_other_texts_are_refused(parse, text, message):
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "number"),
    [
        (amount, "1", 1),
        (amount, " 0.5", 0.5),
        (amount, "1e-6", 1e-6),
        (amount, "-inf", -math.inf),
        (amount, "Infinity", math.inf),
        (count, "0", 0),
        (count, "-7", -7),
        (count, " 12 ", 12),
    ],
)
def test_numbers_are_read(parse, text, number):
    assert parse(text) == number


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
