"""``privcurve release``: train and save a private model with its card."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve.cli import console
from privcurve.cli.errors import CommandError, UsageError
from privcurve.numerals import amount, number

if TYPE_CHECKING:
    from privcurve.releases.released import Released
    from privcurve.releases.request import Request

HELP = "train a private model on all records, within the dataset's budget, and save it"
EXAMPLES = """examples:
  privcurve release patients --epsilon 1 --holdout 0.2
  privcurve release patients --epsilon 1 --delta 1e-6 --output for-the-clinic
  privcurve release patients --epsilon 0.5 --learner lazybb --set n_rounds=25 --set density=0.5
  privcurve release patients --epsilon 1 --learner choose
  privcurve release patients --epsilon 1 --learner tuned --set learner=lazybb \\
    --set 'settings={n_rounds: [9, 25]}'

The default learner is PrivGAM, whose settings follow from public facts. --learner choose selects a
learner privately on the records; epsilon also pays for the choice.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    option = parser.add_argument
    option("dataset", help="name of the dataset; its file is descriptions/<name>.yaml")
    add_model_arguments(parser)
    option(
        "--holdout",
        type=amount,
        default=0.0,
        metavar="SHARE",
        help="hold out this share of the records, such as 0.2, and measure the model on them",
    )
    option(
        "--seed",
        help="a file ….seed to use instead of the dataset's own; for public benchmarks a number",
    )
    option("--output", type=_read_folder, help="folder for the model and its card")
    option(
        "--allow-large-delta",
        action="store_true",
        help="allow a delta of one over the number of records or more, or deltas that add up to 1",
    )
    option(
        "--resume",
        action="store_true",
        help="finish the same release, which was begun and stopped: epsilon is not spent again",
    )
    option(
        "--engine",
        choices=("local", "dask"),
        default="",
        help="who adds up the parts of a big table: local (the default), or dask",
    )
    option("--scheduler", metavar="tcp://…", help="of dask; by default workers are started here")
    console.add_arguments(parser)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for learner, settings and privacy."""
    option = parser.add_argument
    option("--epsilon", type=amount, required=True, help="privacy budget of this model")
    option("--delta", type=amount, default=0.0, help="(default: 0, pure differential privacy)")
    option("--learner", default="auto", help="default: auto, which is privgam; choose: see below")
    option(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="parameters",
        help="a setting of the learner; can be repeated",
    )
    option(
        "--neighbours",
        default="",
        help="the neighbours that epsilon is for: replace-one (the default, where the learner has "
        "it), add-remove or private-columns",
    )


def read_request(arguments: argparse.Namespace, holdout: float = 0.0) -> Request:
    """Return the request from the arguments of :func:`add_model_arguments`."""
    from privcurve.learners.entries.by_rule import DEFAULT
    from privcurve.releases.request import Request

    learner = DEFAULT if arguments.learner == "auto" else arguments.learner
    return Request(
        arguments.dataset,
        arguments.epsilon,
        arguments.delta,
        learner,
        read_parameters(learner, arguments.parameters),
        arguments.neighbours,
        holdout,
    )


def run(arguments: argparse.Namespace) -> None:
    """Release a model, and print the written files."""
    from privcurve.releases.release import release

    request = read_request(arguments, arguments.holdout)
    for note in _notes(arguments, request):
        console.remark(arguments, note)
    with (
        console.show_reading(arguments, request.dataset) as watch,
        console.show_progress(arguments, "of the training done") as progress,
    ):
        released = release(
            request,
            seed=arguments.seed,
            output=arguments.output,
            large_delta=arguments.allow_large_delta,
            resume=arguments.resume,
            engine=arguments.engine,
            scheduler=arguments.scheduler,
            watch=watch,
            progress=progress,
            tell=console.warn,
            confirm=_confirm if _is_person(arguments) else None,
        )
    report(arguments, released)


def _notes(arguments: argparse.Namespace, request: Request) -> Iterator[str]:
    """Yield notes for the user on a request; the release goes on in spite of them."""
    from privcurve import datasets
    from privcurve.releases.budget_ledger import RELEASES, BudgetLedger
    from privcurve.releases.request import HOLDOUT_FROM

    description = datasets.describe(request.dataset)
    wants_workers = arguments.engine not in ("", "local") or arguments.scheduler
    if wants_workers and not description.part_rows:
        yield (
            f"{arguments.dataset} is one part, which trains here: workers are for tables in "
            "several (rows_per_part in the description: docs/big_tables.md)"
        )
    for last in BudgetLedger(RELEASES / description.records_name).comparisons()[-1:]:
        compared = last["models"]
        if request.delta != compared["delta"] or request.epsilon not in compared["epsilons"]:
            epsilons = ", ".join(f"{epsilon:g}" for epsilon in compared["epsilons"])
            delta = f" --delta {request.delta:g}" if request.delta else ""
            yield (
                f"the last comparison was at epsilon = {epsilons} with delta = "
                f"{compared['delta']:g}, and says nothing of this release: privcurve compare "
                f"{last['dataset']} --epsilon {request.epsilon:g}{delta}"
            )
    enough = description.n_rows >= HOLDOUT_FROM and not description.public_benchmark
    if enough and not request.holdout:
        yield (
            "without a hold-out it is unknown whether this model is better than the base rate: "
            "--holdout 0.2 measures it on a fifth of the records, at the same epsilon"
        )


def _is_person(arguments: argparse.Namespace) -> bool:
    """Return whether standard input is a terminal, on which a person can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and not arguments.json


def _confirm(warning: str) -> bool:
    """Ask whether to write a model in spite of a warning, which is already printed."""
    print("Write it all the same? (yes or no): ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _read_folder(text: str) -> Path:
    """Return a path; an empty text (perhaps of an unset variable) is an error for argparse."""
    if not text:
        raise argparse.ArgumentTypeError("its name is empty")
    return Path(text)


def read_parameters(learner: str, texts: list[str]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` texts to settings of a learner, by their types in the registry."""
    from privcurve import schema
    from privcurve.learners import registry
    from privcurve.learners.shared import tuning
    from privcurve.releases.choice import is_choice

    try:
        parameters = registry.entry(tuning.NAME if is_choice(learner) else learner).parameters
    except ValueError as error:
        raise CommandError(str(error)) from None
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise UsageError(f"--set must have the form KEY=VALUE; got {text!r}")
        if key in options:
            raise UsageError(f"--set {key} is given twice; keep one")
        # Ignore unknown keys here: the registry refuses them later, and names the nearest key.
        if key in parameters and parameters[key].structure:
            options[key] = schema.parse_yaml(value, f"--set {key}")
            if options[key] is None:
                raise CommandError(f"--set {key}: must have a value; got nothing")
        else:
            options[key] = _read_value(value, parameters[key].kind if key in parameters else str)
    return options


def _read_value(text: str, kind: type) -> Any:
    if text.lower() == "none":
        return None
    try:
        return text if kind is str else number(text, kind)
    except ValueError:
        return text


def report(arguments: argparse.Namespace, released: Released) -> None:
    """Print the learner, the written files, the seed, and the total price of all releases."""
    from privcurve.releases.released import CARD, MODEL, PAGE

    left = released.budget.subtract(released.prices)
    content = {
        "dataset": released.description.records_name,
        "release": released.release.number,
        "model": str(released.path(MODEL)),
        "cards": [str(released.path(CARD)), str(released.path(PAGE))],
        "learner": released.learner_name,
        **released.price.content,
        "spent": [price.content for price in released.totals],
        "left": left and left.content,
        "ledger": str(released.ledger),
        "better": released.judgement and released.judgement.better,
    }
    for sentence, large in released.delta_remarks():
        if large:
            console.warn(sentence)
    console.print_result(arguments, _write_lines(released), content)


def _write_lines(released: Released) -> Iterator[str]:
    from privcurve.learners.entries import by_rule
    from privcurve.privacy.seeds import SecretSeed
    from privcurve.releases.choice import closing_sentence, is_choice
    from privcurve.releases.released import CARD, MODEL, PAGE

    if is_choice(released.request.learner):
        yield closing_sentence(released)
    else:
        yield f"learner: {by_rule.name_of(released.learner_name, released.setting)}"
    price = released.price
    stated = f"epsilon = {price.epsilon:.6g}, delta = {price.delta:.6g}; {price.neighbours_text}"
    yield f"{released.path(MODEL)}: the model ({stated})"
    if released.judgement is not None:
        judged = released.judgement
        area = "" if judged.auc is None else f"AUC {judged.auc}; "
        yield f"hold-out: {area}better than the base rate: {judged.better}"
    yield f"{released.path(CARD)}, {released.path(PAGE)}: its card"
    if released.price.delta < released.request.delta:
        yield (
            f"delta: {released.request.delta:g} was allowed, and this model uses "
            f"{released.price.delta or 'none of it'}: that is what is charged"
        )
    if isinstance(released.seed, SecretSeed):
        yield f"seed: {released.seed}"
    else:
        yield f"seed: {released.seed}, a public number: epsilon is infinite for whoever knows it"
    together = "; ".join(f"{price.claim} ({price.neighbours_text})" for price in released.totals)
    budget = released.budget
    limit = (
        f"of a budget of {budget}"
        if budget.is_limited
        else "no budget is set (budget: {epsilon: …} in the description)"
    )
    number = released.release.number
    yield f"budget ledger: {released.ledger}: release {number}, together {together}; {limit}"
