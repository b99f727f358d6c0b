"""``privcurve decide``: fill in the blanks of a draft, one after another."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from privcurve.cli.check import dataset_name
from privcurve.cli.errors import CommandError
from privcurve.errors import DONE, UNDECIDED

if TYPE_CHECKING:
    from privcurve.datasets.describing import CardQuestion, Question

HELP = "ask for what a draft leaves blank, one line after another"
EXAMPLES = """\
examples:
  privcurve decide patients
  privcurve decide patients < answers.txt

Whole numbers of few values may be codes: then answer codes: 1, 2, 3 in place of bounds.
Each answer is checked and written at once; an empty one leaves the line blank. Brackets of a list
may be left out: 0, 120. Ctrl-C ends it and keeps what was answered. Where the answers come from a
file or a pipe, the first that is refused ends it.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument("name", help="name of the dataset; its file is descriptions/<name>.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Ask for each blank, write the answers, print what remains, and return the exit code."""
    from privcurve.datasets import catalogue
    from privcurve.datasets.describing import card_questions, questions
    from privcurve.files import display_path

    name = dataset_name(arguments.name)
    path = catalogue.find(name)
    remaining = questions(path)
    if remaining:
        print(
            f"{display_path(path)}: {len(remaining)} to decide, from what is public alone. Enter "
            "leaves a line blank; Ctrl-C ends, and keeps what was answered."
        )
    else:
        print(f"{display_path(path)}: nothing is left to be decided.")
    try:
        for number, question in enumerate(remaining, start=1):
            print(f"\n{number} of {len(remaining)}, line {question.line}: {question.blank.subject}")
            print(f"  {question.remark}")
            _ask(question, f"{question.blank.key} of {question.blank.subject}")
        for place, about in enumerate(card_questions(path) if sys.stdin is not None else ()):
            if place == 0:
                print("\nFor the card of each release, in your words and public; Enter skips one.")
            print(f"\n  {about.remark}")
            _ask(about, about.prompt)
    except EOFError:
        print("\nno more answers" if questions(path) else "")
    except KeyboardInterrupt:
        left = len(questions(path))
        raise KeyboardInterrupt(
            f"stopped. {len(remaining) - left} answered and written, {left} left"
        ) from None
    left = len(questions(path))
    if remaining:
        print(
            f"\n{len(remaining) - left} written to {display_path(path)}, {left} left to be decided."
        )
    print(f"Then: privcurve {'decide' if left else 'check'} {name}")
    if not left:
        _suggest_holdout(name)
    return UNDECIDED if left else DONE


def _suggest_holdout(name: str) -> None:
    """Print advice to release with a hold-out, if the dataset has enough private records."""
    from privcurve import datasets
    from privcurve.releases.request import HOLDOUT_FROM

    description = datasets.describe(name)
    if description.n_rows >= HOLDOUT_FROM and not description.public_benchmark:
        print(
            "Later, release with --holdout 0.2: a fifth of the records then says how good the "
            "model is, at no further price."
        )


def _ask(question: Question | CardQuestion, of: str) -> None:
    """Ask a question until the answer is valid or empty; an empty answer leaves the key blank.

    `of` names the key in messages. If no person answers, an invalid answer raises CommandError.
    """
    from privcurve.datasets import DatasetError

    if sys.stdin is None:
        raise CommandError("there is no standard input to read answers from")
    is_person = sys.stdin.isatty()
    while text := input(f"  {question.prompt}: ").strip():
        if not is_person:
            print(text)
        try:
            more = question.answer(text)
        except DatasetError as error:
            if not is_person:
                why = str(error).removesuffix(".")
                raise CommandError(
                    f"the answer {text!r} for {of} is refused: {why}. Earlier answers are written."
                ) from None
            print(f"  {error}")
        else:
            if more:
                print(f"  {more}: as many records are kept")
            return
