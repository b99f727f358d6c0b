"""``privcurve compare``: rank proved learners, and show the cost of privacy."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from privcurve import extras
from privcurve.analysis.measures import MEASURES
from privcurve.cli import console
from privcurve.cli.errors import UsageError
from privcurve.numerals import amount, count
from privcurve.privacy.budget import LOOKED

if TYPE_CHECKING:
    from privcurve.outputs.answers import Ranking
    from privcurve.outputs.wishes import Needed, Wish
    from privcurve.workflow.comparison import Comparison

HELP = "find the private classifier to use at an ε, and what the privacy costs"
EXAMPLES = """\
examples:
  privcurve compare patients
  privcurve compare patients --epsilon 1 --delta 1e-6    # as a release with this delta
  privcurve compare patients --metric log_loss           # how good are probabilities?
  privcurve compare patients --want 'auc>=0.9'           # which epsilon is needed?
  privcurve compare patients --within 0.02               # of the accuracy without privacy
  privcurve compare patients --epsilon 1 --private-choice

Each proved learner is trained with one public setting, on ten random parts of the records, and
scored on the others. The result is a sentence, a table and a page.

With --private-choice no comparison is shown: one of these learners is chosen on all records and
released, and epsilon pays for the choice and the training together.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    option = parser.add_argument
    option("dataset", help="name of the dataset; its file is descriptions/<name>.yaml")
    option(
        "--epsilon",
        type=amount,
        nargs="+",
        metavar="ε",
        help="privacy levels to compare at (default: 0.3, 1 and 3; with --want or --within also "
        "0.1 and 10; with --private-choice 1)",
    )
    option(
        "--delta",
        type=amount,
        default=0.0,
        help="that of the release to come (default: 0, pure differential privacy)",
    )
    option("--want", metavar="SCORE", help="say which ε is needed for it, such as 'auc>=0.9'")
    option(
        "--within",
        type=amount,
        help="say which ε is needed for a score that is less than this below that without privacy",
    )
    option(
        "--tune",
        action="store_true",
        help="also compare settings that are chosen on the records and paid for out of ε",
    )
    option(
        "--private-choice",
        action="store_true",
        help="choose a learner privately and release it, paid for out of ε; show no comparison",
    )
    option(
        "--metric",
        choices=list(MEASURES),
        help="rank by this (default: accuracy; auc where less than 20 %% of the records have "
        "another label than the most frequent one). Of more than two classes auc and "
        "average_precision are the mean of each against the rest",
    )
    option(
        "--fresh",
        action="store_true",
        help="train stored runs again if the code of their learner has changed since",
    )
    option("--repeats", type=count, help="number of hold-outs (default: 10)")
    option("--cores", default="all", help="number of cores, with Snakemake (default: all)")
    option("-v", "--verbose", action="store_true", help="show all that the run says")
    console.add_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare learners; print the result and the path of its page."""
    if arguments.private_choice:
        private_choice(arguments)
        return
    from privcurve import datasets
    from privcurve.experiments.curves import CODED
    from privcurve.learners.entries import by_rule
    from privcurve.releases.budget_ledger import note_comparison
    from privcurve.workflow import running
    from privcurve.workflow.comparison import EPSILONS, WIDE, prepare

    if arguments.cores != "all" and not re.fullmatch(r"[1-9][0-9]*", arguments.cores):
        raise UsageError(f"--cores must be a number above 0, or all; got {arguments.cores}")
    if arguments.verbose and (arguments.json or arguments.quiet):
        raise UsageError("--verbose prints everything: leave it out, or --json and --quiet")
    wish = _read_wish(arguments)
    epsilons = arguments.epsilon or (WIDE if wish else EPSILONS)
    comparison = prepare(
        arguments.dataset,
        epsilons,
        arguments.delta,
        tune=arguments.tune,
        repeats=10 if arguments.repeats is None else arguments.repeats,
        metric=wish.metric if wish and arguments.want else arguments.metric,
        wish=wish,
        fresh=arguments.fresh,
    )
    name = comparison.study.name
    left_out = [f"left out: {why}" for why in comparison.left_out]
    notes = comparison.plan.notes([name])
    for note in (*notes, *left_out):
        console.remark(arguments, note)
    log = running.LOGS / f"{name}.log"
    note_comparison(arguments.dataset, epsilons, arguments.delta)
    output = {"verbose": arguments.verbose, "quiet": arguments.quiet or arguments.json}
    if extras.explain_missing("snakemake", "a comparison"):
        running.run_here(comparison.plan, name, log, **output)
    else:
        running.run(comparison.arguments(arguments.cores), log, **output, printed=notes)
    for note in datasets.data_notes(datasets.facts(CODED / arguments.dataset)):
        console.warn(note)
    if arguments.json:
        console.print_result(arguments, (), {**_content(comparison), "log": str(log)})
    else:
        default = by_rule.name_of(by_rule.DEFAULT, {})
        first = f"Without --learner, privcurve release takes {default} (docs/compare.md)."
        console.print_result(arguments, (first, report(comparison), f"log:   {log}"), {})


def _read_wish(arguments: argparse.Namespace) -> Wish | None:
    """Return the wanted score, from ``--want`` or ``--within``; None without these options."""
    from privcurve.outputs.wishes import METRICS, Wish

    if arguments.want is None and arguments.within is None:
        return None
    if arguments.want is not None and arguments.within is not None:
        raise UsageError("--want and --within exclude each other: keep one")
    word = "--within" if arguments.want is None else "--want"
    text = arguments.want
    if text is None:
        text = f"{arguments.metric or METRICS[0]} within {arguments.within}"
    try:
        wish = Wish.parse(text)
    except ValueError as error:
        raise UsageError(f"{word}: {error}") from None
    if arguments.metric not in (None, wish.metric):
        raise UsageError(f"--metric {arguments.metric} and {word} {wish}: leave --metric out")
    return wish


def _content(comparison: Comparison) -> dict[str, Any]:
    """Return the result for JSON: sentences, and paths of files (the table has the numbers)."""
    ranked, needed = _rank(comparison)
    return {
        "dataset": comparison.study.datasets[0],
        "answers": [ranking.sentence() for ranking in ranked],
        **({"needed": needed.sentence} if needed else {}),
        "page": str(comparison.page),
        "table": f"{comparison.outputs['accuracy'].files.tables[0]}.csv",
        "study": str(comparison.file),
        "left_out": list(comparison.left_out),
    }


def _rank(comparison: Comparison) -> tuple[list[Ranking], Needed | None]:
    """Return the ranking at each ε, and the ε that a wanted score needs (else None)."""
    from privcurve.outputs.answers import rankings
    from privcurve.outputs.wishes import needed_epsilon

    private = [method for method in comparison.study.methods.values() if method.relation]
    epsilons = sorted({epsilon for method in private for epsilon in method.epsilons})
    ranked = rankings(comparison.outputs, comparison.study.datasets[0], epsilons)
    return ranked, needed_epsilon(ranked, comparison.wish) if comparison.wish else None


def private_choice(arguments: argparse.Namespace) -> None:
    """Print the candidates and the price; choose a learner privately, and release its model."""
    from privcurve import datasets
    from privcurve.cli import release as releasing
    from privcurve.releases.choice import CHOOSE, check_budget, choice
    from privcurve.releases.release import release
    from privcurve.releases.request import Request

    epsilons = arguments.epsilon or [1.0]
    if len(epsilons) > 1:
        raise UsageError(
            f"--private-choice with {len(epsilons)} epsilons: each choice is a release, and "
            f"together they would spend {sum(epsilons):g}. Give one --epsilon"
        )
    for word in ("tune", "repeats", "metric", "want", "within", "fresh"):
        if getattr(arguments, word) not in (None, False):
            raise UsageError(
                f"--{word} belongs to a comparison, and --private-choice makes no comparison: "
                "leave out one of the two options"
            )
    (epsilon,) = epsilons
    request = Request(arguments.dataset, epsilon, arguments.delta, CHOOSE)
    description = datasets.describe(request.dataset)
    # Check the budget first: `choice` computes prices, which can take half a minute.
    check_budget(request, description)
    for line in choice(request, description).lines():
        console.remark(arguments, line)
    delta = f", delta = {arguments.delta:g}" if arguments.delta else ""
    console.remark(
        arguments,
        f"this is a release of {request.dataset}: it spends epsilon = {epsilon:g}{delta}, for the "
        "choice and the model together",
    )
    releasing.report(arguments, release(request, tell=console.warn))


def report(comparison: Comparison) -> str:
    """Return the text of a comparison: ranking and cost of privacy at each ε, and the files."""
    from privcurve.analysis.keys import short_text
    from privcurve.outputs import price
    from privcurve.outputs.answers import errors_key, full_sentence

    (dataset,), metric = comparison.study.datasets, comparison.study.metric
    ranked, needed = _rank(comparison)
    prices = price.sentences(comparison.outputs["price"], dataset, metric)
    parts = ["", full_sentence(needed.sentence)] if needed else []
    for ranking in ranked:
        more = [prices[at]] if (at := short_text(ranking.epsilon)) in prices else []
        parts += ["", *ranking.lines(free=ranking is ranked[-1]), ""]
        parts += [full_sentence(sentence) for sentence in (ranking.sentence(), *more)]
    if ranked and (remark := ranked[0].remark()):
        parts += ["", remark]
    table = comparison.outputs["accuracy"].files.tables[0]
    files = [
        f"page:  {comparison.page}",
        f"table: {table}.md (.csv, .tex)",
        f"study: {comparison.file}",
    ]
    key = [errors_key(metric, ["folds"]), *([price.KEY] if prices else [])]
    return "\n".join([*parts, "", *key, "", LOOKED, "", *files])
