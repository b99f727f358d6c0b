"""Small valid studies: as a mapping, as a parsed `Study`, and as files in a folder."""

import shutil
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import yaml

from privcurve.experiments import study
from privcurve.workflow import reading

ROOT = Path(__file__).parents[2]
SMALL_STUDY = {
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


def small_study_with(**changes):
    """Return `SMALL_STUDY` with other values of some keys: ``small_study_with(figure="one")``."""
    return {**SMALL_STUDY, **changes}


def study_mapping(learners, **changes):
    """Return the content of a study file with these learners; a change to None removes a key.

    ``study_mapping({"m": {"learner": "majority_class"}}, folds=5)`` has ε = 0.5 and 2, the dataset
    toy-line, 5 folds and 2 repeats.
    """
    keys = {"title": "t", "datasets": ["toy-line"], "epsilons": [0.5, 2], "folds": 3, "repeats": 2}
    keys |= {"learners": learners, **changes}
    return {key: value for key, value in keys.items() if value is not None}


def study_with(learners, name="t", **changes):
    """Return the parsed `Study` of ``study_mapping(learners, **changes)``.

    ``study_with({"m": {"learner": "majority_class"}}).methods["m"]`` is its one method.
    """
    return study.from_mapping(study_mapping(learners, **changes), name, f"{name}.yaml")


def dataset_stub(name, mixed=False, n_classes=2):
    """Return a dataset stub that has only the public facts on which run ids depend."""
    domain = SimpleNamespace(mixed_bins=64 if mixed else None, n_classes=n_classes)
    return SimpleNamespace(name=name, domain=domain)


def plan_with_studies(folder, configured=("good",), **studies):
    """Write one study file for each keyword; return the plan of the configured studies.

    ``plan_with_studies(tmp_path, good=SMALL_STUDY, bad="title: [")`` writes two files, one of them
    as text, and plans the study ``good``.
    """
    (folder / "config/studies").mkdir(parents=True)
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    for name, content in studies.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / f"config/studies/{name}.yaml").write_text(text)
    configuration = {"studies": list(configured), "audit": False, "seed": 1, "seconds_per_job": 30}
    with chdir(folder):
        return reading.read(configuration, folder)
