"""Put the numbers that the thesis prints beside ours."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common, _thesis


def main() -> None:
    """Read the command line and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m privcurve.steps.comparison", description=__doc__
    )
    parser.add_argument("--printed", type=Path, required=True, help="folder of printed numbers")
    parser.add_argument("--sparsity", type=Path, required=True, help="our table, CSV")
    parser.add_argument("--rademacher", type=Path, required=True, help="our table, CSV")
    parser.add_argument("--votes", type=Path, required=True, help="CSV of the model card")
    _thesis.add_selected_argument(parser)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="folders of shards")
    parser.add_argument("--shards", type=int, nargs="+", required=True, help="how many in each")
    parser.add_argument("--output", type=Path, required=True, help="table, without its ending")
    arguments = parser.parse_args()

    import pandas as pd

    from privcurve.analysis import comparison, tables
    from privcurve.experiments import results

    def printed(name: str) -> pd.DataFrame:
        return pd.read_csv(arguments.printed / f"{name}.csv", dtype="str")

    selected = _thesis.read_selected(arguments.selected)
    cells = pd.concat(
        comparison.of_settings(part, printed("settings"), selected)
        for folder, shards in zip(arguments.cells, arguments.shards, strict=True)
        for part in results.read_shards(folder, shards, comparison.CELL_COLUMNS)
    )
    frame = comparison.in_order(
        [
            comparison.compare_sparsity(printed("sparsity"), pd.read_csv(arguments.sparsity)),
            comparison.compare_card(
                printed("model_card"), printed("model_accuracy"), pd.read_csv(arguments.votes)
            ),
            comparison.compare_rademacher(printed("rademacher"), pd.read_csv(arguments.rademacher)),
            comparison.compare_settings(printed("settings"), selected, cells),
        ]
    )
    tables.write_table(
        frame, arguments.output, comparison.CAPTION, comparison.NOTES, shown=comparison.shown(frame)
    )


if __name__ == "__main__":
    _common.run(main)
