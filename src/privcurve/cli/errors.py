"""What exit codes mean, and the errors of commands that are shown as one message."""

from __future__ import annotations

from pathlib import Path

from privcurve.errors import USAGE, ExpectedError

EXIT_CODES = """\
exit codes: 0 done; 1 failed; 2 the command line is not understood; 3 done, but records were
skipped; 4 a description has lines to be decided; 5 refused by the budget; 130 stopped by Ctrl-C
"""


class CommandError(ExpectedError, RuntimeError):
    """A command that can't be done.

    The message names the culprit and the way out; it is all that is shown.
    """


class UsageError(CommandError):
    """A command line that contradicts itself, or has a word that is not allowed."""

    exit_code = USAGE


PICTURES = (".svg", ".png", ".pdf")


def check_output(path: Path | None, *inputs: Path | None) -> None:
    """Refuse to write over a folder, or over a file that the command reads."""
    if path is None:
        return
    if path.is_dir():
        raise CommandError(f"{path} is a folder: name an output file")
    for source in inputs:
        if source is not None and path.exists() and source.exists() and source.samefile(path):
            raise CommandError(f"{source} is an input: name another output file")


def check_picture(path: Path | None, *inputs: Path | None) -> None:
    """Refuse a picture of an unknown kind, and what :func:`check_output` refuses."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise UsageError(f"--picture {path}: name a file in {', '.join(PICTURES)}")
    check_output(path, *inputs)


def check_separator(separator: str | None) -> None:
    """Refuse what can't stand between fields."""
    if separator is not None and len(separator) != 1:
        raise UsageError(f"--separator {separator!r} is not one character")
