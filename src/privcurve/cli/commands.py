"""Which sub-commands there are, and where."""

from __future__ import annotations

import argparse
import importlib
from typing import Protocol, cast

# In the order of use.
COMMANDS: tuple[str, ...] = ("describe", "check", "compare", "release", "predict")


class Command(Protocol):
    """What a sub-command's module holds."""

    HELP: str
    EXAMPLES: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the sub-command's arguments."""

    def run(self, arguments: argparse.Namespace) -> int | None:
        """Do it; give the exit code, None for 0."""


def load(name: str) -> Command:
    """Import a sub-command's module."""
    return cast("Command", importlib.import_module(f"privcurve.cli.{name}"))
