"""What all expected errors have in common."""


class ExpectedError(Exception):
    """An error whose message says what is wrong and the way out: a program shows nothing else."""

    exit_code = 1  # of the command that it ends, see privcurve.cli.errors
