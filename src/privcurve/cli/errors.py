"""What a command ends with: its exit code, and the one error that is shown as a message alone."""

from __future__ import annotations

# Exit codes, the same for every command; argparse ends with USAGE too. Ctrl-C is STOPPED.
DONE, FAILED, USAGE, SKIPPED, UNDECIDED, OVER_BUDGET = range(6)
STOPPED = 130

EXIT_CODES = """\
exit codes: 0 done; 1 failed; 2 the command line is not understood; 3 done, but records were
skipped; 4 a description has lines to be decided; 5 refused by the budget; 130 stopped by Ctrl-C
"""


class CommandError(RuntimeError):
    """A command that can't be done.

    The message names the culprit and the way out; it is all that is shown.
    """

    exit_code = FAILED


class UsageError(CommandError):
    """A command line that contradicts itself, or whose words are not what they should be."""

    exit_code = USAGE
