"""Releases: what is refused before anything is spent, what is spent all the same; the command."""

import dataclasses
import errno
import json
import math
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from own_release import LINES, QUICK, book, files_of, request, states

from privcurve import models
from privcurve.cli import main
from privcurve.datasets import DatasetError
from privcurve.files import cannot_write
from privcurve.privacy import seeds
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import DONE, FAILED, RESERVED, BudgetLedger
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import MODEL
from privcurve.releases.request import check_accuracy

# Refused ---------------------------------------------------------------------------


def test_the_third_of_three_is_refused_before_training(mine, monkeypatch):
    release(request())
    release(request())
    assert states() == [DONE, DONE]
    monkeypatch.setattr(releasing, "_trained", lambda *_: pytest.fail("trained"))
    monkeypatch.setattr(releasing, "_data", lambda *_: pytest.fail("read"))
    with pytest.raises(LedgerError, match="epsilon = 2 of the budget, epsilon = 2, is spent"):
        release(request())
    assert states() == [DONE, DONE]
    assert not Path("releases/mine/3").exists()


def test_what_is_left_is_looked_at_again_where_it_is_reserved(mine, monkeypatch):
    """As if another release had begun between the first look and the second."""
    mine(budget={"epsilon": 2})
    for _ in range(2):
        release(request())
    monkeypatch.setattr(BudgetLedger, "check", lambda *_: None)
    monkeypatch.setattr(releasing, "_trained", lambda *_: pytest.fail("trained"))
    with pytest.raises(LedgerError, match="Nothing was trained"):
        release(request())
    assert states() == [DONE, DONE]


def test_a_variant_spends_the_budget_of_its_records(mine):
    release(request(epsilon=1.5))
    Path("resources/datasets/fine.yaml").write_text(
        yaml.safe_dump({"title": "finer", "based_on": "mine", "n_bins": 4})
    )
    with pytest.raises(LedgerError, match=r"releases/mine/ledger\.jsonl"):
        release(request(dataset="fine"))
    assert release(request(dataset="fine", epsilon=0.5)).release.number == 2


def test_a_copy_of_the_description_does_not_double_the_budget(mine):
    release(request())
    content = Path("resources/datasets/mine.yaml").read_text()
    Path("resources/datasets/copy.yaml").write_text(content)
    with pytest.raises(ReleaseError, match=r"is that of 'mine' too.*based_on: mine"):
        release(request(dataset="copy"))
    assert not Path("releases/copy/ledger.jsonl").exists()
    # Nor does a file that was saved again.
    again = Path("data/mine.csv").read_bytes().replace(b"\n", b"\r\n")
    Path("data/again.csv").write_bytes(again)
    Path("resources/datasets/copy.yaml").write_text(content.replace("mine.csv", "again.csv"))
    with pytest.raises(ReleaseError, match=r"is that of 'mine' too.*based_on: mine"):
        release(request(dataset="copy"))


def test_a_copy_at_the_same_time_does_not_either(mine, monkeypatch):
    content = Path("resources/datasets/mine.yaml").read_text()
    Path("resources/datasets/copy.yaml").write_text(content)
    check = releasing._check_other_ledgers

    with ThreadPoolExecutor(1) as pool:
        others = []

        def checked(*arguments):
            monkeypatch.setattr(releasing, "_check_other_ledgers", check)
            check(*arguments)
            # Nothing is in any ledger yet, and now another begins.
            others.append(pool.submit(release, request()))
            wait(others, timeout=0.3)

        monkeypatch.setattr(releasing, "_check_other_ledgers", checked)
        release(request(dataset="copy"))
        with pytest.raises(ReleaseError, match=r"is that of 'copy' too"):
            others[0].result()
    assert not book().path.exists()


BAD = {
    "no such learner": ({"learner": "privgamm"}, "unknown learner 'privgamm'; did you mean"),
    "not private": ({"learner": "logistic_regression"}, "no certified guarantee"),
    "a peer": ({"learner": "dpl_decision_tree"}, "no certified guarantee"),
    "epsilon 0": ({"epsilon": 0.0}, "epsilon = 0.0 is not a number above 0"),
    "epsilon negative": ({"epsilon": -1.0}, "not a number above 0"),
    "epsilon nan": ({"epsilon": math.nan}, "not a number above 0"),
    "epsilon inf": ({"epsilon": math.inf}, "without privacy"),
    "delta 1": ({"delta": 1.0}, r"delta = 1.0 is not a number in \[0, 1\)"),
    "delta of a pure one": ({"delta": 1e-6}, "offers delta = 0 alone, not 1e-06"),
    "no such setting": (
        {"learner": "lazybb", "parameters": {"rounds": 5}},
        "no parameter 'rounds'",
    ),
    "a bad value": ({"learner": "lazybb", "parameters": {"density": 2.0}}, "density = 2.0"),
    "a replaced record may move": (
        {
            "learner": "distributed_topdown",
            "parameters": {"placement": "column", "protocol": "local_rnm"},
        },
        "placement = 'column' has no certified guarantee: .* Give placement = 'random' or 'sizes'",
    ),
    "by its label": (
        {"learner": "random_trees", "delta": 1e-6, "parameters": {"placement": "label"}},
        "random_trees: placement = 'label' has no certified guarantee",
    ),
    "beside others": (
        {"learner": "privgam", "parameters": {"method": "cyclic"}},
        "needs delta > 0",
    ),
    "other neighbours": ({"neighbours": "add-remove"}, "offers neighbours = 'replace-one', not"),
    "unknown neighbours": ({"neighbours": "nobody"}, "offers neighbours = 'replace-one', not"),
    "no estimate": ({"learner": "privgam", "neighbours": ADD_REMOVE}, "n_estimate"),
    "teachers stay": ({"learner": "pate", "delta": 1e-6}, "can't be handed over|neighbours|public"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_can_not_be_released_spends_nothing(mine, case):
    changes, message = BAD[case]
    with pytest.raises(ReleaseError, match=message):
        release(request(**changes))
    assert not book().path.exists()


def test_a_learner_for_other_neighbours_than_the_budgets_is_refused(mine):
    mine(budget={"epsilon": 2, "neighbours": ADD_REMOVE})
    with pytest.raises(LedgerError, match="says nothing for 'add-remove'"):
        release(request())
    mine(budget={"epsilon": 2})
    adding = {"neighbours": ADD_REMOVE, "parameters": {"n_estimate": 60}, "learner": "privgam"}
    with pytest.raises(LedgerError, match="would cost epsilon = 3 for replace-one neighbours"):
        release(request(epsilon=1.5, **adding))


def test_records_that_were_taken_by_private_labels_are_not_released(mine):
    mine(n_rows=30, records={"balance": "first"})
    with pytest.raises(ReleaseError, match="takes records by their labels, which are private"):
        release(request())
    # A label that is public is public to those alone whose guarantee says so.
    mine(n_rows=30, records={"balance": "first"}, public_label=True)
    with pytest.raises(ReleaseError, match="takes records by their labels"):
        release(request())
    mine(n_rows=30, records={"first": 30})
    adding = {"neighbours": ADD_REMOVE, "parameters": {"n_estimate": 30}, "learner": "privgam"}
    with pytest.raises(ReleaseError, match="lets a record that is added push another one out"):
        release(request(**adding))
    assert not book().path.exists()
    assert release(request()).release.number == 1
    mine(n_rows=30, records={"balance": "first"}, public_benchmark=True, budget={"epsilon": 9})
    assert release(request()).release.number == 2


def test_an_accuracy_needs_a_test_part_and_a_price(mine):
    with pytest.raises(ReleaseError, match="has no test part"):
        release(request(accuracy=0.1))
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(ReleaseError, match="not a finite epsilon"):
            release(request(accuracy=wrong))
    assert not book().path.exists()


def test_an_accuracy_is_for_replaced_records_alone():
    own = SimpleNamespace(name="mine", public_benchmark=False, n_test=9)
    check_accuracy(request(accuracy=0.5), own)
    with pytest.raises(ReleaseError, match="an accuracy is paid for with neighbours: replace-one"):
        check_accuracy(request(accuracy=0.5, neighbours=ADD_REMOVE), own)


def test_a_folder_without_room_is_noticed_before_anything_is_spent(mine):
    # Enough for a line of the ledger, and not for a model.
    with files_of(2000), pytest.raises(OSError, match=r"^out can't be written: "):
        release(request(), output=Path("out"))
    assert not list(Path("out").iterdir())
    assert not book().path.exists()
    release(request(), output=Path("out"))


def test_a_lost_ledger_is_noticed(mine):
    release(request())
    book().path.unlink()
    with pytest.raises(ReleaseError, match=r"1/model\.json is there, but the ledger.* restore"):
        release(request())


def test_data_that_can_not_be_read_spend_nothing(mine):
    mine(lines=[*LINES, "31,Rome?,x,yes"])
    with pytest.raises(DatasetError, match="Rome"):
        release(request())
    assert not book().path.exists()


def test_what_is_there_is_not_overwritten(mine, tmp_path):
    out = tmp_path / "out"
    release(request(), output=out)
    with pytest.raises(ReleaseError, match=r"model\.json is there already"):
        release(request(), output=out)
    assert states() == [DONE]
    (tmp_path / "file").write_text("")
    with pytest.raises(ReleaseError, match="can't be made"):
        release(request(), output=tmp_path / "file/out")
    assert states() == [DONE]


def test_a_model_that_guarantees_something_else_is_not_written(mine, monkeypatch):
    trained = releasing._trained

    def louder(template, *arguments):
        template.epsilon = 9.0
        return trained(template, *arguments)

    monkeypatch.setattr(releasing, "_trained", louder)
    with pytest.raises(ReleaseError, match="is not what was asked for"):
        release(request())
    assert states() == [FAILED]
    assert not list(Path("releases").rglob(MODEL))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.001},
        {"delta": 1e-12},
        {"neighbours": ADD_REMOVE},
        {"status": "not proved", "caveat": "a gap"},
    ],
)
def test_a_statement_leaves_only_if_it_is_what_was_reserved(change):
    said = PrivacyStatement(QUICK, 1.0, 0.0, REPLACE_ONE, "certified", "basic", ())
    secret = seeds.SecretSeed(bytes(32), Path("a"))
    assert releasing._statement(request(), SimpleNamespace(privacy_=said), secret) is said
    other = SimpleNamespace(privacy_=dataclasses.replace(said, **change))
    with pytest.raises(ReleaseError, match="is not what was asked for"):
        releasing._statement(request(), other, secret)


def test_a_training_that_fails_is_spent(mine, monkeypatch):
    def failing(*_):
        raise ValueError("a record is strange.")

    monkeypatch.setattr(releasing, "_trained", failing)
    with pytest.raises(ReleaseError, match=r"a record is strange.*counts this release as spent"):
        release(request())
    assert states() == [FAILED]


def test_a_model_that_can_not_be_written_is_spent_and_that_is_said(mine, monkeypatch):
    def full(*_):
        raise cannot_write(Path("x/model.json"), OSError(errno.ENOSPC, ""))

    monkeypatch.setattr(releasing, "_write", full)
    with pytest.raises(ReleaseError, match=r"the disk is full.*counts this release as spent"):
        release(request())
    assert states() == [FAILED]
    # Nor can the ledger: what was reserved stands there.
    monkeypatch.setattr(BudgetLedger, "close", full)
    with pytest.raises(ReleaseError, match="Another try is another release"):
        release(request())
    assert states() == [FAILED, RESERVED]


def test_a_ledger_that_can_not_be_closed_leaves_the_model_and_says_so(mine, monkeypatch):
    written = releasing._write

    def last(released):
        model = written(released)
        stack.enter_context(files_of(len(book().path.read_bytes())))
        return model

    monkeypatch.setattr(releasing, "_write", last)
    with ExitStack() as stack:
        message = r"^releases/mine/ledger.jsonl can't be written: .*whole, in releases/mine/1: "
        with pytest.raises(ReleaseError, match=message):
            release(request())
    models.load(Path("releases/mine/1", MODEL))
    assert states() == [RESERVED]
    assert book().path.read_bytes().endswith(b"\n")


def test_a_release_that_is_stopped_is_spent(mine, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(releasing, "_trained", stopped)
    with pytest.raises(KeyboardInterrupt):
        release(request())
    assert states() == [FAILED]


KILLED = f"""
import os, signal
from privcurve.releases import release as releasing
from privcurve.releases.request import Request
releasing._trained = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
releasing.release(Request("mine", 1.0, learner={QUICK!r}))
"""


def test_a_release_that_is_killed_while_it_trains_is_spent(mine):
    done = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert done.returncode == -signal.SIGKILL
    assert states() == [RESERVED]
    release(request())
    with pytest.raises(LedgerError):
        release(request())


# The command -----------------------------------------------------------------------


def test_the_command_says_what_it_has_written(mine, capsys):
    assert main.main(["release", "mine", "--epsilon", "1", "--learner", QUICK]) == 0
    said = capsys.readouterr().out
    secret = seeds.path_of("mine").read_text().strip()
    assert f"releases/mine/1/{MODEL}: the model (epsilon = 1)" in said
    assert str(seeds.path_of("mine")) in said
    assert secret not in said
    assert "together epsilon = 1 (replace-one); of a budget of epsilon = 2" in said


def test_settings_are_read_as_what_they_are(mine):
    mine(budget={"epsilon": 9, "delta": 1e-3})
    words = ["--learner", "privgam", "--delta", "1e-6", "--set", "method=greedy"]
    words += ["--set", "n_steps=3", "--set", "n_estimate=none"]
    assert main.main(["release", "mine", "--epsilon", "1", *words]) == 0
    content = json.loads(Path("releases/mine/1", MODEL).read_text())
    assert content["parameters"]["n_steps"] == 3
    assert content["parameters"]["n_estimate"] is None
    assert content["delta"] == 1e-6


COMMANDS = {
    "no dataset": ("nobody --epsilon 1", "unknown dataset 'nobody'"),
    "a path": ("data/mine.csv --epsilon 1", "unknown dataset"),
    "epsilon a word": ("mine --epsilon one", "--epsilon 'one' is not a number"),
    "epsilon nan": ("mine --epsilon nan", "is not a number"),
    "delta a word": ("mine --epsilon 1 --delta x", "--delta 'x' is not a number"),
    "learner": ("mine --epsilon 1 --learner lazzybb", "did you mean 'lazybb'"),
    "set without =": ("mine --epsilon 1 --set n_rounds", "KEY=VALUE"),
    "set twice": (["mine", "--epsilon", "1", *["--set", "method=rule"] * 2], "given twice"),
    "set of words": ("mine --epsilon 1 --set n_rounds=many", "n_rounds = 'many'"),
    "set unknown": ("mine --epsilon 1 --set nrounds=2", "did you mean 'n_rounds'"),
    "seed a word": ("mine --epsilon 1 --seed secrt", "neither a number"),
    "seed public": ("mine --epsilon 1 --seed 1", "are private"),
    "budget": ("mine --epsilon 3", "this release would cost epsilon = 3"),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_bad_input_is_one_message_and_a_code(mine, capsys, case):
    words, message = COMMANDS[case]
    assert main.main(["release", *words]) == 1
    said = capsys.readouterr().err
    assert said.startswith("privcurve: ")
    assert message in said
    assert "Traceback" not in said
    assert not list(Path().rglob("ledger.jsonl"))


def test_a_damaged_ledger_and_an_open_seed_are_named(mine, capsys):
    words = ["release", "mine", "--epsilon", "0.5", "--learner", QUICK]
    assert main.main(words) == 0
    seeds.path_of("mine").chmod(0o644)
    assert main.main(words) == 1
    assert "chmod 600" in capsys.readouterr().err
    seeds.path_of("mine").chmod(0o600)
    book().path.write_text("nothing\n")
    assert main.main(words) == 1
    assert "restored from a backup" in capsys.readouterr().err
