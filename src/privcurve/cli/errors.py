"""Exit codes, and the errors of commands."""

from __future__ import annotations

from pathlib import Path

from privcurve.errors import USAGE, ExpectedError

EXIT_CODES = """\
exit codes: 0 done; 1 failed; 2 the command line is not understood; 3 done, but records were
skipped; 4 a description has lines to be decided; 5 refused by the budget; 130 stopped by Ctrl-C
"""


class CommandError(ExpectedError, RuntimeError):
    """A command can't be carried out; the message names the culprit and the remedy."""


class UsageError(CommandError):
    """A command line contradicts itself, or has a value that is not allowed."""

    exit_code = USAGE


PICTURES = (".svg", ".png", ".pdf")


def check_output(path: Path | None, *inputs: Path | None) -> None:
    """Raise CommandError if an output path is a folder, or an input of the command."""
    if path is None:
        return
    if path.is_dir():
        raise CommandError(f"{path} is a folder: name an output file")
    for source in inputs:
        if source is not None and path.exists() and source.exists() and source.samefile(path):
            raise CommandError(f"{source} is an input: name another output file")


def check_picture(path: Path | None, *inputs: Path | None) -> None:
    """Raise UsageError for an unknown picture format; then check the path by `check_output`."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise UsageError(
            f"--picture must be a file with the ending {', '.join(PICTURES)}; got {path}"
        )
    check_output(path, *inputs)


def check_separator(separator: str | None) -> None:
    """Raise UsageError if a separator is given and is not one character."""
    if separator is not None and len(separator) != 1:
        raise UsageError(f"--separator must be one character; got {separator!r}")
