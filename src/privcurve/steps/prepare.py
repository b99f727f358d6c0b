"""Fetch, check and code one dataset; PRIVCURVE_DATA may name a mirror."""

from __future__ import annotations

import argparse
from pathlib import Path

from privcurve.steps import _common


def main() -> None:
    """Read the command line and prepare the dataset."""
    parser = argparse.ArgumentParser(prog="python -m privcurve.steps.prepare", description=__doc__)
    parser.add_argument("dataset", help="name in the catalogue")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from privcurve import datasets

    dataset = datasets.prepare(arguments.dataset, arguments.output)
    n_test = 0 if dataset.y_test is None else len(dataset.y_test)
    parts = dataset.parts if isinstance(dataset, datasets.PartedDataset) else ()
    print(
        f"{dataset.name}: {dataset.n_rows} records"
        + (f" in {len(parts)} parts" if parts else "")
        + (f" and {n_test} for testing" if n_test else "")
        + f", {len(dataset.domain.n_bins)} columns coded in {dataset.domain.width} values, "
        + f"{dataset.n_clipped} values clipped to their bounds"
    )
    for note in datasets.clipping_notes(datasets.facts(arguments.output) or {}):
        print(f"warning: {note}")


if __name__ == "__main__":
    _common.run(main)
