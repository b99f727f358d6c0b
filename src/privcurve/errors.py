"""The base class of expected errors, exit codes, and the end of commands in a pipe."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

# Exit codes of all sub-commands. USAGE is also argparse's code; STOPPED is for Ctrl-C.
DONE, FAILED, USAGE, SKIPPED, UNDECIDED, OVER_BUDGET = range(6)
STOPPED = 130

Arguments = ParamSpec("Arguments")


class ExpectedError(Exception):
    """An error whose message has the fault and the remedy; programs show only the message."""

    exit_code = FAILED  # of the command that it ends


def end_with_reader(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Decorate a command: it fails without a message if its reader closes the pipe."""

    @wraps(main)
    def run(*args: Arguments.args, **keywords: Arguments.kwargs) -> int:
        try:
            try:
                return main(*args, **keywords)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except BrokenPipeError:
            # Avoid a second error when Python flushes standard output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED

    return run
