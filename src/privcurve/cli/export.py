"""``privcurve export``: write a model as a SQL query."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from privcurve.cli.errors import UsageError, check_output

HELP = "write a model as a query of SQL, which answers as privcurve predict does"
EXAMPLES = """\
examples:
  privcurve export model.json --to sql --table patients > patients.sql
  privcurve export model.json --to sql --table patients --proba -o patients.sql

The query is of CASE alone (EXP with --proba), tried with SQLite and DuckDB. It puts
predicted_<label> before the table's columns: NULL in a row that the model refuses. The table's
columns have the model's names; numbers are numbers there, and dates are dates or ISO texts. Columns
of kind: text have no form in SQL.
"""

SQL = "sql"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    option = parser.add_argument
    option("model", type=Path, help="a model.json, written by privcurve release or privcurve.save")
    option("--to", choices=[SQL], default=SQL, help="the language (default: sql)")
    option("--table", default="records", help="the table's name (default: records)")
    option("--proba", action="store_true", help="add the probability of the positive class")
    option("-o", "--output", type=Path, help="where to write it (default: standard output, -)")


def run(arguments: argparse.Namespace) -> None:
    """Write the query."""
    from privcurve.files import replace_text
    from privcurve.models import load
    from privcurve.models.sql import query

    output = None if arguments.output == Path("-") else arguments.output
    if not arguments.table or "\0" in arguments.table:
        raise UsageError(f"--table must be the name of a table; got {arguments.table!r}")
    check_output(output, arguments.model)
    text = query(load(arguments.model), arguments.table, arguments.proba)
    if output is None:
        sys.stdout.write(text)
    else:
        replace_text(output, text)
