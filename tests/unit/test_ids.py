"""Ids and digests of the shipped studies: stored results of all users depend on them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_study import dataset_stub

from privcurve.experiments import study
from privcurve.experiments.curves import curves_of
from privcurve.experiments.runs import RunIds
from privcurve.learners import registry
from privcurve.stored import stored as as_stored
from privcurve.workflow.reading import study_files

# The lists were made when every learner had version 1. A higher version may change ids, and a
# longer grid the digests of its method; nothing else may.
ROOT = Path(__file__).parents[2]
STUDIES = study_files({}, ROOT)
FILES = (ROOT / "tests/unit/ids.json", *sorted(ROOT.glob("papers/*/tests/ids.json")))
STORED = {name: ids for file in FILES for name, ids in json.loads(file.read_text()).items()}
SEED = 20210
SECONDS_PER_JOB = 30


def sha256(texts):
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{text}\n".encode())
    return digest.hexdigest()


def ids(made, method):
    splits = [
        *made.selection_splits,
        *made.final_splits(1)[:1],
        *made.fresh_splits(has_test=False)[:1],
        *made.fresh_splits(has_test=True)[:1],
    ]
    maker = RunIds(dataset_stub(made.datasets[0]), "checksum", method, SEED)
    return sha256(name for point in method.points for name in maker.names(point, splits))


@pytest.mark.parametrize("name", sorted(STORED))
def test_a_shipped_study_has_the_ids_and_digests_that_it_had(name, monkeypatch):
    monkeypatch.setattr(registry, "missing_package", lambda learner: None)
    first = {
        name: replace(entry, version=1, weights="") for name, entry in registry.LEARNERS.items()
    }
    monkeypatch.setattr(registry, "LEARNERS", first)
    made = study.load(STUDIES[name])
    of_methods = {as_stored(method.name): ids(made, method) for method in made.methods.values()}
    assert of_methods == STORED[name]["ids"]
    # The first two entries are the number of the first division into jobs and its digests (null for
    # curves that came later).
    stored = {curve: digest for curve, (_, _, digest) in STORED[name]["digests"].items()}
    digests = {
        str(one.name): sha256([one.digest]) for one in curves_of(made, SEED, SECONDS_PER_JOB)
    }
    assert digests == stored
