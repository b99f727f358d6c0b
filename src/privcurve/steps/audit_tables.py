"""Put the audits of all learners into one table and one figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line, write the table and draw the figure."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.audit_tables", description=__doc__
    )
    parser.add_argument("--audits", type=Path, nargs="+", required=True, help="CSV of each learner")
    parser.add_argument("--table", type=Path, required=True, help="table, without its ending")
    parser.add_argument("--figure", type=Path, required=True, help="figure, without its ending")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve.analysis import tables
    from privcurve.audit import report
    from privcurve.figures import audit, style
    from privcurve.learners.registry import entry

    frame = report.table([pd.read_csv(path) for path in arguments.audits])
    tables.write_table(
        frame, arguments.table, report.CAPTION, report.notes(frame), shown=report.shown(frame)
    )
    titles = {name: entry(name).title for name in frame["learner"].unique()}
    claims = report.claimed(frame)
    style.save(audit.audit(claims, titles), claims, arguments.figure)


if __name__ == "__main__":
    _common.run(main)
