"""Partitioned records on Dask: real schedulers and workers, started as by a user."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from own_parts import DELTA, SEED, privgam_request

from privcurve import datasets
from privcurve.learners.additive.residuals import Query, ScoredRows, bin_maps
from privcurve.privacy import parts
from privcurve.privacy.parts import Cluster, PartError
from privcurve.releases.budget_ledger import DONE, RESERVED, BudgetLedger
from privcurve.releases.errors import ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import MODEL

BIN = Path(sys.executable).parent
N, ROWS = 7_000, 1_000
COMMAND = ["release", "mine", "--epsilon", "1", "--delta", str(DELTA), "--seed", str(SEED)]
# Shorter numbers occur in every log: times, ports, sizes.
LONG = 6

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs the extra dask"
)


def test_without_the_package_one_message_says_how_to_get_it(write_public_dataset, monkeypatch):
    write_public_dataset(100)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(datasets, "prepare", None)
    with pytest.raises(ReleaseError, match=r"pip install 'privcurve\[dask\]'. Nothing was trained"):
        release(privgam_request(), seed=SEED, engine="dask")


@needs_dask
def test_a_scheduler_that_does_not_answer_is_named(write_public_dataset, monkeypatch):
    write_public_dataset(100)
    monkeypatch.setattr(parts, "WAIT", 0.3)
    with pytest.raises(ReleaseError, match=r"Dask has no workers at tcp://127\.0\.0\.1:1: "):
        release(privgam_request(), seed=SEED, scheduler="tcp://127.0.0.1:1")


class Machines:
    """Start a scheduler and workers, each a process with a log."""

    def __init__(self, folder):
        self._folder, self._running = folder, []
        self.logs = []
        place = folder / "scheduler.json"
        self.start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", place)
        while not (place.exists() and place.read_text().endswith("}")):
            assert self._running[0].poll() is None, self.text()
        self.address = json.loads(place.read_text())["address"]
        self.workers = [self.worker() for _ in range(2)]

    def start(self, kind, *options):
        self.logs.append(self._folder / f"{kind}-{len(self.logs)}.log")
        with self.logs[-1].open("w") as log:
            words = [BIN / "dask", kind, *options, "--no-dashboard"]
            self._running.append(subprocess.Popen(words, stdout=log, stderr=log, cwd=self._folder))
        return self._running[-1]

    def worker(self):
        # A nanny would start a killed worker again.
        return self.start("worker", self.address, "--nthreads", "1", "--no-nanny")

    def text(self):
        return "".join(path.read_text() for path in self.logs)

    def stop(self):
        for process in self._running:
            process.kill()
            process.wait()


@pytest.fixture
def machines(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (tmp_path / "machines").mkdir()
    running = Machines(tmp_path / "machines")
    yield running
    running.stop()


@pytest.fixture
def expected(write_public_dataset):
    """Return the model of the same records without parts; restore the folder."""
    write_public_dataset(n=N)
    text = release(privgam_request(), seed=SEED, output=Path("expected")).path(MODEL).read_text()
    BudgetLedger(Path("releases/mine")).path.unlink()
    Path("releases/mine/1").rmdir()
    write_public_dataset(ROWS, n=N)
    return text


@pytest.fixture
def at_question(monkeypatch):
    """Return a function that calls `happens` at a question, and returns all exact answers."""

    def watch(number, happens):
        ask, calls, answers = Cluster.ask, [], []

        def asking(cluster, held, question, arguments):
            calls.append(question)
            if len(calls) == number:
                happens()
            for answer in ask(cluster, held, question, arguments):
                answers.append(answer)
                yield answer

        monkeypatch.setattr(Cluster, "ask", asking)
        return answers

    return watch


def make_rows(part):
    """Return a function that makes summable rows from records with the columns of a part."""
    maps = bin_maps(np.array(part.n_bins), [False] * len(part.n_bins), 8)
    columns = range(len(maps))
    return partial(ScoredRows, columns=columns, maps=maps, n_classes=2, bits=20, norm=1)


def fail_on_workers(machines):
    """Ask a question that fails, so that workers log an error."""
    with parts.open_engine(parts.DASK, machines.address) as engine:
        held_parts = datasets.read_coded("results/data/mine").parts
        held = engine.hold(held_parts, make_rows(held_parts[0]))
        with pytest.raises(AttributeError):
            list(engine.ask(held, "nothing_like_that", ()))


@needs_dask
@pytest.mark.slow
def test_two_workers_make_the_same_model_and_log_nothing_exact(machines, expected, at_question):
    answers = at_question(1, lambda: None)
    released = release(privgam_request(), seed=SEED, scheduler=machines.address)
    assert released.path(MODEL).read_text() == expected
    fail_on_workers(machines)
    logs = machines.text()
    assert logs.count("Registered to") == 2
    assert "Compute Failed" in logs
    numbers = set(re.findall(rf"\d{{{LONG},}}", logs))
    exact = {str(abs(n)) for answer in answers for n in np.ravel(answer).tolist()}
    totals = {str(abs(n)) for n in np.ravel(sum(a.sum() for a in answers)).tolist()}
    assert len({n for n in exact if len(n) >= LONG}) > 1000
    assert not numbers & (exact | totals)


@needs_dask
@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(machines, expected, at_question):
    answers = at_question(2, machines.workers[0].kill)
    released = release(privgam_request(), seed=SEED, scheduler=machines.address)
    assert released.path(MODEL).read_text() == expected
    assert len(answers) == 12 * 7
    assert machines.workers[0].wait() == -signal.SIGKILL


@needs_dask
@pytest.mark.slow
def test_a_release_without_remaining_workers_ends(machines, expected, at_question, monkeypatch):
    monkeypatch.setattr(parts, "WAIT", 1)
    at_question(2, lambda: [worker.kill() for worker in machines.workers])
    with pytest.raises(ReleaseError, match=r"could not query all parts: .* workers .*--resume"):
        release(privgam_request(), seed=SEED, scheduler=machines.address)


@needs_dask
@pytest.mark.parametrize(
    ("package", "place"), [("privcurve", "runs privcurve"), ("no", "a worker")]
)
def test_machines_with_another_version_are_refused_before_anything_is_spent(
    machines, write_public_dataset, monkeypatch, package, place
):
    write_public_dataset(ROWS)
    monkeypatch.setattr(parts, "VERSION", "0.0.0")
    monkeypatch.setattr(parts, "PACKAGE", package)
    with pytest.raises(ReleaseError, match=f"{place}.*install 0.0.0 on each"):
        release(privgam_request(), seed=SEED, scheduler=machines.address)
    assert not BudgetLedger(Path("releases/mine")).releases()


KILLED = """
import os, signal, sys
from privcurve.cli.main import main
from privcurve.privacy.parts import Cluster
ask, asked = Cluster.ask, []
def asking(*arguments):
    asked.append(1)
    if len(asked) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return ask(*arguments)
Cluster.ask = asking
main(sys.argv[1:])
"""


@needs_dask
@pytest.mark.slow
def test_a_coordinator_that_was_killed_is_resumed_and_epsilon_is_spent_once(machines, expected):
    options = [*COMMAND, "--engine", "dask", "--scheduler", machines.address]
    killed = subprocess.run([sys.executable, "-c", KILLED, *options], check=False)
    assert killed.returncode == -signal.SIGKILL
    ledger = BudgetLedger(Path("releases/mine"))
    assert [one.state for one in ledger.releases()] == [RESERVED]
    subprocess.run([BIN / "privcurve", *options, "--resume"], check=True)
    assert [one.state for one in ledger.releases()] == [DONE]
    assert Path("releases/mine/1", MODEL).read_text() == expected


@needs_dask
@pytest.mark.slow
def test_a_release_without_workers_can_be_resumed_on_this_machine(machines, expected, at_question):
    at_question(2, machines.stop)
    with pytest.raises(ReleaseError, match="--resume finishes this one"):
        release(privgam_request(), seed=SEED, scheduler=machines.address)
    released = release(privgam_request(), seed=SEED, resume=True)
    assert released.path(MODEL).read_text() == expected


@needs_dask
def test_the_recipe_of_a_part_is_sent_without_its_records(write_public_dataset):
    import cloudpickle

    write_public_dataset(100)
    (part, *_) = datasets.prepare("mine", "coded").parts
    held = parts.OpenPart(part, make_rows(part))
    query = Query(2, len(part.n_bins), sum(part.n_bins), clip=1, norm=1)
    assert held.ask("counts", (query,)).sum() == 100 * (len(part.n_bins) + 1)
    assert len(cloudpickle.dumps(held)) < 2000
    assert repr(held) == "OpenPart(00000.npy)"
    with pytest.raises(PartError, match="this worker runs privcurve"):
        parts.OpenPart(part, make_rows(part), "0.0.0")
