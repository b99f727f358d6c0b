"""Print the output of commands: lines for people, one JSON object for machines, or nothing."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from privcurve.progress import SHORT, Progress

if TYPE_CHECKING:
    from privcurve.datasets.reading import RawTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the format of the output."""
    option = parser.add_mutually_exclusive_group().add_argument
    option("-q", "--quiet", action="store_true", help="say nothing but what is wrong")
    option("--json", action="store_true", help="write one JSON object to standard output")


def print_result(
    arguments: argparse.Namespace, lines: Iterable[str], content: Mapping[str, Any]
) -> None:
    """Write lines to standard output; with ``--json``, write `content` instead."""
    if arguments.json:
        print(json.dumps(_plain(content), ensure_ascii=False, allow_nan=False))
    elif not arguments.quiet:
        for line in lines:
            print(line)


def remark(arguments: argparse.Namespace, text: str) -> None:
    """Write a remark to standard error, unless the command is quiet."""
    if not arguments.quiet:
        print(text, file=sys.stderr)


def warn(text: str) -> None:
    """Write a warning to standard error, even if the command is quiet."""
    print(f"warning: {text}", file=sys.stderr)


@contextmanager
def show_progress(arguments: argparse.Namespace, what: str) -> Iterator[Callable[[float], None]]:
    """Show progress if work takes long; yield a function to call with the finished share.

    With ``--quiet`` or ``--json`` nothing is shown.
    """
    started: list[Progress] = []  # empty until the first call of `show`, then one item

    def show(share: float) -> None:
        if not started:
            started.append(Progress(what, after=SHORT))
        if not (arguments.quiet or arguments.json):
            started[0].tell(share)
            if share >= 1:
                started[0].end()

    try:
        yield show
    finally:
        for progress in started:
            progress.end()


@contextmanager
def show_reading(arguments: argparse.Namespace, what: str) -> Iterator[Callable[[RawTable], None]]:
    """Show the progress of reading a file; yield a function to call with each table read."""
    with show_progress(arguments, f"of {what} read") as show:
        yield lambda table: None if table.share is None else show(table.share)


def _plain(value: Any) -> Any:
    """Convert a value for JSON: infinite numbers become texts, as in model files, and NaN null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
