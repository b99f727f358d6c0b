"""Releases: what is refused before anything is spent, what is written, and what the card says."""

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from privcurve import datasets, models
from privcurve.cli import main
from privcurve.datasets import DatasetError
from privcurve.files import cannot_write
from privcurve.privacy import seeds
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.seeds import SeedError
from privcurve.releases import release as releasing
from privcurve.releases.asked import CARD, MODEL, PAGE, Asked
from privcurve.releases.book import DONE, FAILED, RESERVED, Book, BookError
from privcurve.releases.errors import ReleaseError
from privcurve.releases.release import release

ROWS = 60
LINES = [
    "age,town,note,sick",
    *(
        f"{20 + k},{'Oslo' if k % 3 else '?'},secret-note-{k},{'yes' if k % 4 else 'no'}"
        for k in range(ROWS)
    ),
]
QUICK = "noisy_majority"


@pytest.fixture
def mine(own, tmp_path, monkeypatch):
    """Private records with a budget of 2; gives a function that changes their description."""
    monkeypatch.setenv("PRIVCURVE_SEEDS", str(tmp_path / "seeds"))

    def write(lines=LINES, **changes):
        own(lines, **{"n_rows": len(lines) - 1, "budget": {"epsilon": 2}, **changes})

    write()
    return write


def asked(**changes):
    return Asked(**{"dataset": "mine", "epsilon": 1.0, "learner": QUICK, **changes})


def book():
    return Book(Path("releases/mine"))


def states():
    return [one.state for one in book().releases()]


# What is written -------------------------------------------------------------------


@pytest.fixture
def gam(mine):
    return release(asked(learner="privgam"))


def test_a_release_is_a_model_a_card_and_a_line_in_the_ledger(gam):
    assert gam.folder == Path("releases/mine/1")
    assert sorted(os.listdir(gam.folder)) == [PAGE, CARD, MODEL]  # noqa: PTH208
    loaded = models.load(gam.path(MODEL))
    data = datasets.load("mine")
    np.testing.assert_array_equal(loaded.predict(data.X), gam.learner.predict(data.X))
    assert loaded.statement == gam.statement == gam.learner.privacy_
    assert states() == [DONE]
    (entry,) = book().releases()
    assert entry.facts["learner"] == "privgam"
    assert entry.facts["sources"] == dict(data.sources)
    for path in (book().path, gam.path(MODEL)):
        assert (gam.path(MODEL).parent.parent.stat().st_mode & 0o077) == 0, path


def test_nothing_that_leaves_holds_the_seed_the_records_or_their_checksums(gam):
    secret = seeds.path_of("mine").read_text().strip()
    (entry,) = book().releases()
    hidden = [secret, str(int(secret, 16)), entry.facts["token"], entry.facts["checksum"]]
    hidden += [*entry.facts["sources"].values(), "secret-note", seeds.named(gam.seed)]
    for name in (MODEL, CARD, PAGE):
        text = gam.path(name).read_text()
        assert not [word for word in hidden if word in text], name
    # The ledger, which stays, has the name of the seed and not the seed.
    assert secret not in book().path.read_text()


def test_the_card_says_what_the_model_is(gam):
    text = gam.path(CARD).read_text().replace("\\", "")
    for said in (
        *("Are patients sick?", "PrivGAM", "sick: yes (positive) or no (negative)"),
        *("all 60 training records", "epsilon = 1, pure", str(gam.statement)),
        *("No accuracy is stated", "This is release 1 of these records"),
        *("The holder's budget for all releases is epsilon = 2", "epsilon = 1 of it is spent"),
        *("human life", "Whatever was looked at before", "Laplace noise", "docs/privgam.md"),
    ):
        assert said in text, said
    values = gam.learner.model_.shapes[0]
    assert all(f"{value:+.3f}" in text for value in values) or not values.any()
    page = gam.path(PAGE).read_text()
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=", page)
    for heading in re.findall(r"^## (.+)$", text, re.MULTILINE):
        assert f"<h2>{heading}</h2>" in page


def test_a_name_that_is_markup_is_text_on_the_card(mine):
    mine(title="<b>*us*</b> | them")
    found = release(asked())
    page = found.path(PAGE).read_text()
    assert "<b>" not in page
    assert "&lt;b&gt;*us*&lt;/b&gt;" in page


@pytest.mark.slow
def test_trees_are_in_words(mine):
    text = release(asked(learner="topdown")).path(CARD).read_text()
    words = text.partition("```")[2].partition("```")[0]
    assert "yes:" in words
    assert "age" in words or "town" in words


def test_all_training_records_train_and_no_test_record(mine, tmp_path):
    Path("data/test.csv").write_text("\n".join([LINES[0], *["33,Oslo,x,no"] * 9]) + "\n")
    files = {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}
    mine(files=files, n_test=9)
    found = release(asked(learner="one_rule"))
    assert found.learner.n_records_ == ROWS
    # No accuracy either: these records are private too.
    assert found.accuracy is None
    assert "No accuracy is stated" in found.path(CARD).read_text()


def test_with_add_remove_no_number_of_records_is_told(mine):
    mine(lines=LINES[:48], budget={"epsilon": 5, "neighbours": ADD_REMOVE})
    found = release(asked(learner="privgam", neighbours=ADD_REMOVE, parameters={"n_estimate": 100}))
    assert found.statement.neighbours == ADD_REMOVE
    for name in (MODEL, CARD, PAGE):
        assert not re.search(r"\b47\b", found.path(name).read_text()), name
    assert "their number is not public" in found.path(CARD).read_text()


# Seeds -----------------------------------------------------------------------------


def test_each_release_has_a_stream_of_its_own(mine, monkeypatch):
    mine(budget={"epsilon": 20})
    draws = []
    stream = releasing._stream

    def spied(*arguments):
        rng = stream(*arguments)
        draws.append(stream(*arguments).random())
        return rng

    monkeypatch.setattr(releasing, "_stream", spied)
    for _ in range(2):
        release(asked())
    # Though the ledger is lost, the first release has another stream than the first one had.
    book().path.unlink()
    for number in ("1", "2"):
        for path in Path("releases/mine", number).iterdir():
            path.unlink()
    release(asked())
    release(asked(epsilon=2.0))
    assert len(set(draws)) == 4


def test_a_secret_is_made_once_and_used_again(mine):
    first, second = release(asked()).seed, release(asked()).seed
    assert first == second
    assert first.path == seeds.path_of("mine")


def test_private_records_are_refused_a_public_seed(mine):
    with pytest.raises(SeedError, match="the records of 'mine' are private"):
        release(asked(), seed=20210)
    assert not Path("releases").exists()


def test_a_public_seed_is_named_and_epsilon_is_infinite(mine):
    mine(public_benchmark=True, budget={"epsilon": 2})
    with pytest.raises(BookError, match="epsilon = inf"):
        release(asked(), seed=20210)
    own = {"public_benchmark": True}
    content = yaml.safe_load(Path("resources/datasets/mine.yaml").read_text())
    del content["budget"]
    Path("resources/datasets/mine.yaml").write_text(yaml.safe_dump(content | own))
    first, second = release(asked(), seed=20210), release(asked(), seed="20210")
    for found in (first, second):
        assert found.statement.epsilon == math.inf
        assert models.load(found.path(MODEL)).statement.epsilon == math.inf
        assert "ε = ∞ for whoever knows the seed, 20210" in found.path(CARD).read_text()
        assert "public seed" in str(found.statement)
    assert [one.price.epsilon for one in book().releases()] == [math.inf] * 2
    assert not Path(os.environ["PRIVCURVE_SEEDS"]).exists()


def test_a_public_benchmark_with_a_test_part_has_an_accuracy(mine):
    Path("data/test.csv").write_text("\n".join([LINES[0], *["33,Oslo,x,no"] * 9]) + "\n")
    files = {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}
    mine(files=files, n_test=9, public_benchmark=True)
    found = release(asked(epsilon=2.0))
    expected = 0.0 if found.learner.predict([[0, 0]])[0] > 0 else 1.0
    assert (found.accuracy.value, found.accuracy.epsilon) == (expected, 0)
    card = found.path(CARD).read_text()
    assert f"Accuracy {expected:.4f} (± 0.0000) on the 9 records" in card
    with pytest.raises(ReleaseError, match="an accuracy costs nothing"):
        release(asked(accuracy=0.1))


def test_an_accuracy_is_paid_for_and_noisy(mine, monkeypatch):
    tested = 400
    Path("data/test.csv").write_text("\n".join([LINES[0], *["33,Oslo,x,no"] * tested]) + "\n")
    files = {"train": {"local": "data/mine.csv"}, "test": {"local": "data/test.csv"}}
    mine(files=files, n_test=tested, budget={"epsilon": 1.5})
    found = release(asked(accuracy=0.5))
    assert found.accuracy.epsilon == 0.5
    assert found.release.price.epsilon == 1.5
    assert found.statement.epsilon == 1
    card = found.path(CARD).read_text().replace("\\", "")
    assert "epsilon = 1.5, pure, 0.5 of it for the accuracy" in card
    assert "has cost epsilon = 0.5, on top of that of the model" in card
    with pytest.raises(BookError, match="is spent"):
        release(asked(epsilon=1e-3))


def test_the_noise_of_an_accuracy_is_that_of_its_price():
    """4,000 draws; their spread is 4 standard errors off by chance in one of 15,000 seeds."""
    from types import SimpleNamespace

    from privcurve.releases.accuracy import PARTS, measured

    tested, draws, epsilon = 2000, 4000, 0.25
    answers = np.zeros(tested, dtype=np.int8)
    answers[: tested // 2] = 1
    data = SimpleNamespace(X_test=answers, y_test=np.ones(tested, dtype=np.int8))
    learner = SimpleNamespace(predict=lambda X: X)
    rng = np.random.default_rng(7)
    found = [(measured(learner, data, epsilon, rng).value - 0.5) * tested for _ in range(draws)]
    # Of the discrete Laplace: the mean of |noise| is 1/ε, its standard deviation about that too.
    assert abs(np.mean(np.abs(found)) - 1 / epsilon) < 4 / epsilon / np.sqrt(draws) + 1 / PARTS
    assert abs(np.mean(found)) < 4 * np.sqrt(2 / draws) / epsilon
    assert measured(learner, data, 0.0, None).value == 0.5


def test_a_statement_with_a_known_seed_survives_its_file():
    said = releasing.with_known_seed(
        PrivacyStatement("x", 1.0, 0.0, REPLACE_ONE, None, "basic", ())
    )
    assert PrivacyStatement.from_json(said.to_json()) == said
    assert not said.private
    assert "(epsilon = inf)" in str(said)


# Refused ---------------------------------------------------------------------------


def test_the_third_of_three_is_refused_before_training(mine, monkeypatch):
    release(asked())
    release(asked())
    assert states() == [DONE, DONE]
    monkeypatch.setattr(releasing, "_trained", lambda *_: pytest.fail("trained"))
    monkeypatch.setattr(releasing, "_data", lambda *_: pytest.fail("read"))
    with pytest.raises(BookError, match="epsilon = 2 of the budget, epsilon = 2, is spent"):
        release(asked())
    assert states() == [DONE, DONE]
    assert not Path("releases/mine/3").exists()


def test_a_variant_spends_the_budget_of_its_records(mine):
    release(asked(epsilon=1.5))
    Path("resources/datasets/fine.yaml").write_text(
        yaml.safe_dump({"title": "finer", "based_on": "mine", "n_bins": 4})
    )
    with pytest.raises(BookError, match=r"releases/mine/ledger\.jsonl"):
        release(asked(dataset="fine"))
    assert release(asked(dataset="fine", epsilon=0.5)).release.number == 2


def test_a_copy_of_the_description_does_not_double_the_budget(mine):
    release(asked())
    content = Path("resources/datasets/mine.yaml").read_text()
    Path("resources/datasets/copy.yaml").write_text(content)
    with pytest.raises(ReleaseError, match=r"is that of 'mine' too.*based_on: mine"):
        release(asked(dataset="copy"))
    assert not Path("releases/copy/ledger.jsonl").exists()


BAD = {
    "no such learner": ({"learner": "privgamm"}, "unknown learner 'privgamm'; did you mean"),
    "not private": ({"learner": "logistic_regression"}, "no certified guarantee"),
    "a peer": ({"learner": "dpl_decision_tree"}, "no certified guarantee"),
    "epsilon 0": ({"epsilon": 0.0}, "epsilon = 0.0 is not a number above 0"),
    "epsilon negative": ({"epsilon": -1.0}, "not a number above 0"),
    "epsilon nan": ({"epsilon": math.nan}, "not a number above 0"),
    "epsilon inf": ({"epsilon": math.inf}, "without privacy"),
    "delta 1": ({"delta": 1.0}, r"delta = 1.0 is not a number in \[0, 1\)"),
    "delta of a pure one": ({"delta": 1e-6}, "offers delta = 0 alone"),
    "no such setting": (
        {"learner": "lazybb", "parameters": {"rounds": 5}},
        "no parameter 'rounds'",
    ),
    "a bad value": ({"learner": "lazybb", "parameters": {"density": 2.0}}, "density = 2.0"),
    "beside others": (
        {"learner": "privgam", "parameters": {"method": "cyclic"}},
        "needs delta > 0",
    ),
    "other neighbours": ({"neighbours": "add-remove"}, "offers neighbours: replace-one"),
    "unknown neighbours": ({"neighbours": "nobody"}, "offers neighbours: replace-one"),
    "no estimate": ({"learner": "privgam", "neighbours": ADD_REMOVE}, "n_estimate"),
    "teachers stay": ({"learner": "pate", "delta": 1e-6}, "can't be handed over|neighbours|public"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_can_not_be_released_spends_nothing(mine, case):
    changes, message = BAD[case]
    with pytest.raises(ReleaseError, match=message):
        release(asked(**changes))
    assert not book().path.exists()


def test_a_learner_for_other_neighbours_than_the_budgets_is_refused(mine):
    mine(budget={"epsilon": 2, "neighbours": ADD_REMOVE})
    with pytest.raises(BookError, match="says nothing for 'add-remove'"):
        release(asked())
    mine(budget={"epsilon": 2})
    adding = {"neighbours": ADD_REMOVE, "parameters": {"n_estimate": 60}, "learner": "privgam"}
    with pytest.raises(BookError, match="would cost epsilon = 3 for replace-one neighbours"):
        release(asked(epsilon=1.5, **adding))


def test_an_accuracy_needs_a_test_part_and_a_price(mine):
    with pytest.raises(ReleaseError, match="has no test part"):
        release(asked(accuracy=0.1))
    for wrong in (-1.0, math.inf, math.nan):
        with pytest.raises(ReleaseError, match="not a finite epsilon"):
            release(asked(accuracy=wrong))
    assert not book().path.exists()


def test_a_lost_ledger_is_noticed(mine):
    release(asked())
    book().path.unlink()
    with pytest.raises(ReleaseError, match=r"1/model\.json is there, but the ledger.* restore"):
        release(asked())


def test_data_that_can_not_be_read_spend_nothing(mine):
    mine(lines=[*LINES, "31,Rome?,x,yes"])
    with pytest.raises(DatasetError, match="Rome"):
        release(asked())
    assert not book().path.exists()


def test_what_is_there_is_not_overwritten(mine, tmp_path):
    out = tmp_path / "out"
    release(asked(), output=out)
    with pytest.raises(ReleaseError, match=r"model\.json is there already"):
        release(asked(), output=out)
    assert states() == [DONE]
    (tmp_path / "file").write_text("")
    with pytest.raises(ReleaseError, match="can't be made"):
        release(asked(), output=tmp_path / "file/out")
    assert states() == [DONE]


def test_a_model_that_guarantees_something_else_is_not_written(mine, monkeypatch):
    trained = releasing._trained

    def louder(template, *arguments):
        template.epsilon = 9.0
        return trained(template, *arguments)

    monkeypatch.setattr(releasing, "_trained", louder)
    with pytest.raises(ReleaseError, match="is not what was asked for"):
        release(asked())
    assert states() == [FAILED]
    assert not list(Path("releases").rglob(MODEL))


def test_a_training_that_fails_is_spent(mine, monkeypatch):
    def failing(*_):
        raise ValueError("a record is strange.")

    monkeypatch.setattr(releasing, "_trained", failing)
    with pytest.raises(ReleaseError, match=r"a record is strange.*counts this release as spent"):
        release(asked())
    assert states() == [FAILED]


def test_a_model_that_can_not_be_written_is_spent_and_that_is_said(mine, monkeypatch):
    def full(*_):
        raise cannot_write(Path("x/model.json"), OSError(errno.ENOSPC, ""))

    monkeypatch.setattr(releasing, "_write", full)
    with pytest.raises(ReleaseError, match=r"the disk is full.*counts this release as spent"):
        release(asked())
    assert states() == [FAILED]
    # Nor can the ledger: what was reserved stands there.
    monkeypatch.setattr(Book, "close", full)
    with pytest.raises(ReleaseError, match="Another try is another release"):
        release(asked())
    assert states() == [FAILED, RESERVED]


def test_a_release_that_is_stopped_is_spent(mine, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(releasing, "_trained", stopped)
    with pytest.raises(KeyboardInterrupt):
        release(asked())
    assert states() == [FAILED]


KILLED = f"""
import os, signal
from privcurve.releases import release as releasing
from privcurve.releases.asked import Asked
releasing._trained = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
releasing.release(Asked("mine", 1.0, learner={QUICK!r}))
"""


def test_a_release_that_is_killed_while_it_trains_is_spent(mine):
    done = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert done.returncode == -signal.SIGKILL
    assert states() == [RESERVED]
    release(asked())
    with pytest.raises(BookError):
        release(asked())


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
    "no dataset": (["nobody", "--epsilon", "1"], "unknown dataset 'nobody'"),
    "a path": (["data/mine.csv", "--epsilon", "1"], "unknown dataset"),
    "epsilon a word": (["mine", "--epsilon", "one"], "--epsilon 'one' is not a number"),
    "epsilon nan": (["mine", "--epsilon", "nan"], "is not a number"),
    "delta a word": (["mine", "--epsilon", "1", "--delta", "x"], "--delta 'x' is not a number"),
    "learner": (["mine", "--epsilon", "1", "--learner", "lazzybb"], "did you mean 'lazybb'"),
    "set without =": (["mine", "--epsilon", "1", "--set", "n_rounds"], "KEY=VALUE"),
    "set twice": (["mine", "--epsilon", "1", *["--set", "method=rule"] * 2], "given twice"),
    "set of words": (["mine", "--epsilon", "1", "--set", "n_rounds=many"], "n_rounds = 'many'"),
    "set unknown": (["mine", "--epsilon", "1", "--set", "nrounds=2"], "did you mean 'n_rounds'"),
    "seed a word": (["mine", "--epsilon", "1", "--seed", "secrt"], "neither a number"),
    "seed public": (["mine", "--epsilon", "1", "--seed", "1"], "are private"),
    "budget": (["mine", "--epsilon", "3"], "this release would cost epsilon = 3"),
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


# The card of pairs -----------------------------------------------------------------


def test_a_pair_of_columns_is_on_the_card_group_by_group(mine):
    from types import SimpleNamespace

    from privcurve.learners.additive.model import AdditiveModel, PairShape
    from privcurve.releases import card

    domain = datasets.describe("mine").domain
    widths = domain.n_bins
    groups = (np.arange(widths[0]) // 5, np.arange(widths[1]))
    shape = (int(groups[0].max()) + 1, widths[1])
    values = np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape) / 8
    pair = PairShape((0, 1), groups, values, values / 2)
    zeros = tuple(np.zeros(k) for k in widths)
    model = AdditiveModel(0.5, 0.1, zeros, zeros, (pair,))
    released = SimpleNamespace(learner=SimpleNamespace(model_=model), domain=domain)
    text, rows, always = card._decides(released)
    assert "the label it gives is always yes" in always.text
    assert rows.header[:2] == ("age, beside its own", "and town")
    assert len(rows.rows) == values.size
    first, last = domain.columns[0].bin_names[0], domain.columns[0].bin_names[4]
    assert rows.rows[0] == (f"{first} … {last}", "town = Oslo", "+0.125", "± 0.062")
    assert rows.rows[-1][2] == f"{values[-1, -1]:+.3f}"
    assert "+0.500" in text.text


@pytest.mark.parametrize(
    ("constant", "label"), [(-0.75, "no"), (-0.5, None), (1.25, None), (1.5, "yes")]
)
def test_a_sum_that_never_changes_its_sign_says_so(mine, constant, label):
    from privcurve.releases import card

    parts = [np.array([-1.0, 0.5]), np.array([-0.25, 0.25])]
    said = [text.text for text in card._always(constant, parts, datasets.describe("mine").domain)]
    assert len(said) == (label is not None)
    assert not said or f"the label it gives is always {label}." in said[0]


@pytest.mark.parametrize(
    "learner", [pytest.param("lazybb", marks=pytest.mark.slow), "noisy_bayes", QUICK]
)
def test_a_score_that_is_a_sum_is_taken_apart(mine, learner):
    from privcurve.releases import shares

    mine(budget={"epsilon": 50})
    found = release(asked(learner=learner, epsilon=50.0))
    apart = shares.of(found.learner, found.domain)
    codes = np.array(list(np.ndindex(*found.domain.n_bins)), dtype=np.uint8)
    summed = apart.constant + sum(v[codes[:, j]] for j, v in enumerate(apart.values))
    np.testing.assert_allclose(summed, found.learner.decision_function(codes), atol=1e-9)
    card = found.path(CARD).read_text()
    said = "It always says" if learner == QUICK else "A score is added up"
    assert said in card


def test_a_score_that_is_no_sum_is_not(mine):
    from types import SimpleNamespace

    from privcurve.releases import shares

    domain = datasets.describe("mine").domain
    product = SimpleNamespace(decision_function=lambda X: X[:, 0].astype(float) * X[:, 1])
    assert shares.of(product, domain) is None
