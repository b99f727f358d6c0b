"""A small study, and folders of studies to be read."""

import shutil
from pathlib import Path

import yaml

from privcurve.workflow import reading

ROOT = Path(__file__).parents[2]
SMALL = {
    "title": "t",
    "datasets": ["toy-line"],
    "epsilons": [0.5, 1],
    "folds": 2,
    "repeats": 2,
    "learners": {
        "boost": {"learner": "lazybb", "calibrations": ["certified", "published"]},
        "majority": {"learner": "majority_class"},
    },
}


def read(folder, configured=("good",), **studies):
    """Lay out studies in a folder, and read them all."""
    (folder / "config/studies").mkdir(parents=True)
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    for name, content in studies.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"config/studies/{name}.yaml").write_text(text)
    configuration = {"studies": list(configured), "audit": False, "seed": 1, "seconds_per_job": 30}
    return reading.read(configuration, folder)
