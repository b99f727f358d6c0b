"""Words of a description by the real Snakemake: several files, variants, public facts."""

import gzip
import json

import numpy as np
import pytest
import yaml
from checkout import TABLES
from raw_files import idx

pytestmark = pytest.mark.workflow

LABEL = {"column": "sick", "negative": "no", "positive": "yes"}
COMMON = {
    **{"title": "t", "citation": "own", "licence": "own", "public_benchmark": True},
    **{"label": LABEL, "n_rows": 40},
}

# Two files of one part, packed and not; like columns by a pattern; logarithmic bins; gaps.
FORMS = {
    **COMMON,
    "files": {"train": [{"local": "first.csv.gz"}, {"local": "second.csv"}]},
    "parser": {"kind": "delimited", "header": True},
    "missing": "",
    "columns": [
        {"name": "p{0..1}", "kind": "numeric", "bounds": [0, 4], "n_bins": 4, "source": "s"},
        {
            "name": "pay",
            "kind": "numeric",
            "bounds": [1, 1000],
            "n_bins": 3,
            "spacing": "log",
            "missing": "bin",
            "source": "s",
        },
    ],
}
# A sample of the same records, of which some columns are public.
PUBLIC = {
    "title": "t",
    "based_on": "forms",
    "public": ["p{0..1}"],
    "public_label": True,
    "records": {"first": 30, "balance": "first"},
    "n_rows": 20,
    "n_bins": {"pay": 6},
}
IMAGES = {
    **COMMON,
    "files": {"train": {"local": "images.gz", "labels": {"local": "labels.gz"}}},
    "parser": {"kind": "idx", "fields": ["b{0..3}"], "blocks": 2},
    "columns": [
        {"name": "b{0..3}", "kind": "numeric", "bounds": [0, 255], "n_bins": 4, "source": "s"}
    ],
    "label": {"column": "label", "negative": 0, "positive": 1},
}
NAMES = {"forms": FORMS, "open": PUBLIC, "images": IMAGES}


def write_files(folder):
    sick = ["yes" if k % 3 == 0 else "no" for k in range(40)]
    rows = [f"{k % 4},{k % 3},{'' if k == 1 else 10 ** (k % 3)},{sick[k]}" for k in range(40)]
    texts = ["\n".join(["p0,p1,pay,sick", *part]) for part in (rows[:26], rows[26:])]
    (folder / "first.csv.gz").write_bytes(gzip.compress(texts[0].encode()))
    (folder / "second.csv").write_text(texts[1])
    pixels = np.arange(40 * 16, dtype=np.int64).reshape(40, 4, 4) % 256
    (folder / "images.gz").write_bytes(idx(pixels))
    (folder / "labels.gz").write_bytes(idx([k % 2 for k in range(40)]))


@pytest.mark.slow
def test_files_of_a_part_and_of_labels_and_public_facts(project):
    for name, content in NAMES.items():
        path = project.folder / f"resources/datasets/{name}.yaml"
        path.write_text(yaml.safe_dump(content, allow_unicode=True))
    write_files(project.folder)
    learners = {"bayes": {"learner": "noisy_bayes"}}
    small = {"epsilons": [1], "folds": 2, "repeats": 2, "learners": learners}
    project.write_study(datasets=["open"], neighbours="private-columns", **small)
    data = [f"results/data/{name}/encoded.npz" for name in ("forms", "images")]
    project.run(TABLES, *data)
    coded = {
        name: np.load(project.folder / f"results/data/{name}/encoded.npz")["X"] for name in NAMES
    }
    # pay is 1, 10, 100 in bins of a factor of 10; the gap has the last code.
    assert coded["forms"][:4].tolist() == [[0, 0, 0], [1, 1, 3], [2, 2, 2], [3, 0, 0]]
    assert coded["images"].shape == (40, 4)
    assert len(coded["open"]) == 20
    domain = json.loads((project.folder / "results/data/open/domain.json").read_text())["domain"]
    assert [column.get("public", False) for column in domain["columns"]] == [True, True, False]
    assert project.counts()[0] > 0
    assert project.counts()[2] == 0
