"""The training of PrivGAM's network: a few steps on made-up tables, and the export.

JAX is an extra (`train`); without it these tests are skipped.
"""

import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from privcurve.learners.additive import decoder
from privcurve.learners.additive.privgam import PrivGAMClassifier

jax = pytest.importorskip("jax")
pytest.importorskip("optax")

FOLDER = Path(__file__).parents[2] / "decoder"
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _folder(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("network", "tables", "tasks", "train", "export", "errors"):
        sys.modules.pop(name, None)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Return tasks of five small simulated tables."""
    import tables
    import tasks

    monkeypatch.setattr(tables, "N_RECORDS", 1500)
    tables.write(tmp_path / "pool", range(5))
    return tasks.Source(tmp_path / "pool", names=(), shapes={"tiny": tasks.TINY})


def leaves(tree):
    return [np.asarray(array) for array in jax.tree.leaves(tree)]


def use(monkeypatch, network):
    """Let fits use other weights."""
    monkeypatch.setattr(decoder, "load", lambda: network)


def test_training_steps_resume_from_their_state_and_are_exported(source, tmp_path, monkeypatch):
    import export
    import train

    whole_way = train.train(tmp_path / "once", source, lambda n: n == 5)
    train.train(tmp_path / "twice", source, lambda n: n == 3)
    resumed = train.train(tmp_path / "twice", source, lambda n: n == 5)
    assert whole_way.n_steps == resumed.n_steps == 5
    for one, other in zip(leaves(whole_way[:3]), leaves(resumed[:3]), strict=True):
        assert np.array_equal(one, other)
    # Tasks with few bins have three releases.
    first, last = (leaves(w["rounds"][:3]) for w in (train.begin(0).weights, resumed.weights))
    changed = [not np.array_equal(*pair) for pair in zip(first, last, strict=True)]
    assert np.mean(changed) > 0.9
    # The exported network works in a fit.
    network = export.network_of(jax.tree.map(np.asarray, resumed.average))
    registry = tmp_path / "private.py"
    shutil.copy(export.REGISTRY, registry)
    checksum = export.write(network, tmp_path / "decoder.npz")
    export.register(checksum, registry)
    assert f'weights="{checksum}"' in registry.read_text()
    with np.load(tmp_path / "decoder.npz") as arrays:
        use(monkeypatch, decoder.unpack(arrays))
    X = np.random.default_rng(0).integers(0, 5, (300, 2)).astype(np.uint8)
    made = PrivGAMClassifier(n_bins=5, classes=(0, 1), random_state=0).fit(X, X[:, 0] > 2)
    assert np.isfinite(made.decision_function(X)).all()


def test_the_rate_rises_and_falls():
    import train

    steps = (0, 299, 300, 1000, 1500, 1999)
    rates = [train.rate_at(step, 1.0, fall_from=1000, last=2000) for step in steps]
    assert rates == pytest.approx([1 / 300, 1.0, 1.0, 1.0, 0.5, 0.001])
    assert train.rate_at(1999, 1.0) == 1.0


def test_weights_that_do_not_fit_into_the_package_are_not_exported(tmp_path, monkeypatch):
    import export
    import network

    made = export.network_of(jax.tree.map(np.asarray, network.init(jax.random.PRNGKey(0))))
    shares = made.shares.copy()
    shares[0, 0] = np.inf
    with pytest.raises(ValueError, match="finite"):
        export.write(made._replace(shares=shares), tmp_path / "decoder.npz")
    monkeypatch.setattr(export, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="must have at most 1,000 bytes"):
        export.write(made, tmp_path / "decoder.npz")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_library_computes_the_trained_network(n_classes, monkeypatch):
    """At random weights without noise; grids and single precision make small differences."""
    import export
    import network

    weights = network.init(jax.random.PRNGKey(3))
    use(monkeypatch, export.network_of(jax.tree.map(np.asarray, weights)))
    rng = np.random.default_rng(0)
    n, n_bins, ordered = 900, np.array([12, 5, 1, 7]), np.array([True, False, True, True])
    X = rng.integers(0, n_bins, (n, 4))
    y = (X[:, 0] * n_classes // 12 + (rng.random(n) < 0.2)) % n_classes
    made = PrivGAMClassifier(
        epsilon=np.inf, n_bins=n_bins, ordered=ordered, classes=range(n_classes)
    ).fit(X.astype(np.uint8), y)
    monkeypatch.setattr(network, "draw_noise", lambda key, shape, laplace: np.zeros(shape))
    # Padding: two more columns and eight more bins than the data have.
    padded = np.zeros((n, 6), np.uint8)
    padded[:, :4] = X
    result = n / (decoder.MOST_SCALE * math.sqrt(8))
    task = {"xt": padded, "yt": y.astype(np.int32), "wt": np.ones(n, np.float32), "d": np.int32(4)}
    task |= {"nb": np.append(n_bins, [1, 1]).astype(np.float32), "n": np.float32(n)}
    task |= {"od": np.append(ordered, [0, 0]).astype(np.float32), "sigma": np.float32(result)}
    task["laplace"] = np.float32(0)
    key = jax.random.PRNGKey(0)
    scores, intercepts = network.forward(weights, key, task, 20, n_classes, n_releases=12)[-1]
    shapes = made.model_.class_shapes if n_classes > 2 else [s[None] for s in made.model_.shapes]
    ends = np.array(made.model_.intercepts if n_classes > 2 else [made.model_.intercept])
    # Scores of the library are relative to the released counts.
    for j, shape in enumerate(shapes):
        own = np.asarray(scores)[:, j, : n_bins[j]]
        means = own @ np.bincount(X[:, j], minlength=n_bins[j])[:, None] / n
        assert shape == pytest.approx(own - means, abs=5e-3)
        ends = ends - means[:, 0]
    assert np.asarray(intercepts) == pytest.approx(ends, abs=5e-3)
    assert np.abs(shapes[0]).max() > 0.3


def test_the_network_of_errors_is_trained_on_fits_and_written(source, tmp_path):
    import errors as training
    from privcurve.learners.additive import errors

    pool = sorted((tmp_path / "pool").glob("*.npz"))
    cases = [training.draw_case(pool, number) for number in range(24)]
    again = training.draw_case(pool, 5)
    assert np.array_equal(cases[5].distances, again.distances)
    assert all(case.weights.sum() == pytest.approx(1.0) for case in cases)
    arrays = training.train(cases, steps=3)
    checksum = training.write(arrays, tmp_path / "errors.npz")
    module = tmp_path / "errors.py"
    module.write_text('SHA256 = "00ab"\n')
    training.register(checksum, module)
    assert module.read_text() == f'SHA256 = "{checksum}"\n'
    # After calibration 95 % of the errors are within an interval.
    within = total = 0.0
    for case in cases:
        of_case = errors.from_features(errors.layers_of(arrays), case.features, case.common)
        near = np.abs(case.distances) <= errors.HALF_WIDTH * of_case.by_bin
        within, total = within + case.weights @ near, total + case.weights.sum()
    assert within / total == pytest.approx(0.95, abs=0.02)
