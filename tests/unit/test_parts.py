"""Partitioned records: the same model, bit for bit, for any partition and executor."""

import itertools
import os
import pickle
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from own_parts import COLUMNS, DELTA, SEED, N, privgam_request
from own_release import release_request
from small_study import study_with

from privcurve import datasets
from privcurve.cli import main
from privcurve.coding import Records
from privcurve.datasets import DatasetError, PartedDataset
from privcurve.datasets.description import MOST_VALUES
from privcurve.experiments import readiness, study
from privcurve.experiments.splits import fold_splits
from privcurve.experiments.train import Trainer
from privcurve.learners import registry
from privcurve.privacy import parts
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Curator
from privcurve.privacy.parts import PartedRecords, PartError, Threads
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import DONE, FAILED, RESERVED, BudgetLedger
from privcurve.releases.errors import BudgetError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import MODEL


def in_memory(data):
    ones = np.ones(len(data.y), dtype=np.int64)
    return Records(data.X, data.y, ones, np.array(data.domain.n_bins))


def first_release(setting, output):
    """Return the model of a release; delete its traces, so that the next one is the first again."""
    released = release(privgam_request(**setting), seed=SEED, output=Path(output))
    # The stream of a release depends on its number.
    BudgetLedger(Path("releases/mine")).path.unlink()
    Path("releases/mine/1").rmdir()
    return released.path(MODEL).read_text()


# Equal models -----------------------------------------------------------------------------------


SETTINGS = [
    {"learner": "noisy_bayes"},
    {"learner": "random_trees", "parameters": {"trust": "central", "n_trees": 12}},
    {"delta": 0.0},
    {"neighbours": ADD_REMOVE, "parameters": {"n_estimate": N}},
]
OTHERS = [
    {"learner": "noisy_bayes", "parameters": {"n_columns": 2}},
    {"delta": DELTA},
    {"epsilon": 20.0, "delta": DELTA},
    {"epsilon": 20.0, "delta": 0.0},
    {"epsilon": 0.05, "delta": 0.0},
]


@pytest.mark.parametrize(
    "setting", [*SETTINGS, *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)], ids=str
)
def test_a_release_in_parts_equals_a_release_in_one_memory(write_public_dataset, setting):
    texts = set()
    for number, rows in enumerate((None, N, 100, 37), 1):
        write_public_dataset(rows)
        texts.add(first_release(setting, f"out/{number}"))
    assert len(texts) == 1


CLASSES = {"label": {"column": "town", "classes": ["Bergen", "Oslo", "?"]}}


@pytest.mark.parametrize(
    "setting",
    [
        *(pytest.param({"delta": one}, marks=pytest.mark.slow) for one in (DELTA, 0.0)),
        {"learner": "random_trees", "parameters": {"trust": "central", "n_trees": 12}},
    ],
    ids=str,
)
def test_a_release_in_parts_equals_one_in_one_memory_for_three_classes(
    write_public_dataset, setting
):
    texts = set()
    for number, rows in enumerate((None, 90), 1):
        write_public_dataset(rows, columns=[COLUMNS[0], COLUMNS[2]], **CLASSES)
        texts.add(first_release(setting, f"out/{number}"))
    assert len(texts) == 1


def test_parts_may_come_in_any_order_and_be_asked_at_the_same_time(write_public_dataset):
    write_public_dataset(100)
    data = datasets.prepare("mine", "coded")
    assert [part.n_rows for part in data.parts] == [100] * 7
    models = set()
    for seed in range(4):
        order = list(data.parts)
        random.Random(seed).shuffle(order)
        records = PartedRecords(tuple(order), np.array(data.domain.n_bins), Threads(seed + 1))
        models.add(fitted(data.domain, records))
    write_public_dataset(0)
    models.add(fitted(data.domain, in_memory(datasets.load("mine"))))
    assert len(models) == 1


def fitted(domain, records):
    learner = registry.make("privgam", domain, {"epsilon": 2.0, "delta": DELTA})
    rng = np.random.Generator(np.random.PCG64(1))
    (model,) = learner.fit_records(records, [{}], [Curator(rng)])
    return str(model.model_) + str(model.privacy_) + str(model.n_records_)


def test_parts_have_the_checksum_and_the_records_of_one_memory(write_public_dataset):
    write_public_dataset()
    dataset = datasets.load("mine")
    write_public_dataset(100)
    parted = datasets.prepare("mine", "coded")
    assert isinstance(parted, PartedDataset)
    assert parted == datasets.read_coded("coded")
    assert (parted.checksum, parted.clipped) == (dataset.checksum, dataset.clipped)
    records = [part.records() for part in parted.parts]
    np.testing.assert_array_equal(np.concatenate([one.codes for one in records]), dataset.X)
    np.testing.assert_array_equal(np.concatenate([one.labels for one in records]), dataset.y)
    assert dataset.n_rows == parted.n_rows == N
    assert datasets.is_current("coded")
    write_public_dataset(50)
    again = datasets.prepare("mine", "coded")
    # Encoding again deletes the earlier parts.
    assert len(list(Path("coded").glob("*parts-*/*.npy"))) == 2 * len(again.parts) == 28


def test_data_encoded_in_another_form_are_encoded_again(write_public_dataset):
    write_public_dataset(100)
    datasets.prepare("mine", "coded")
    write_public_dataset()
    assert not datasets.is_current("coded")
    datasets.prepare("mine", "coded")
    assert datasets.is_current("coded")
    write_public_dataset(100)
    assert not datasets.is_current("coded")


def test_tables_beyond_a_public_bound_are_in_parts(write_public_dataset):
    write_public_dataset()
    about = datasets.describe("mine")
    assert about.part_rows == 0
    large = replace(about, n_rows=MOST_VALUES // 3 + 1)
    assert large.part_rows == 10_000_000
    assert replace(large, rows_per_part=0).part_rows == 0
    assert replace(large, records=datasets.description.Subsample(first=9)).part_rows == 0


def test_a_part_that_is_lost_is_read_again(write_public_dataset, monkeypatch):
    """A lost part is sent again as a recipe, and its answers are the same."""
    write_public_dataset(100)
    data = datasets.prepare("mine", "coded")
    n_bins = np.array(data.domain.n_bins)
    kept = fitted(data.domain, PartedRecords(data.parts, n_bins))
    ask, calls = parts.OpenPart.ask, []

    def forgetful(held, question, arguments):
        calls.append(question)
        if len(calls) % 3 == 0:
            make, arguments_of = held.__reduce__()
            held.__dict__.update(make(*arguments_of).__dict__)
        return ask(held, question, arguments)

    monkeypatch.setattr(parts.OpenPart, "ask", forgetful)
    lost = fitted(data.domain, PartedRecords(data.parts, n_bins, Threads(1)))
    # Each of the six releases asks every part.
    assert len(calls) == 6 * len(data.parts)
    assert lost == kept


class Counting:
    """Count the questions; the second question fails at half."""

    def __init__(self, records):
        self.n = 0

    def count(self, fails):
        self.n += 1
        if fails:
            raise MemoryError
        return self.n


def test_a_part_that_failed_half_way_answers_no_more(write_public_dataset):
    write_public_dataset(100)
    (part, *_) = datasets.prepare("mine", "coded").parts
    held = parts.OpenPart(part, Counting)
    assert [held.ask("count", (False,)) for _ in range(2)] == [1, 2]
    with pytest.raises(MemoryError):
        held.ask("count", (True,))
    assert held.ask("count", (False,)) == 1


def test_a_worker_of_another_version_opens_no_part_that_another_worker_sends(
    write_public_dataset, monkeypatch
):
    write_public_dataset(100)
    (part, *_) = datasets.prepare("mine", "coded").parts
    with monkeypatch.context() as other:
        other.setattr(parts, "VERSION", "0.0.0")
        sent = pickle.dumps(parts.OpenPart(part, Counting, "0.0.0"))
    with pytest.raises(PartError, match=r"this worker runs privcurve .*; install 0\.0\.0"):
        pickle.loads(sent)


# Refusals ---------------------------------------------------------------------------------------


def test_a_learner_that_needs_one_memory_is_refused_before_coding(
    write_public_dataset, monkeypatch
):
    write_public_dataset(100)
    monkeypatch.setattr(datasets, "prepare", None)
    result = (
        "mine: lazybb needs all records in memory, but these are partitioned. Learners of "
        "partitioned records are: noisy_bayes, random_trees, privgam"
    )
    with pytest.raises(ReleaseError, match=result):
        release(release_request(learner="lazybb"), seed=SEED)
    with pytest.raises(ReleaseError, match="tuned needs all records in memory"):
        release(release_request(learner="choose"), seed=SEED)
    with pytest.raises(ReleaseError, match="partitioned: use trust = 'central'"):
        release(privgam_request(learner="random_trees"), seed=SEED)
    fine = [{**COLUMNS[0], "spacing": "mixed", "n_bins": 64}, COLUMNS[1]]
    write_public_dataset(100, columns=fine)
    with pytest.raises(
        ReleaseError, match="noisy_bayes merges mixed bins with all records in memory"
    ):
        release(privgam_request(learner="noisy_bayes"), seed=SEED)
    domain = datasets.describe("mine").domain
    none = PartedRecords((), np.array(domain.n_bins))
    with pytest.raises(ValueError, match="lazybb needs all records in memory"):
        registry.make("lazybb", domain).fit_records(none, [{}], [Curator(np.random.default_rng(0))])


def test_an_ordinary_table_is_one_part_with_any_executor(write_public_dataset, capsys):
    write_public_dataset()
    for number, how in enumerate((["--engine", "dask"], ["--scheduler", "tcp://127.0.0.1:1"])):
        words = ["--epsilon", "1", "--learner", "noisy_bayes", "--seed", "1", *how]
        assert main.main(["release", "mine", *words, "--output", f"out/{number}"]) == 0
        assert "mine is one part, which trains here" in capsys.readouterr().err


def test_operations_that_need_all_records_in_memory_say_so(write_public_dataset):
    write_public_dataset(100)
    datasets.prepare("mine", "coded")
    with pytest.raises(DatasetError, match=r"mine must be in memory .* rows_per_part: 0 in"):
        datasets.read("coded")


def test_parts_are_of_all_records(write_public_dataset):
    write_public_dataset(100, records={"first": 50}, n_rows=50)
    with pytest.raises(DatasetError, match="rows_per_part is for all records of the files"):
        datasets.describe("mine")


@pytest.mark.parametrize("damage", ["codes", "labels", "cut", "empty", "gone"])
def test_a_changed_part_is_refused(write_public_dataset, damage):
    write_public_dataset(100)
    (part, *_) = datasets.prepare("mine", "coded").parts
    path = Path(part.path)
    if damage == "gone":
        path.unlink()
    elif damage in ("cut", "empty"):
        os.truncate(path, 200 if damage == "cut" else 0)
    else:
        path = path if damage == "codes" else parts.labels_of(path)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    result = "can't be read" if damage == "gone" else "has changed since it was encoded"
    with pytest.raises(PartError, match=result):
        part.records()
    shutil.rmtree(path.parent)
    # Deleting the folder is the remedy: the next run encodes again.
    assert not datasets.is_current("coded")


def test_records_that_are_refused_leave_no_parts(write_public_dataset):
    write_public_dataset(100)
    text = Path("data/mine.csv").read_text()
    Path("data/mine.csv").write_text(text[: text.rindex("\n", 0, -1)] + "\n1,Rome,2,no\n")
    with pytest.raises(DatasetError, match=r"line 701 .* 'town' is 'Rome'"):
        datasets.prepare("mine", "coded")
    assert not list(Path("coded").glob("*parts-*"))


# Resumed releases -------------------------------------------------------------------------------


@pytest.fixture
def stopped(write_public_dataset, monkeypatch):
    """Stop a release during training; return the model that it would have had."""
    write_public_dataset(100)
    expected = (
        release(privgam_request(), seed=SEED, output=Path("expected")).path(MODEL).read_text()
    )
    BudgetLedger(Path("releases/mine")).path.unlink()
    Path("releases/mine/1").rmdir()

    def killed(*_):
        # SIGKILL leaves no time to write another line.
        monkeypatch.setattr(BudgetLedger, "close", lambda *_: None)
        raise SystemExit

    trained, close = releasing._train, BudgetLedger.close
    monkeypatch.setattr(releasing, "_train", killed)
    with pytest.raises(SystemExit):
        release(privgam_request(), seed=SEED)
    monkeypatch.setattr(releasing, "_train", trained)
    monkeypatch.setattr(BudgetLedger, "close", close)
    return expected


def test_a_stopped_release_is_resumed_and_epsilon_is_spent_once(stopped):
    ledger = BudgetLedger(Path("releases/mine"))
    assert [one.state for one in ledger.releases()] == [RESERVED]
    released = release(privgam_request(), seed=SEED, resume=True)
    assert released.path(MODEL).read_text() == stopped
    assert [one.state for one in ledger.releases()] == [DONE]
    assert len(released.prices) == 1
    with pytest.raises(ReleaseError, match="nothing to resume"):
        release(privgam_request(), seed=SEED, resume=True)


def test_only_the_same_release_is_resumed(stopped, write_public_dataset):
    with pytest.raises(ReleaseError, match="nothing to resume"):
        release(privgam_request(delta=2 * DELTA), seed=SEED, resume=True)
    with pytest.raises(ReleaseError, match="began with another model_epsilon"):
        release(privgam_request(epsilon=0.5), seed=SEED, resume=True)
    with pytest.raises(ReleaseError, match="began with another parameters"):
        release(privgam_request(parameters={"n_estimate": None}), seed=SEED, resume=True)
    with pytest.raises(ReleaseError, match="began with another seed"):
        release(privgam_request(), seed=SEED + 1, resume=True)
    write_public_dataset(100, n=N - 1)
    with pytest.raises(ReleaseError, match=r"began with another (checksum|sources)"):
        release(privgam_request(), seed=SEED, resume=True)
    assert [one.state for one in BudgetLedger(Path("releases/mine")).releases()] == [RESERVED]


def test_a_secret_release_is_resumed_within_its_budget(write_public_dataset, monkeypatch):
    write_public_dataset(100, budget={"epsilon": 1, "delta": DELTA}, public_benchmark=False)
    trained = releasing._train

    def lost(*_):
        raise PartError("Dask could not query all parts: lost")

    monkeypatch.setattr(releasing, "_train", lost)
    with pytest.raises(ReleaseError, match="--resume finishes this one, at no further price"):
        release(privgam_request())
    monkeypatch.setattr(releasing, "_train", trained)
    (begun,) = BudgetLedger(Path("releases/mine")).releases()
    assert begun.state == FAILED
    with pytest.raises(BudgetError, match="is spent by 1 release"):
        release(privgam_request())
    released = release(privgam_request(), resume=True)
    assert (released.release.number, released.price.epsilon) == (1, 1.0)
    assert released.statement.epsilon == 1.0


# Parts in studies -------------------------------------------------------------------------------


def methods_of(**learners):
    return study_with(learners, datasets=["mine"], epsilons=[1], delta=DELTA)


def test_a_study_has_the_same_results_in_parts(write_public_dataset, tmp_path):
    """Folds, accuracies on the training part and scores are equal: runs train on the same rows."""
    made = methods_of(gam={"learner": "privgam"}, bayes={"learner": "noisy_bayes"})
    results = []
    for rows in (None, 90):
        write_public_dataset(rows)
        datasets.prepare("mine", f"coded-{rows}")
        data = datasets.read_coded(f"coded-{rows}")
        readiness.check(made, data)
        for method in made.methods.values():
            tasks = itertools.product(method.points, fold_splits(3))
            trainer = Trainer(data, method, 1, tmp_path / f"store-{rows}")
            for row in trainer.run(tasks):
                assert (row.pop("status"), row.pop("fit_seconds") >= 0) == ("ok", True)
                row.pop("memory")
                results.append(row)
    assert len(results) == 2 * 2 * 3
    assert results[:6] == results[6:]


def test_a_study_refuses_learners_that_need_one_memory(write_public_dataset):
    write_public_dataset(100)
    made = methods_of(boost={"learner": "lazybb"})
    about = {"mine": datasets.describe("mine")}
    with pytest.raises(
        study.StudyError, match=r"t.yaml: mine: .* lazybb needs all records in memory"
    ):
        list(study.notes(made, about, "t.yaml"))
