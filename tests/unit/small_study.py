"""Small studies in memory, and folders with study files.

A test uses

- ``content(learners, **changes)``: the mapping of a study file, with `changes` of its keys;
- ``study_of(learners, **changes)``: the parsed `Study` of this mapping;
- ``public_facts(name)``: a stand-in for a dataset that has the public facts a run id depends on;
- ``read(tmp_path, good=SMALL, bad="text")``: write one study file for each keyword (a mapping or
  text), and return the plan of the folder. `SMALL` is a mapping of a valid study.
"""

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
    """Return the mapping of a study file with these learners; changes to None remove a key."""
    words = {"title": "t", "datasets": ["toy-line"], "epsilons": [0.5, 2], "folds": 3, "repeats": 2}
    words |= {"learners": learners, **changes}
    return {key: value for key, value in words.items() if value is not None}


def study_of(learners, name="t", **changes):
    """Return the parsed study with these learners."""
    return study.from_mapping(content(learners, **changes), name, f"{name}.yaml")


def public_facts(name, mixed=False, n_classes=2):
    """Return an object with the public facts of a dataset that the ids of runs depend on."""
    domain = SimpleNamespace(mixed_bins=64 if mixed else None, n_classes=n_classes)
    return SimpleNamespace(name=name, domain=domain)


def read(folder, configured=("good",), **studies):
    """Write studies into a folder, and return the plan of the configured studies."""
    (folder / "config/studies").mkdir(parents=True)
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    for name, content in studies.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"config/studies/{name}.yaml").write_text(text)
    configuration = {"studies": list(configured), "audit": False, "seed": 1, "seconds_per_job": 30}
    with chdir(folder):
        return reading.read(configuration, folder)
