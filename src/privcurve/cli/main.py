"""Read the command line, run the sub-command, and print an expected error as one message."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from privcurve import __version__
from privcurve.cli.errors import EXIT_CODES
from privcurve.errors import DONE, FAILED, STOPPED, ExpectedError, end_with_reader

# Sub-commands, in the order in which a user needs them.
COMMANDS = (
    "describe", "decide", "check", "compare", "arena", "attack", "release", "budget",
    "predict", "explain", "evaluate", "export",
)  # fmt: skip


@end_with_reader
def main(argv: Sequence[str] | None = None) -> int:
    """Run ``privcurve``, and return its exit code (``EXIT_CODES`` in :mod:`privcurve.cli.errors`).

    If the command line is invalid, argparse ends the process.
    """
    # Write an escape for a character that the encoding of a stream lacks, instead of an error.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return DONE
    try:
        return int(_import_command(arguments.command).run(arguments) or DONE)
    except BrokenPipeError:
        raise  # the decorator `end_with_reader` handles this error
    except KeyboardInterrupt as error:
        print(f"privcurve: {str(error) or 'stopped'}", file=sys.stderr)
        return STOPPED
    except (ExpectedError, OSError) as error:
        print(f"privcurve: {error}", file=sys.stderr)
        return getattr(error, "exit_code", FAILED)


def _import_command(name: str) -> Any:
    """Import the module of a sub-command."""
    return import_module(f"privcurve.cli.{name}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="privcurve",
        description="From a table of your own to a differentially private classifier in use.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"privcurve {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS:
        command = _import_command(name)
        command.add_arguments(
            commands.add_parser(
                name,
                help=command.HELP,
                description=command.HELP,
                epilog=f"{command.EXAMPLES}\n{EXIT_CODES}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return parser


if __name__ == "__main__":
    sys.exit(main())
