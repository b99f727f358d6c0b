"""Define the base class of expected errors, exit codes, and a decorator for commands in a pipe."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

# Exit codes of all sub-commands. USAGE is the code for wrong arguments, as in argparse; STOPPED is
# the code after Ctrl-C.
DONE, FAILED, USAGE, SKIPPED, UNDECIDED, OVER_BUDGET = range(6)
STOPPED = 130

Arguments = ParamSpec("Arguments")


class ExpectedError(Exception):
    """An error whose message has the fault and the remedy; commands show it without a traceback."""

    exit_code = FAILED  # exit code of a command that ends with this error


def end_with_reader(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Decorate a command to return FAILED if the reader of its output ends early (``| head``)."""

    @wraps(main)
    def run(*args: Arguments.args, **keywords: Arguments.kwargs) -> int:
        try:
            try:
                return main(*args, **keywords)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except BrokenPipeError:
            # Write the rest of the output to the null device: otherwise Python would print a second
            # error when it flushes standard output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED

    return run
