"""Releases: refusals before anything is spent, budget spent by failures; the command."""

import errno
import html
import json
import math
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from own_release import (
    N_ROWS,
    QUICK_LEARNER,
    budget_ledger,
    limit_file_size,
    release_request,
    release_states,
)

from privcurve import datasets, models
from privcurve.cli import main
from privcurve.files import write_errors
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.privacy import seeds
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE, explain_delta
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.releases import budget_ledger as books
from privcurve.releases import guard
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import DONE, FAILED, RESERVED, Budget, BudgetLedger, Price
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import CARD, MODEL, PAGE
from privcurve.releases.request import (
    check_delta,
    make_estimator,
    make_records,
    public_number,
    rehearse,
)

# Refusals --------------------------------------------------------------------------


def test_the_third_of_three_is_refused_before_training(write_private_dataset, monkeypatch):
    release(release_request())
    release(release_request())
    assert release_states() == [DONE, DONE]
    monkeypatch.setattr(releasing, "_train", lambda *_: pytest.fail("trained"))
    with monkeypatch.context() as patch:
        # As if another release began between the first check and the second.
        patch.setattr(BudgetLedger, "check", lambda *_: None)
        with pytest.raises(LedgerError, match="Nothing was trained"):
            release(release_request())
    monkeypatch.setattr(releasing, "_load_data", lambda *_: pytest.fail("read"))
    with pytest.raises(LedgerError, match="epsilon = 2 of the budget, epsilon = 2, is spent"):
        release(release_request())
    assert release_states() == [DONE, DONE]
    assert not Path("releases/mine/3").exists()


def test_a_concurrent_release_of_a_copy_is_refused(write_private_dataset, monkeypatch):
    content = Path("resources/datasets/mine.yaml").read_text()
    Path("resources/datasets/copy.yaml").write_text(content)
    check = guard._check_other_ledgers

    with ThreadPoolExecutor(1) as pool:
        others = []

        def checked(*arguments):
            monkeypatch.setattr(guard, "_check_other_ledgers", check)
            check(*arguments)
            # No ledger has an entry yet, and now another release begins.
            others.append(pool.submit(release, release_request()))
            wait(others, timeout=0.3)

        monkeypatch.setattr(guard, "_check_other_ledgers", checked)
        release(release_request(dataset="copy"))
        with pytest.raises(ReleaseError, match=r"is also the file of 'copy'"):
            others[0].result()
    assert not budget_ledger().path.exists()


PLACED = {"placement": "column", "protocol": "local_rnm"}
TREES = {"learner": "random_trees", "delta": 1e-6}
BAD = [
    ({"learner": "privgamm"}, "unknown learner 'privgamm'; did you mean"),
    ({"learner": "logistic_regression"}, "no proved guarantee"),
    ({"epsilon": math.inf}, "no privacy"),
    ({"learner": "lazybb", "parameters": {"rounds": 5}}, "parameter 'rounds'"),
    ({"learner": "lazybb", "parameters": {"density": 2.0}}, "got 2.0"),
    (
        {"learner": "distributed_topdown", "parameters": PLACED},
        "placement = 'column' has .* Give placement = 'random'",
    ),
    ({**TREES, "parameters": {"placement": "label"}}, "random_trees: placement = 'label' has no"),
    ({"learner": "privgam", "parameters": {"method": "cyclic"}}, "no parameter 'method'"),
    ({"learner": "privgam", "neighbours": ADD_REMOVE}, "n_estimate"),
    *[({"holdout": wrong}, "holdout must be a share") for wrong in (-1.0, 1.0, 20.0, math.nan)],
    ({"holdout": 1e-9}, "holdout must leave a record in each part"),
    ({"holdout": 0.2, "epsilon": 1e-12}, "whose noise does not fit"),
    # Noise that cannot be drawn.
    ({"learner": "privgam", "delta": 1e-320}, "must be 0 or at least"),
    ({"learner": "topdown", "delta": 1e-6, "epsilon": 1e-100}, "can't be trained with epsilon"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_an_impossible_release_spends_nothing(write_private_dataset, changes, message):
    write_private_dataset(budget={"epsilon": 9, "delta": 1e-3})
    with pytest.raises(ReleaseError, match=message):
        release(release_request(**changes))
    assert not budget_ledger().path.exists()
    assert not seeds.folder().exists()


def test_records_that_were_taken_by_private_labels_are_not_released(write_private_dataset):
    write_private_dataset(n_rows=30, records={"balance": "first"})
    with pytest.raises(ReleaseError, match="selects records by their labels, which are private"):
        release(release_request())
    # A public label is public only in a guarantee that says so.
    write_private_dataset(n_rows=30, records={"balance": "first"}, public_label=True)
    with pytest.raises(ReleaseError, match="selects records by their labels"):
        release(release_request())
    write_private_dataset(n_rows=30, records={"first": 30})
    adding = {"neighbours": ADD_REMOVE, "parameters": {"n_estimate": 30}, "learner": "privgam"}
    with pytest.raises(ReleaseError, match="lets an added record push another one out"):
        release(release_request(**adding))
    assert not budget_ledger().path.exists()
    assert release(release_request()).release.number == 1
    write_private_dataset(
        n_rows=30, records={"balance": "first"}, public_benchmark=True, budget={"epsilon": 9}
    )
    assert release(release_request()).release.number == 2


def test_a_guarantee_for_other_neighbours_is_not_paid_for(write_private_dataset):
    write_private_dataset(public_label=True, budget=None)
    with pytest.raises(ReleaseError, match="must be 'private-columns'; got 'replace-one'"):
        release(release_request(learner="lazybb", neighbours=PRIVATE_COLUMNS))
    assert not budget_ledger().path.exists()


def test_a_folder_without_room_is_noticed_before_anything_is_spent(write_private_dataset):
    # Enough room for a line of the ledger, but not for a model.
    with limit_file_size(2000), pytest.raises(OSError, match=r"^out can't be written: "):
        release(release_request(), output=Path("out"))
    assert not list(Path("out").iterdir())
    assert not budget_ledger().path.exists()
    release(release_request(), output=Path("out"))


def test_two_releases_at_once_do_not_write_over_each_other(write_private_dataset, monkeypatch):
    out, trained = Path("out"), releasing._train

    def slow(*arguments):
        monkeypatch.setattr(releasing, "_train", trained)
        release(release_request(epsilon=0.5), output=out)
        return trained(*arguments)

    monkeypatch.setattr(releasing, "_train", slow)
    with pytest.raises(ReleaseError, match=r"model.json exists already.* spent.*--resume finishes"):
        release(release_request(), output=out)
    assert models.load(out / MODEL).statement.epsilon == 0.5
    assert release_states() == [FAILED, DONE]
    assert budget_ledger().releases()[0].facts["error"] == "ReleaseError"
    release(release_request(), resume=True)
    assert models.load(f"releases/mine/1/{MODEL}").statement.epsilon == 1
    assert release_states() == [DONE, DONE]
    assert "error" not in budget_ledger().releases()[0].facts


def test_resuming_takes_the_stopped_release_with_the_same_settings(
    write_private_dataset, monkeypatch
):
    def stop(*_):
        raise KeyboardInterrupt

    stopped = [release_request(learner="lazybb", parameters={"n_rounds": n}) for n in (3, 5)]
    with monkeypatch.context() as patch:
        patch.setattr(releasing, "_train", stop)
        for one in stopped:
            with pytest.raises(KeyboardInterrupt):
                release(one)
    finished = [release(one, resume=True) for one in stopped]
    assert [one.release.number for one in finished] == [1, 2]
    # Both are spent, in whatever order they finish.
    assert {str(one.totals[0]) for one in finished} == {"epsilon = 2"}


def test_a_model_that_guarantees_something_else_is_not_written(write_private_dataset, monkeypatch):
    trained = releasing._train

    def louder(template, *arguments):
        template.epsilon = 9.0
        return trained(template, *arguments)

    monkeypatch.setattr(releasing, "_train", louder)
    with pytest.raises(ReleaseError, match="must be the requested one"):
        release(release_request())
    assert release_states() == [FAILED]
    assert not list(Path("releases").rglob(MODEL))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.001},
        {"delta": 1e-12},
        {"neighbours": ADD_REMOVE},
        {"status": "claimed", "caveat": "a gap"},
    ],
)
def test_a_statement_leaves_only_if_it_is_what_was_reserved(change):
    result = PrivacyStatement(
        QUICK_LEARNER, 1.0, 0.0, REPLACE_ONE, "proved", "basic", (), status="proved"
    )
    releasing._check_statement(release_request(), result)
    with pytest.raises(ReleaseError, match="must be the requested one"):
        releasing._check_statement(release_request(), replace(result, **change))


def test_a_failure_after_the_reservation_is_spent_and_reported(write_private_dataset, monkeypatch):
    def failing(*_):
        raise ValueError("a record is strange.")

    def full(*_):
        with write_errors(Path("x/model.json")):
            raise OSError(errno.ENOSPC, "")

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "_train", failing)
        with pytest.raises(ReleaseError, match=r"record is strange.*counts this release as spent"):
            release(release_request(epsilon=0.5))
    monkeypatch.setattr(releasing, "_write", full)
    with pytest.raises(ReleaseError, match=r"the disk is full.*spent.*; --resume finishes this"):
        release(release_request(epsilon=0.5))
    assert release_states() == [FAILED, FAILED]
    # If the ledger cannot be written either, the release stays reserved.
    monkeypatch.setattr(BudgetLedger, "close", full)
    with pytest.raises(ReleaseError, match="Another try is another release"):
        release(release_request())
    assert release_states() == [FAILED, FAILED, RESERVED]


def test_a_ledger_that_can_not_be_closed_leaves_the_model_and_says_so(
    write_private_dataset, monkeypatch
):
    written = releasing._write

    def last(released):
        model = written(released)
        stack.enter_context(limit_file_size(len(budget_ledger().path.read_bytes())))
        return model

    monkeypatch.setattr(releasing, "_write", last)
    with ExitStack() as stack:
        message = r"^releases/mine/ledger.jsonl can't be written: .*complete, in releases/mine/1; "
        with pytest.raises(ReleaseError, match=message):
            release(release_request())
    models.load(Path("releases/mine/1", MODEL))
    assert release_states() == [RESERVED]
    assert budget_ledger().path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("place", "moment", "states_then"),
    [
        (releasing, "rehearse", []),
        # Between the line in the ledger and the next step.
        (books, "sync", [RESERVED]),
        (releasing, "_train", [FAILED]),
        (releasing, "_write", [FAILED]),
        (BudgetLedger, "close", [RESERVED]),
    ],
)
def test_a_stopped_release_reports_whether_it_is_spent(
    write_private_dataset, monkeypatch, capsys, place, moment, states_then
):
    once = [KeyboardInterrupt]
    original = getattr(place, moment)

    def stopped(*given):
        if once:
            raise once.pop()
        return original(*given)

    monkeypatch.setattr(place, moment, stopped)
    assert main.main(["release", "mine", "--epsilon", "1", "--learner", QUICK_LEARNER]) == 130
    output = capsys.readouterr().err
    assert output.startswith("privcurve: stopped")
    spent = "The ledger, releases/mine/ledger.jsonl, counts this release as spent"
    assert (spent in output) == bool(states_then)
    assert release_states() == states_then


# δ as a number of records ----------------------------------------------------------

WORDS = ["release", "mine", "--learner", "dp_newton", "--epsilon", "0.1", "--delta"]


def test_a_delta_of_one_over_the_number_of_records_has_to_be_allowed(write_private_dataset, capsys):
    write_private_dataset(budget={"epsilon": 9, "delta": 0.99})
    for delta in ("0.9", str(1 / N_ROWS)):
        assert main.main([*WORDS, delta]) == 1
        output = capsys.readouterr().err
        assert "which of 60 records are" in output
        assert "--allow-large-delta. Nothing was trained." in output
        assert not budget_ledger().path.exists()
    assert main.main([*WORDS, "0.9", "--allow-large-delta"]) == 0
    warning = "warning: Delta = 0.9: whatever epsilon is, a mechanism of this delta may show each "
    assert warning in capsys.readouterr().err
    card = Path("releases/mine/1", CARD).read_text()
    assert "**Delta = 0.9: whatever epsilon is" in card
    assert "which of 60 records are 54 in the mean.**" in card


@pytest.mark.parametrize(("delta", "warned"), [(1 / 600, True), (1.6e-3, False), (1e-6, False)])
def test_a_delta_above_a_tenth_over_n_gives_a_warning(write_private_dataset, capsys, delta, warned):
    write_private_dataset(budget={"epsilon": 9, "delta": 0.01})
    assert main.main([*WORDS, str(delta)]) == 0
    assert ("warning: " in capsys.readouterr().err) == warned
    card = Path("releases/mine/1", CARD).read_text()
    # The card states a small δ as a number of records, too.
    assert ("**Delta = " in card) == warned
    assert f"which of 60 records are {delta * N_ROWS:.2g} in the mean." in card


def test_deltas_of_all_releases_are_stated_in_records_and_sum_to_less_than_one(
    write_private_dataset, capsys
):
    write_private_dataset(budget={"epsilon": 9, "delta": 0.99})
    for number in (1, 2):
        assert main.main([*WORDS, "0.001"]) == 0
        output = "All releases together have delta = 0.002: " in capsys.readouterr().err
        assert output == (number == 2)
    write_private_dataset(budget=None)
    for _ in range(2):
        release(release_request(learner="dp_newton", delta=0.4), large_delta=True)
    with pytest.raises(
        LedgerError, match=r"add up to 1 or more.*Nothing was trained.*--allow-large"
    ):
        budget_ledger().check(Budget(), Price(1.0, 0.4, REPLACE_ONE))
    with pytest.raises(ReleaseError, match=r"delta = 0\.4: whatever epsilon is"):
        release(release_request(learner="privgam", delta=0.4))
    finished = release(release_request(learner="dp_newton", delta=0.4), large_delta=True)
    text = html.unescape(finished.path(PAGE).read_text())
    assert "Together, for replace-one neighbours: epsilon = 3.2, delta = 1: nothing is guar" in text


def test_where_the_number_of_records_is_not_public_its_estimate_counts(write_private_dataset):
    """A refusal that depended on the number of records would reveal it."""
    description = datasets.describe("mine")

    def adding(delta, **parameters):
        return release_request(
            learner="privgam", neighbours=ADD_REMOVE, delta=delta, parameters=parameters
        )

    assert public_number(release_request(), description) == N_ROWS
    assert public_number(adding(0.1, n_estimate=5000), description) == 5000
    for n, delta in ((5000, 1e-3), (5, 0.21), (None, 0.5)):
        given = {} if n is None else {"n_estimate": n}
        with pytest.raises(ReleaseError, match="--allow-large-delta"):
            check_delta(adding(delta, **given), description)
        check_delta(adding(delta * 0.9 if n is None else 0.9 / n, **given), description)
    assert "of about 5,000 records are 5 in the mean" in explain_delta(1e-3, 5000, ADD_REMOVE)
    assert "their number, which is not public" in explain_delta(1e-3, None, ADD_REMOVE)
    write_private_dataset(budget={"epsilon": 9, "delta": 0.1, "neighbours": ADD_REMOVE})
    finished = release(adding(1e-6, n_estimate=5000))
    text = html.unescape(finished.path(PAGE).read_text())
    assert "of about 5,000 records are 0.005 in the mean" in text
    assert "60 records" not in text


# Rehearsals ------------------------------------------------------------------------


def released():
    """Yield all that can be released: learners with each relation, with and without δ."""
    for name, entry in LEARNERS.items():
        if entry.proved and not entry.requires and registry.estimator_class(name)._released:
            for neighbours in entry.neighbours:
                for delta in [0.0] * entry.pure + [1e-6] * entry.approximate:
                    yield name, neighbours, delta


SOME = ("lazybb", "topdown", "noisy_bayes", "privgam", QUICK_LEARNER)
EVERY = tuple(dict.fromkeys(name for name, _, _ in released()))


@pytest.mark.parametrize(
    ("n", "names"), [(2, SOME), *(pytest.param(n, EVERY, marks=pytest.mark.slow) for n in (2, 60))]
)
def test_every_training_can_be_rehearsed(n, names):
    """On two records, the fewest possible, and of the toy data, whose label may be public."""
    description = datasets.describe("toy-line")
    domain = replace(description.domain, label=replace(description.domain.label, public=True))
    description = replace(description, n_rows=n, domain=domain)
    for name, neighbours, delta in (one for one in released() if one[0] in names):
        takes = neighbours == ADD_REMOVE and "n_estimate" in LEARNERS[name].parameters
        given = {"n_estimate": n} if takes else {}
        if neighbours == PRIVATE_COLUMNS:
            started = {"start": "public", "noise": "box"}.items()
            given = {key: word for key, word in started if key in LEARNERS[name].parameters}
        one = release_request(learner=name, neighbours=neighbours, delta=delta, parameters=given)
        rehearse(one, description, make_estimator(one, domain), n)


def test_noise_is_rehearsed_for_the_number_of_records():
    description = replace(datasets.describe("toy-line"), n_rows=50_000_000)
    one = release_request(learner="lazybb")
    with pytest.raises(ReleaseError, match=r"density must be .* got 0.35.* nothing is spent"):
        rehearse(one, description, make_estimator(one, description.domain), description.n_rows)


def test_made_up_records_are_as_many_and_reveal_nothing(write_private_dataset):
    domain = datasets.describe("mine").domain
    for n in (2, 60, 64, 65, 100_000):
        X, y, counts, _ = make_records(domain, n)
        assert counts.sum() == n
        assert counts.min() >= 1
        assert set(y.tolist()) == {-1, 1}
        assert (X.max(axis=0) < domain.n_bins).all()
        assert math.isclose(counts[y > 0].sum(), n / 2, abs_tol=1)


# The command -----------------------------------------------------------------------


def test_the_command_lists_its_files(write_private_dataset, capsys):
    assert main.main(["release", "mine", "--epsilon", "1", "--learner", QUICK_LEARNER]) == 0
    output = capsys.readouterr().out
    secret = seeds.path_of("mine").read_text().strip()
    stated = "(epsilon = 1, delta = 0; replace-one neighbours)"
    assert f"releases/mine/1/{MODEL}: the model {stated}" in output
    assert str(seeds.path_of("mine")) in output
    assert secret not in output
    assert "together epsilon = 1 (replace-one neighbours); of a budget of epsilon = 2" in output


def test_settings_are_read_as_what_they_are(write_private_dataset):
    write_private_dataset(budget={"epsilon": 9, "delta": 1e-3})
    words = "--epsilon 1 --delta 1e-6 --set weak_learner=topdown --set n_rounds=3"
    words += " --set vote_worth=none"
    assert main.main(["release", "mine", "--learner", "lazybb", *words.split()]) == 0
    content = json.loads(Path("releases/mine/1", MODEL).read_text())
    assert content["parameters"]["n_rounds"] == 3
    assert content["parameters"]["weak_learner"] == "topdown"
    assert content["parameters"]["vote_worth"] is None
    assert content["delta"] == 1e-6


# Arguments, exit code (2: the command line, 5: the budget), and part of the message.
COMMANDS = [
    ("nobody --epsilon 1", 1, "unknown dataset 'nobody'"),
    ("mine --epsilon 1 --set n_rounds", 2, "KEY=VALUE"),
    ("mine --epsilon 1 --set n_estimate=9 --set n_estimate=9", 2, "given twice"),
    ("mine --epsilon 1 --learner privgam --set n_estimate=many", 1, "got 'many'"),
    ("mine --epsilon 1 --seed secrt", 1, "must be a number, the word"),
    ("mine --epsilon 1 --seed 1", 1, "must be secret for the private records"),
    ("mine --epsilon 3", 5, "this release would cost epsilon = 3"),
]


@pytest.mark.parametrize(("words", "code", "message"), COMMANDS)
def test_bad_input_is_one_message_and_a_code(write_private_dataset, capsys, words, code, message):
    assert main.main(["release", *words.split()]) == code
    output = capsys.readouterr().err
    assert output.startswith("privcurve: ")
    assert message in output
    assert "Traceback" not in output
    assert not list(Path().rglob("ledger.jsonl"))
