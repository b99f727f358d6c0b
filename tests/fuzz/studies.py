"""Mutated studies, and their expected result: a plan, or one message."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml
from cases import dumped
from oracle import faults_of_message
from yaml_mutators import OF_CONTENT, OF_TEXT

from privcurve.learners.entries import LEARNERS
from privcurve.workflow import reading

ROOT = Path(__file__).parents[2]
MANY = 2000  # more splits than a study may have
DATASETS = ("toy-line", "wdbc", "adult", "mnist", "adult-balanced")
STUDIES = yaml.safe_load(Path(__file__).with_name("studies.yaml").read_text("utf-8"))


@dataclass
class StudyMutation:
    """A mutated study."""

    number: int
    title: str
    data: bytes
    words: str
    names: list[str]

    def __str__(self):
        return f"mutation {self.number} of the study {self.title!r}: {self.words}"


def study_mutation(number):
    """Return the mutation of a study with this number: one change, or two in one of five."""
    rng = Random(f"study {number}")
    while True:
        title = rng.choice(list(STUDIES))
        content = copy.deepcopy(STUDIES[title])
        n_content = rng.choice([0, 1, 1, 1, 1, 2])
        result = [rng.choice([*OF_CONTENT, values, values])(rng, content) for _ in range(n_content)]
        text = dumped(content)
        if not n_content or rng.random() < 0.1:
            text, words, names = rng.choice(OF_TEXT)(rng, text)
            result.append((words, names))
        if all(result):
            done = [one for one in result if one]
            names = [name for _, names in done for name in names if name.strip()]
            result = "; then ".join(words for words, _ in done)
            return StudyMutation(number, title, text.encode(), result, names)


def values(rng, content):
    """Set a key to another value, which is usually valid."""
    top = [
        ("epsilons", rng.choice([[0.1], [0.1, 0.2, 0.3], [1, 1.0], [float("inf"), 1], [1e-9]])),
        ("train_shares", rng.choice([[1], [0.5], [0.1, 0.5, 1.0], [0.1, 0.10]])),
        ("metric", rng.choice(["accuracy", "balanced_accuracy", "auc", "log_loss"])),
        ("select", rng.choice(["best", "all"])),
        ("datasets", rng.sample(DATASETS, rng.randrange(1, 4))),
        ("neighbours", rng.choice(["replace-one", "private-columns", "add-remove"])),
        ("outputs", rng.choice([["accuracy"], ["learning_curves"], ["accuracy", "accuracy"]])),
        ("finalists", {"settings": rng.randrange(2, 9), "draws": rng.randrange(1, 4)}),
        ("folds", rng.randrange(2, 9)),
        ("repeats", rng.randrange(2, 9)),
        ("splits", rng.choice([{"folds": 4}, {"holdout": 0.5, "repeats": 3}, {"holdout": 0.3}])),
    ]
    varied = [{"n_rounds": [3, 5]}, {"C": [0.5, 2]}, {"mechanism": ["auto", None]}]
    fixed = [{"n_trees": 3}, {"weak_learner": "topdown", "depth": 2}, {"depth": 2}]
    own = [
        ("learner", rng.choice(list(LEARNERS))),
        ("grid", rng.choice([{}, {"n_rounds": []}, {"n_rounds": [3, 3.0]}, {"depth": [1, 2]}])),
        *(("vary", rng.choice(varied)), ("fixed", rng.choice(fixed))),
        ("deltas", rng.choice([[0], [1e-5], [0, 1e-5], [0.5, 1], [-0.1]])),
        ("calibrations", rng.choice([["published"], ["proved"], ["published", "proved"]])),
        ("epsilons", [rng.randrange(1, 5)]),
        ("neighbours", rng.choice(["replace-one", "private-columns", "add-remove"])),
        ("tune", {"grid": {"n_rounds": [2, 4]}}),
        ("title", rng.choice(["boosting", "", "A title", "t"])),
    ]
    learners = content.get("learners")
    specs = learners.values() if isinstance(learners, dict) else ()
    specs = [one for one in specs if isinstance(one, dict)]
    if specs and rng.random() < 0.5:
        key, value = rng.choice(own)
        rng.choice(specs)[key] = value
    else:
        key, value = rng.choice(top)
        content[key] = value
    leaves = json.dumps(value).replace('"', " ").replace("{", " ").replace("}", " ").split()
    names = [key, key.removesuffix("s"), str(value), *(leaf.strip("[]:,") for leaf in leaves)]
    # A method with fewer settings may get the title of another one.
    return f"{key} is {value}", [*names, "select", "title"]


def message_of(folder):
    """Return the message that refuses the study in a folder, or "" if its jobs can be planned."""
    configuration = {"studies": ["mine"], "studies_folder": str(folder), "audit": False, "seed": 1}
    plan = reading.read({**configuration, "seconds_per_job": 30}, ROOT)
    if "mine" in plan.broken:
        return plan.broken["mine"]
    study = plan.studies["mine"]
    if max(study.folds, study.repeats) <= MANY:
        for dataset in study.datasets:
            for method in study.methods.values():
                assert plan.jobs("mine").curves[dataset, method.name].parts
    return ""


def faults_of_study(folder, names):
    """Return the faults in the program's message about a study; usually none."""
    message = message_of(folder)
    return faults_of_message(message, names) if message else []
