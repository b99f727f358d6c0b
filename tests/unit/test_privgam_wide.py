"""PrivGAM on a wide table, of which it chooses columns: its model, and what reads the model."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from privcurve import models
from privcurve.coding import Records
from privcurve.datasets.domain import NUMERIC, Column, Domain, Label
from privcurve.learners.additive.privgam import PrivGAMClassifier
from privcurve.models.sql import query
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import Part, PartedRecords, Threads, digest_of, labels_of

D, K, TELLING = 40, 11, (4, 20, 33)
N_BINS = np.tile([8, 5, 2, 6], 10)


def problem(n=3000):
    """Return records whose label (−1 or 1) depends on the columns TELLING."""
    rng = np.random.default_rng(11)
    X = rng.integers(0, N_BINS, (n, D))
    shares = X[:, TELLING] / (N_BINS[list(TELLING)] - 1) - 0.5
    chances = 1 / (1 + np.exp(-4 * shares.sum(axis=1)))
    return X.astype(np.uint8), np.where(rng.random(n) < chances, 1, -1)


def fitted(records):
    learner = PrivGAMClassifier(epsilon=3.0, n_bins=N_BINS, classes=(-1, 1), ordered=True)
    rng = np.random.Generator(np.random.PCG64(1))
    (model,) = learner.fit_records(records, [{}], [Curator(rng)])
    return model


def in_memory(X, y):
    return Records(X, y, np.ones(len(y), dtype=np.int64), N_BINS)


@pytest.fixture(scope="module")
def fit():
    return fitted(in_memory(*problem()))


@pytest.fixture(scope="module")
def domain():
    columns = [Column(f"x{j}", NUMERIC, (0.0, float(n)), n) for j, n in enumerate(N_BINS.tolist())]
    return Domain(tuple(columns), Label("sick", "no", "yes"))


def test_a_model_uses_the_chosen_columns_and_no_others(fit):
    model, ledger = fit.model_, fit.privacy_.ledger
    assert sum(entry.mechanism == "permute_and_flip" for entry in ledger) == K
    used = [j for j in range(D) if model.shapes[j].any()]
    assert len(used) == fit.n_features_used_ == K
    assert set(TELLING) <= set(used)
    for j in set(range(D)) - set(used):
        assert model.evidence[j] == 1.0
        assert not model.errors[j].any()
        # Nothing is released about the column, so its bins share the people equally.
        assert len(set(model.people[j].tolist())) == 1
        assert model.people[j].sum() == pytest.approx(model.people[used[0]].sum(), rel=0.01)
    for j in used:
        assert (model.errors[j] > 0).all()
    for j in TELLING:
        assert model.evidence[j] < 0.05
    X, y = problem()
    assert fit.score(X, y) > 0.7


def test_with_little_noise_the_columns_that_determine_the_label_are_chosen():
    X, y = problem(400)
    learner = PrivGAMClassifier(epsilon=25.0, n_bins=N_BINS, classes=(-1, 1), random_state=0)
    model = learner.fit(X, y).model_
    assert all(model.shapes[j].any() for j in TELLING)
    assert sum(values.any() for values in model.shapes) == round(0.12 * 100)


def test_a_release_in_parts_equals_a_release_in_one_memory(fit, tmp_path):
    X, y = problem()
    parts = []
    for k, rows in enumerate(np.array_split(np.arange(len(y)), [37, 1500])):
        path = tmp_path / f"{k}.npy"
        np.save(path, np.ascontiguousarray(X[rows].T))
        np.save(labels_of(path), y[rows])
        parts.append(Part(str(path), len(rows), digest_of(path), tuple(N_BINS.tolist())))
    engine = Threads(2)
    made = fitted(PartedRecords(tuple(parts[::-1]), N_BINS, engine))
    engine.close()
    for name in ("shapes", "errors", "people"):
        for one, other in zip(getattr(made.model_, name), getattr(fit.model_, name), strict=True):
            assert one.tobytes() == other.tobytes()
    assert made.model_.intercept == fit.model_.intercept
    assert made.model_.evidence == fit.model_.evidence
    assert made.privacy_ == fit.privacy_


def test_a_saved_model_predicts_the_same_bits(fit, domain, tmp_path):
    path, (X, _) = tmp_path / "model.json", problem()
    models.save(path, fit, domain)
    loaded = models.load(path)
    assert loaded.predict_proba(X).tobytes() == fit.predict_proba(X).tobytes()
    assert loaded.statement == fit.privacy_
    assert str(loaded.explain()) == str(fit.explain(domain))


def test_an_explanation_adds_up_and_gives_no_importance_to_other_columns(fit, domain):
    X, _ = problem()
    shapes = {shape.column.name: shape for shape in fit.explain(domain).shapes}
    unused = {f"x{j}" for j in range(D) if not fit.model_.shapes[j].any()}
    assert all(shapes[name].importance == 0 for name in unused & shapes.keys())
    text = str(fit.explain(domain))
    assert all(f"x{j}" in text for j in TELLING)
    low, high = fit.predict_interval(X[:50]).T
    chances = fit.predict_proba(X[:50])[:, 1]
    assert ((low < chances) & (chances < high)).all()


def test_a_database_predicts_the_same(fit, domain, tmp_path):
    path, X = tmp_path / "model.json", problem(200)[0]
    models.save(path, fit, domain)
    loaded = models.load(path)
    cells = {f"x{j}": np.array(domain.columns[j].edges)[X[:, j]] for j in range(D)}
    with sqlite3.connect(":memory:") as base:
        pd.DataFrame(cells).to_sql("cells", base, index=False)
        answers = pd.read_sql_query(query(loaded, "cells"), base)
    assert answers["predicted_sick"].tolist() == loaded.predict_names(X).tolist()
