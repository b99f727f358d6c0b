"""Small studies, and folders of studies to be read."""

import shutil
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import yaml

from privcurve.experiments import study
from privcurve.workflow import reading

ROOT = Path(__file__).parents[2]
SMALL = {
    "title": "t",
    "datasets": ["toy-line"],
    "epsilons": [0.5, 1],
    "folds": 2,
    "repeats": 2,
    "learners": {
        "boost": {"learner": "lazybb", "calibrations": ["proved", "published"]},
        "majority": {"learner": "majority_class"},
    },
}


def content(learners, **changes):
    """Return what the file of a study of some learners says; a key that is None is left out."""
    words = {"title": "t", "datasets": ["toy-line"], "epsilons": [0.5, 2], "folds": 3, "repeats": 2}
    words |= {"learners": learners, **changes}
    return {key: value for key, value in words.items() if value is not None}


def study_of(learners, name="t", **changes):
    """Return a study of some learners."""
    return study.from_mapping(content(learners, **changes), name, f"{name}.yaml")


def public_facts(name, mixed=False, n_classes=2):
    """Return what ids take of a dataset, its name and domain."""
    domain = SimpleNamespace(mixed_bins=64 if mixed else None, n_classes=n_classes)
    return SimpleNamespace(name=name, domain=domain)


def read(folder, configured=("good",), **studies):
    """Lay out studies in a folder, and read them all."""
    (folder / "config/studies").mkdir(parents=True)
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    for name, content in studies.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"config/studies/{name}.yaml").write_text(text)
    configuration = {"studies": list(configured), "audit": False, "seed": 1, "seconds_per_job": 30}
    with chdir(folder):
        return reading.read(configuration, folder)
