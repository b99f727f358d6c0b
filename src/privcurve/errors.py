"""What all expected errors have in common, and how commands end: by exit codes, and in a pipe."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

# The same for each sub-command; argparse ends with USAGE too. Ctrl-C is STOPPED.
DONE, FAILED, USAGE, SKIPPED, UNDECIDED, OVER_BUDGET = range(6)
STOPPED = 130

Arguments = ParamSpec("Arguments")


class ExpectedError(Exception):
    """An error whose message says what is wrong and the way out: a program shows nothing else."""

    exit_code = FAILED  # of the command that it ends


def end_with_reader(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Let a command whose reader (head, less) has closed the pipe end without a word: it failed."""

    @wraps(main)
    def run(*args: Arguments.args, **keywords: Arguments.kwargs) -> int:
        try:
            try:
                return main(*args, **keywords)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except BrokenPipeError:
            # Nothing more is written at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED

    return run
