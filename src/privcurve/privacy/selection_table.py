"""What private selection costs, as a table: before anything is trained."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from privcurve.numerals import amount, count
from privcurve.privacy.budget import CERTIFIED
from privcurve.privacy.calibration.one_rules import OneRuleNoise, lazybb_one_rule, one_rule
from privcurve.privacy.calibration.selection import UNITS, epsilon_that_spends, selection_budget
from privcurve.privacy.ledger import LedgerEntry

SHAPES = ((1.0, "geometric"), (0.0, "logarithmic"), (-0.5, "eta = -1/2"))
EXPECTED = (1.0, 3.0, 5.0, 10.0, 15.0, 30.0)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``python -m privcurve.privacy tune``."""
    made = argparse.ArgumentParser(
        prog="python -m privcurve.privacy tune",
        description="What private selection leaves for each training, of epsilon and delta of all "
        "of it. Any certified learner can be tuned; of boosted 1-rules their own epsilon is shown "
        "too, for which --rows (and --rounds, --density) are needed. docs/tuning.md explains it.",
    )
    made.add_argument("--epsilon", type=amount, required=True, help="of choice and training")
    made.add_argument("--delta", type=amount, default=0.0, help="default 0: pure privacy")
    made.add_argument("--expected-runs", type=amount, help="default: several numbers")
    made.add_argument("--score-share", type=amount, default=0.05, help="default 0.05")
    made.add_argument("--learner", choices=("lazybb", "one_rule"))
    made.add_argument("--rows", type=count, help="number of training records")
    made.add_argument("--rounds", type=count, help="number of rounds (lazybb)")
    made.add_argument("--density", type=amount, help="density, in (0, 1] (lazybb)")
    made.add_argument("--learning-rate", type=amount, default=0.45, help="(lazybb), default 0.45")
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the table; return the exit code."""
    known = parser()
    given = known.parse_args(arguments)
    needed = {"lazybb": ("rows", "rounds", "density"), "one_rule": ("rows",)}
    missing = [word for word in needed.get(given.learner, ()) if getattr(given, word) is None]
    if missing:
        known.error(f"--learner {given.learner} needs --{missing[0]}")
    try:
        print("\n".join(_lines(given)))
    except ValueError as error:
        known.error(str(error))
    return 0


def _lines(given: argparse.Namespace) -> Iterator[str]:
    head = ["runs", "expected", "one run", "epsilon", "share", "score, sd"]
    of_rho = given.delta > 0
    cells = [[*head, *([given.learner] if given.learner else [])]]
    expected = EXPECTED if given.expected_runs is None else (given.expected_runs,)
    for eta, name in SHAPES:
        for number in expected:
            budget = selection_budget(given.epsilon, given.delta, eta, number, given.score_share)
            each = budget.training_epsilon
            spread = budget.score_scale / UNITS * (1 if of_rho else 2**0.5)
            chance = budget.runs.chances(1)[0]
            row = [name, f"{number:g}", f"{chance:.0%}", f"{each:.3g}"]
            row += [f"{each / given.epsilon:.0%}", f"{spread:.3g}"]
            if given.learner:
                row.append(f"{_own(given, budget.training):.3g}")
            cells.append(row)
    yield from aligned(cells, 1)
    yield ""
    yield f"Of epsilon = {given.epsilon:g}, delta = {given.delta:g}. one run: the chance that there"
    yield "is only one. epsilon: of a training" + (
        ", what its rho is worth by zCDP." * of_rho or "."
    )
    yield "share: of the whole. score, sd: standard deviation of its noise, in records."
    if given.learner:
        yield f"{given.learner}: the epsilon of its own calibration that spends as much."


def _own(given: argparse.Namespace, amount: float) -> float:
    if given.delta == 0:
        return amount

    def ledger(epsilon: float) -> Sequence[LedgerEntry]:
        return certified(given, epsilon).statement.ledger

    return epsilon_that_spends(amount, ledger, given.epsilon / 2)


def certified(given: argparse.Namespace, epsilon: float) -> OneRuleNoise:
    """Return the certified noise of the learner that a command line describes."""
    budget = {"n": given.rows, "epsilon": epsilon, "delta": given.delta, "calibration": CERTIFIED}
    if given.learner == "one_rule":
        return one_rule(**budget)
    return lazybb_one_rule(
        n_rounds=given.rounds, density=given.density, learning_rate=given.learning_rate, **budget
    )


def aligned(cells: Sequence[Sequence[str]], n_left: int) -> list[str]:
    """Return the lines of a table: its first columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if column < n_left else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
