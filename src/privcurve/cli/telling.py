"""What a command tells: lines for people, one JSON object for machines, or nothing."""

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
    """Add the options that say how a command tells."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument("-q", "--quiet", action="store_true", help="say nothing but what is wrong")
    how.add_argument("--json", action="store_true", help="write one JSON object to standard output")


def tell(arguments: argparse.Namespace, lines: Iterable[str], content: Mapping[str, Any]) -> None:
    """Write lines to standard output; with ``--json`` the content in their place."""
    if arguments.json:
        print(json.dumps(_plain(content), ensure_ascii=False, allow_nan=False))
    elif not arguments.quiet:
        for line in lines:
            print(line)


def remark(arguments: argparse.Namespace, text: str) -> None:
    """Write a remark to standard error, unless nothing but what is wrong is to be said."""
    if not arguments.quiet:
        print(text, file=sys.stderr)


@contextmanager
def reading(arguments: argparse.Namespace, what: str) -> Iterator[Callable[[RawTable], None]]:
    """Show how much of a file is read, if that takes long; what is read is given to the result."""
    progress = Progress(f"of {what} read", after=SHORT)

    def watch(table: RawTable) -> None:
        if table.share is not None and not (arguments.quiet or arguments.json):
            progress.tell(table.share)
            if table.share >= 1:
                progress.end()

    try:
        yield watch
    finally:
        progress.end()


@contextmanager
def training(arguments: argparse.Namespace) -> Iterator[Callable[[float], None]]:
    """Show how much of a training is done, if that takes long; it begins when it is told first."""
    begun: list[Progress] = []

    def tell(share: float) -> None:
        if not begun:
            begun.append(Progress("of the training done", after=SHORT))
        if not (arguments.quiet or arguments.json):
            begun[0].tell(share)

    try:
        yield tell
    finally:
        for progress in begun:
            progress.end()


def _plain(value: Any) -> Any:
    """Return what JSON can write: infinite numbers as texts, as in models and ledgers."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
