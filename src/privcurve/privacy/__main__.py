"""Print the noise rate that a budget allows, under every accountant; or what a selection costs.

Run ``python -m privcurve.privacy --help``, or ``python -m privcurve.privacy tune --help``.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence

from privcurve.numerals import amount, count
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.calibration.one_rules import (
    OneRuleNoise,
    lazybb_one_rule,
    lazybb_table,
    one_rule,
)
from privcurve.privacy.ledger import rho_of_ledger
from privcurve.privacy.selection import UNITS, epsilon_that_spends, selection_budget

LEARNERS = ("lazybb", "one_rule")
SHAPES = ((1.0, "geometric"), (0.0, "logarithmic"), (-0.5, "eta = -1/2"))
EXPECTED = (1.0, 3.0, 5.0, 10.0, 15.0, 30.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["tune"]:
        return _print(_tune_parser(), words[1:], _selections)
    return _print(_parser(), words, _accountants)


def _print(
    parser: argparse.ArgumentParser,
    words: Sequence[str],
    lines: Callable[[argparse.Namespace, argparse.ArgumentParser], Iterator[str]],
) -> int:
    try:
        print("\n".join(lines(parser.parse_args(words), parser)))
    except ValueError as error:
        parser.error(str(error))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.privacy",
        description="Noise rate of boosted 1-rules under every accountant. A larger rate is less "
        "noise. docs/privacy.md explains the lines. With tune as the first word: what it costs to "
        "choose settings privately.",
    )
    parser.add_argument("--learner", choices=LEARNERS, default="lazybb")
    parser.add_argument("--rounds", type=count, help="number of rounds (lazybb)")
    parser.add_argument("--density", type=amount, help="density, in (0, 1] (lazybb)")
    parser.add_argument(
        "--learning-rate",
        type=amount,
        help="learning rate (lazybb): adds the rates of the first rounds, which may be larger",
    )
    parser.add_argument("--rows", type=count, required=True, help="number of training records")
    parser.add_argument("--epsilon", type=amount, required=True)
    parser.add_argument("--delta", type=amount, default=0.0, help="default 0: pure privacy")
    return parser


def _accountants(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[str]:
    if given.learner == "one_rule":
        given.rounds, given.density = 1, 1.0
    if given.rounds is None or given.density is None:
        parser.error("--learner lazybb needs --rounds and --density")
    if math.isinf(given.epsilon):
        parser.error("--epsilon inf needs no noise: give a finite budget")
    rows = lazybb_table(
        n=given.rows,
        n_rounds=given.rounds,
        density=given.density,
        epsilon=given.epsilon,
        delta=given.delta,
    )
    cells = [["calibration", "accountant", "each round", "noise rate", "gain"]]
    cells += [
        [
            row.calibration,
            row.accountant,
            f"{row.epsilon_each:.5g}",
            f"{row.noise_rate:.4g}" if row.noise_rate < 1e4 else f"{row.noise_rate:.0f}",
            f"{row.noise_rate / rows[0].noise_rate:.2f}",
        ]
        for row in rows
    ]
    yield from _aligned(cells, 2)
    yield ""
    if given.learner == "lazybb" and given.learning_rate is None:
        yield "The first rounds may use larger rates: give --learning-rate to see them."
        return
    noise = _certified(given, given.epsilon)
    shown = ", ".join(f"{rate:.4g}" for rate in noise.rates[:4])
    more = ", …" if noise.rates.size > 4 else ""
    yield f"Certified rates used, round by round ({noise.mechanism}): {shown}{more}"
    yield str(noise.statement)


def _tune_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.privacy tune",
        description="What private selection leaves for each training, of epsilon and delta of all "
        "of it. Any certified learner can be tuned; of boosted 1-rules their own epsilon is shown "
        "too, for which --rows (and --rounds, --density) are needed. docs/tuning.md explains it.",
    )
    parser.add_argument("--epsilon", type=amount, required=True, help="of choice and training")
    parser.add_argument("--delta", type=amount, default=0.0, help="default 0: pure privacy")
    parser.add_argument("--expected-runs", type=amount, help="default: several numbers")
    parser.add_argument("--score-share", type=amount, default=0.05, help="default 0.05")
    parser.add_argument("--learner", choices=LEARNERS)
    parser.add_argument("--rows", type=count, help="number of training records")
    parser.add_argument("--rounds", type=count, help="number of rounds (lazybb)")
    parser.add_argument("--density", type=amount, help="density, in (0, 1] (lazybb)")
    parser.add_argument("--learning-rate", type=amount, default=0.45, help="(lazybb), default 0.45")
    return parser


def _selections(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Iterator[str]:
    needed = {"lazybb": ("rows", "rounds", "density"), "one_rule": ("rows",)}
    missing = [word for word in needed.get(given.learner, ()) if getattr(given, word) is None]
    if missing:
        parser.error(f"--learner {given.learner} needs --{missing[0]}")
    head = ["runs", "expected", "one run", "epsilon", "share", "score, sd"]
    cells = [[*head, *([given.learner] if given.learner else [])]]
    expected = EXPECTED if given.expected_runs is None else (given.expected_runs,)
    for eta, name in SHAPES:
        for number in expected:
            budget = selection_budget(given.epsilon, given.delta, eta, number, given.score_share)
            each = budget.training_epsilon
            spread = budget.score_scale / UNITS * (1 if given.delta > 0 else 2**0.5)
            row = [name, f"{number:g}", f"{budget.runs.chances(1)[0]:.0%}", f"{each:.3g}"]
            row += [f"{each / given.epsilon:.0%}", f"{spread:.3g}"]
            if given.learner:
                row.append(f"{_own_epsilon(given, budget.training):.3g}")
            cells.append(row)
    yield from _aligned(cells, 1)
    yield ""
    yield f"Of epsilon = {given.epsilon:g}, delta = {given.delta:g}. one run: the probability that"
    worth = ", what its rho is worth by zCDP." if given.delta > 0 else "."
    yield f"there is only one. epsilon: of a training{worth}"
    yield "share: of the whole. score, sd: standard deviation of its noise, in records."
    if given.learner:
        yield f"{given.learner}: the epsilon of its own calibration that spends as much."


def _own_epsilon(given: argparse.Namespace, spent: float) -> float:
    """Return the ε of a learner's own calibration that spends an ε, or a ρ where δ > 0."""
    if given.delta == 0:
        return spent

    def rho_at(epsilon: float) -> float:
        return rho_of_ledger(_certified(given, epsilon).statement.ledger)

    return epsilon_that_spends(spent, rho_at, given.epsilon / 2)


def _certified(given: argparse.Namespace, epsilon: float) -> OneRuleNoise:
    """Return the certified noise of the learner that a command line describes."""
    budget = {"n": given.rows, "epsilon": epsilon, "delta": given.delta, "calibration": CERTIFIED}
    if given.learner == "one_rule":
        return one_rule(**budget)
    return lazybb_one_rule(
        n_rounds=given.rounds, density=given.density, learning_rate=given.learning_rate, **budget
    )


def _aligned(cells: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return the lines of a table: its first columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < n_left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


if __name__ == "__main__":
    sys.exit(main())
