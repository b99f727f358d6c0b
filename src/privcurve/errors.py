"""What all expected errors have in common, and the exit codes of the command."""

# The same for each sub-command; argparse ends with USAGE too. Ctrl-C is STOPPED.
DONE, FAILED, USAGE, SKIPPED, UNDECIDED, OVER_BUDGET = range(6)
STOPPED = 130


class ExpectedError(Exception):
    """An error whose message says what is wrong and the way out: a program shows nothing else."""

    exit_code = FAILED  # of the command that it ends
