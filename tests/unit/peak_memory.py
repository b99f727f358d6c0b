"""Train once on made-up records in its own process, and print the peak memory in bytes.

Arguments: learner, records, columns, folder of the store. All records differ.
"""

import re
import sys
from pathlib import Path

import numpy as np

from privcurve import datasets
from privcurve.experiments import study
from privcurve.experiments.train import Trainer
from privcurve.learners import registry

BINS = 10


def main(learner, n_rows, n_columns, store):
    columns = tuple(datasets.Column(f"c{j}", "numeric", (0.0, 1.0), BINS) for j in range(n_columns))
    domain = datasets.Domain(columns, datasets.Label("label", "no", "yes"))
    rng = np.random.default_rng(0)
    codes = rng.integers(0, BINS, (n_rows, n_columns), dtype=np.uint8)
    signs = np.where(codes[:, 0] < BINS // 2, -1, 1).astype(np.int8)
    data = datasets.Dataset(
        name="big",
        domain=domain,
        X=codes,
        y=signs,
        checksum=f"{n_rows:064}",
        n_clipped=0,
        n_clipped_test=0,
        clipped={},
        sources={},
        origin={},
    )
    content = {"title": "t", "datasets": ["toy-line"], "epsilons": [1.0], "folds": 5, "repeats": 1}
    one = registry.entry(learner)
    delta = {"deltas": [1e-9]} if one.private and not one.pure else {}
    made = study.from_mapping(
        {**content, "learners": {"a": {"learner": learner, **delta}}}, "t", "t"
    )
    (method,) = made.methods.values()
    trainer = Trainer(data, method, 1, Path(store))
    trainer.run([(method.points[0], made.selection_splits[0])])
    assert trainer.n_trained == 1
    # `getrusage` would include the memory of the process that started this one.
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(int(peak) * 1024)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
