"""What a training job and the plan import: not what they do not need, and with the same results."""

import importlib
import json
import subprocess
import sys

import pytest
import yaml

from privcurve import datasets
from privcurve.experiments import results, study
from privcurve.experiments.bundles import curves
from privcurve.experiments.jobs import CODED
from privcurve.experiments.train import Trainer
from privcurve.steps._lean import put_off

STUDY = {
    "title": "lean",
    "datasets": ["toy-line"],
    "epsilons": [1],
    "folds": 2,
    "repeats": 1,
    "learners": {"boost": {"learner": "lazybb", "grid": {"n_rounds": [3]}}},
}

# Runs a step as `python -m` does, and prints then which modules are loaded.
RUN = """
import json, runpy, sys
step, sys.argv = sys.argv[1], sys.argv[1:]
runpy.run_module(f"privcurve.steps.{step}", run_name="__main__")
print(json.dumps(sorted(sys.modules)))
"""

# Each takes from a fiftieth to a third of a second.
HEAVY = {
    "diffprivlib",
    "dp_accounting",
    "jsonschema",
    "matplotlib",
    "numpy.f2py",
    "numpy.testing",
    "pandas",
    "pooch",
    "pyarrow.dataset",
    "requests",
    "scipy.optimize",
    "scipy.stats",
    "seaborn",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "snakemake",
}


def test_a_training_job_imports_nothing_heavy_and_trains_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "lean.yaml"
    path.write_text(yaml.safe_dump(STUDY))
    dataset = datasets.load("toy-line")
    datasets.save(dataset, CODED / "toy-line")
    (curve,) = curves(study.load(path), 1, 30)
    arguments = {
        "study": path,
        "dataset": "toy-line",
        "arm": curve.arm.name,
        "seed": 1,
        "shard": 0,
        "shards": 1,
        "digest": curve.shard_digest(0),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN, "train", *(f"--{k}={v}" for k, v in arguments.items())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said, modules = done.stdout.splitlines()
    assert said == "trained 2 cells, reused 0, failed 0"
    loaded = set(json.loads(modules))
    assert {"numpy", "sklearn.base", "numba", "pyarrow.parquet"} <= loaded
    assert loaded & HEAVY == set()

    # This process has all of them.
    trainer = Trainer(dataset, curve.arm, 1, tmp_path / "other")
    rows = trainer.run(curve.tasks(0))
    results.write_cells(rows, tmp_path / "other.parquet")
    found, expected = (
        results.read_cells([file]).drop(columns="fit_seconds")
        for file in (curve.shard(0), tmp_path / "other.parquet")
    )
    assert found.equals(expected)


def test_the_plan_and_its_outputs_load_no_pandas():
    # Snakemake imports them whenever it builds the DAG.
    code = (
        "import json, sys, privcurve.workflow.plan, privcurve.outputs.registry; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {"privcurve.workflow.plan", "privcurve.papers.ensembles"} <= loaded
    assert loaded & (HEAVY | {"tabulate", "numba"}) == set()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two modules, each of which counts how often it is run."""
    folder = tmp_path / "put_off_package"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner/__init__.py").write_text(
        "import sys\nsys.n_runs = getattr(sys, 'n_runs', 0) + 1\nvalue = object()\n"
    )
    (folder / "inner/deep.py").write_text("from put_off_package.inner import value\n")
    (folder / "broken.py").write_text("import put_off_package.inner\n1 / 0\n")
    (folder / "user.py").write_text(
        "import put_off_package.inner\nfrom put_off_package import inner\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "n_runs", 0, raising=False)
    yield
    for name in [name for name in sys.modules if name.startswith("put_off_package")]:
        del sys.modules[name]


INNER = "put_off_package.inner"


@pytest.mark.usefixtures("package")
def test_a_module_is_run_when_it_is_used():
    with put_off([INNER]):
        from put_off_package import user
    assert sys.n_runs == 0
    assert INNER not in sys.modules
    assert user.inner.value is user.put_off_package.inner.value
    assert sys.n_runs == 1

    import put_off_package.inner

    assert sys.modules[INNER] is put_off_package.inner
    assert put_off_package.inner.value is user.inner.value
    assert sys.n_runs == 1
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = user.inner.other


@pytest.mark.usefixtures("package")
def test_a_module_may_be_used_while_others_are_put_off():
    with put_off([INNER]):
        from put_off_package.inner import deep, value
    assert deep.value is value
    assert sys.n_runs == 1


@pytest.mark.usefixtures("package")
def test_what_is_loaded_stays_and_nothing_is_put_off_afterwards():
    before = list(sys.meta_path)
    from put_off_package import inner

    with put_off([INNER]):
        from put_off_package import user
    assert user.inner is inner
    assert sys.meta_path == before


@pytest.mark.usefixtures("package")
def test_an_error_ends_it_too():
    before = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), put_off([INNER]):
        importlib.import_module("put_off_package.broken")
    assert sys.meta_path == before
    assert INNER not in sys.modules
