"""Print the noise rate that a budget allows, under every accountant; or what a selection costs.

Run ``python -m privcurve.privacy --help``, or ``python -m privcurve.privacy tune --help``.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from privcurve.numerals import amount, count
from privcurve.privacy import selection_table
from privcurve.privacy.calibration.one_rules import lazybb_table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # The table of what private selection costs.
    if words[:1] == ["tune"]:
        return selection_table.main(words[1:])
    parser = _parser()
    given = parser.parse_args(words)
    if given.learner == "one_rule":
        given.rounds, given.density = 1, 1.0
    if given.rounds is None or given.density is None:
        parser.error("--learner lazybb needs --rounds and --density")
    if math.isinf(given.epsilon):
        parser.error("--epsilon inf needs no noise: give a finite budget")
    try:
        print(_report(given))
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
    parser.add_argument("--learner", choices=("lazybb", "one_rule"), default="lazybb")
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


def _report(given: argparse.Namespace) -> str:
    rows = lazybb_table(
        n=given.rows,
        n_rounds=given.rounds,
        density=given.density,
        epsilon=given.epsilon,
        delta=given.delta,
    )
    cells = [("calibration", "accountant", "each round", "noise rate", "gain")]
    cells += [
        (
            row.calibration,
            row.accountant,
            f"{row.epsilon_each:.5g}",
            f"{row.noise_rate:.4g}" if row.noise_rate < 1e4 else f"{row.noise_rate:.0f}",
            f"{row.noise_rate / rows[0].noise_rate:.2f}",
        )
        for row in rows
    ]
    return "\n".join([*selection_table.aligned(cells, 2), "", *_footer(given)])


def _footer(given: argparse.Namespace) -> list[str]:
    if given.learner == "lazybb" and given.learning_rate is None:
        return ["The first rounds may use larger rates: give --learning-rate to see them."]
    noise = selection_table.certified(given, given.epsilon)
    shown = ", ".join(f"{rate:.4g}" for rate in noise.rates[:4])
    more = ", …" if noise.rates.size > 4 else ""
    return [
        f"Certified rates used, round by round ({noise.mechanism}): {shown}{more}",
        str(noise.statement),
    ]


if __name__ == "__main__":
    sys.exit(main())
