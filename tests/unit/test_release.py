"""Releases: their files, their randomness, and the text of the card."""

import hashlib
import html
import json
import math
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from own_release import (
    LINES,
    N_ROWS,
    budget_ledger,
    release_request,
    release_states,
    write_test_file,
)

from privcurve import datasets, models
from privcurve.figures.page import Page, Rows
from privcurve.learners.additive import rule
from privcurve.models.explain import explain
from privcurve.privacy import seeds
from privcurve.privacy.budget import (
    ADD_REMOVE,
    PRIVATE_COLUMNS,
    REPLACE_ONE,
    most_right_guesses,
)
from privcurve.privacy.seeds import SecretSeed
from privcurve.releases import card as cards
from privcurve.releases import card_shapes
from privcurve.releases import release as releasing
from privcurve.releases.budget_ledger import DONE, Price
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.guard import FOLDER
from privcurve.releases.release import release
from privcurve.releases.released import CARD, MODEL, PAGE

TESTED = ["33,Oslo,x,no"]


# Files of a release ----------------------------------------------------------------


@pytest.fixture
def gam(write_private_dataset):
    return release(release_request(learner="privgam"))


def test_a_release_is_a_model_a_card_and_a_line_in_the_ledger(gam):
    assert gam.folder == Path("releases/mine/1")
    assert sorted(os.listdir(gam.folder)) == [PAGE, CARD, MODEL]  # noqa: PTH208
    loaded = models.load(gam.path(MODEL))
    data = datasets.load("mine")
    np.testing.assert_array_equal(loaded.predict(data.X), gam.learner.predict(data.X))
    assert loaded.statement == gam.statement == gam.learner.privacy_
    assert release_states() == [DONE]
    (entry,) = budget_ledger().releases()
    assert entry.facts["learner"] == "privgam"
    assert entry.facts["sources"] == dict(data.sources)
    for path in (budget_ledger().path, gam.path(MODEL)):
        assert (gam.path(MODEL).parent.parent.stat().st_mode & 0o077) == 0, path


def test_released_files_hold_no_seed_records_or_checksums(gam):
    secret = seeds.path_of("mine").read_text().strip()
    (entry,) = budget_ledger().releases()
    hidden = [secret, str(int(secret, 16)), entry.facts["token"], entry.facts["checksum"]]
    hidden += [*entry.facts["sources"].values(), "secret-note", seeds.public_name(gam.seed)]
    for name in (MODEL, CARD, PAGE):
        text = gam.path(name).read_text()
        assert not [word for word in hidden if word in text], name
    # The ledger, which stays, has a name for the seed, not the seed.
    assert secret not in budget_ledger().path.read_text()


IN_FULL = (
    *("This is release 1 of these records", "Laplace noise", "epsilon = 1 of it is spent"),
    *("budget for all releases is epsilon = 2", "human life"),
)


def test_the_card_says_what_the_model_is(gam):
    text = gam.path(CARD).read_text().replace("\\", "")
    for message in (
        *("Are patients sick?", "PrivGAM", "sick: yes (positive) or no (negative)"),
        *("all 60 training records", "epsilon = 1, pure"),
        *("Not measured: whether this model is better than the base rate", *IN_FULL),
        *("one stream of ChaCha20", "Whatever was looked at before"),
    ):
        assert message in (gam.path(PAGE).read_text() if message in IN_FULL else text), message
    # A reader of the card may lack the documentation.
    assert not re.search(r"(docs|papers)/", text + gam.path(PAGE).read_text())
    of_paper = "papers/partial/proofs.md, 'PATE'"
    assert cards.name_pages(of_paper) == "“partial/proofs” in privcurve's documentation, 'PATE'"
    assert f"SHA-256 {hashlib.sha256(gam.path(MODEL).read_bytes()).hexdigest()}" in text
    assert not [name for name in (MODEL, CARD, PAGE) if "PCG64" in gam.path(name).read_text()]
    page = html.unescape(gam.path(PAGE).read_text())
    assert cards.name_pages(str(gam.statement)) in page
    for values, name in zip(gam.learner.model_.shapes, gam.domain.names, strict=True):
        assert all(f"{value:+.3g}" in page for value in values) or not values.any()
        assert (f"<h4>{name}</h4>" in page) == bool(np.ptp(values))
    assert "<script" not in page
    assert not re.findall(r"src=|href=\"(?!data:)", page)
    # The text card has the headings of the page that are not folded away.
    for signs, heading in re.findall(r"^(##?) (.+)$", text, re.MULTILINE):
        assert re.search(rf"<h{len(signs)}[^>]*>{re.escape(heading)}</h{len(signs)}>", page)
    assert "In full" not in text
    assert len(text.split()) < 700


def test_an_unused_delta_is_neither_charged_nor_on_the_card(write_private_dataset, monkeypatch):
    write_private_dataset(budget={"epsilon": 2, "delta": 1e-6})
    plan = rule.plan
    monkeypatch.setattr(rule, "plan", lambda facts: plan(facts._replace(delta=0.0)))
    made = release(release_request(learner="privgam", delta=1e-6))
    assert made.statement.delta == 0
    (entry,) = budget_ledger().releases()
    assert entry.price == made.price == Price(1.0, 0.0, REPLACE_ONE)
    # The line of the reservation: it counts until the release is done.
    assert json.loads(budget_ledger().path.read_text().splitlines()[0])["delta"] == 1e-6
    card = made.path(CARD).read_text()
    assert "epsilon = 1, pure" in card
    assert "1e-06" not in card
    # So δ is left for the next release.
    release(release_request(learner="privgam", delta=1e-6))


def test_a_card_has_intervals_where_a_model_has_errors(write_private_dataset):
    for learner, has_errors in (("privgam", True), ("lazybb", False)):
        card = release(release_request(learner=learner)).path(CARD).read_text()
        assert ("± is a 95 % interval" in card) == has_errors
        assert ("evidence of an effect" in card) == has_errors


def test_a_card_begins_with_who_when_and_what_for(write_private_dataset):
    about = {"owner": "The <hospital>", "contact": "privacy@hospital.example"}
    about |= {"legal_basis": "consent of each patient", "retention": "31 December 2030"}
    write_private_dataset(about={**about, "purpose": "to plan beds, not to refuse anyone"})
    released = release(release_request(learner="privgam"))
    (day, _, _) = budget_ledger().releases()[0].facts["at"].partition("T")
    text, page = (released.path(name).read_text().replace("\\", "") for name in (CARD, PAGE))
    for message in (
        *about.values(),
        "to plan beds",
        f"{day}; release 1",
        "at most 74 times in 100",
    ):
        assert message in text
    for heading in ("How private it is", "How good it is", "What is not covered"):
        assert f"\n## {heading}\n" in text
    # The details on the page are folded away.
    before, _, folded = page.partition("<details>")
    assert "The &lt;hospital&gt;" in before
    for heading in ("What it guarantees", "What it was made of", "What adds up"):
        assert heading not in before
        assert heading in folded
    # Without `about` the card says that nobody is named.
    write_private_dataset()
    assert (
        "not said (about: in the description)" in release(release_request()).path(CARD).read_text()
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [
        (1, 0, "at most 74 times in 100"),
        (1, 0.05, "at most 75 times in 100"),
        (6, 0, "more than 99 times in 100"),
        (math.inf, 0, "more than 99 times in 100"),
        (1, 1, "more than 99 times in 100"),
    ],
)
def test_the_card_explains_epsilon_by_the_gain_of_a_guess(epsilon, delta, expected):
    for neighbours in (REPLACE_ONE, ADD_REMOVE):
        assert expected in cards.explain_price(Price(epsilon, delta, neighbours))
    assert "those of one patient" in cards.explain_price(
        Price(epsilon, delta, REPLACE_ONE, "patient")
    )


def test_the_stated_gain_of_a_guess_is_attained():
    """Two outcomes with probability δ reveal the record; else randomised response."""
    for epsilon, delta in ((0.1, 0.0), (1.0, 0.0), (1.0, 0.1), (2.5, 1e-3)):
        true = math.exp(epsilon) / (1 + math.exp(epsilon))
        first = np.array([delta, (1 - delta) * true, (1 - delta) * (1 - true), 0])
        second = first[::-1]
        best = np.maximum(first, second).sum() / 2
        assert best == pytest.approx(most_right_guesses(epsilon, delta), rel=1e-12)


def test_the_ledger_on_a_card_has_names_of_columns(gam):
    names = gam.domain.names
    assert cards.name_columns("3: values of column 1", names) == "3: values of column town"
    assert cards.name_columns("columns 1 and 0, again", names) == "columns town and age, again"
    for same in ("noisy histograms of 2 columns", "choice of column 1"):
        assert cards.name_columns(same, names) == same
    assert not re.search(r"\bcolumns? \d", gam.path(PAGE).read_text())


def test_a_card_names_what_is_not_protected(write_private_dataset):
    write_private_dataset(public=["town"], public_label=True, budget=None)
    facts = {"learner": "brc", "parameters": {"n_rounds": 2}, "neighbours": PRIVATE_COLUMNS}
    released = release(release_request(**facts))
    shown = "The public values of each record (sick, town): the model may show them exactly."
    assert shown in released.path(CARD).read_text()
    assert "Not protected: its public column town and its label" in released.path(PAGE).read_text()


def test_a_name_that_is_markup_is_text_on_the_card():
    page = Page("<b>*us*</b> | them", (Rows(("a|b*", "value"), [("c|d", "1")]),))
    assert "<b>" not in page.html()
    assert "&lt;b&gt;*us*&lt;/b&gt;" in page.html()
    title, _, head, _, row = page.markdown().splitlines()
    assert r"\<b>\*us\*\</b>" in title
    assert [cell.strip() for cell in re.split(r"(?<!\\)\|", head)] == ["", r"a\|b\*", "value", ""]
    assert len(re.split(r"(?<!\\)\|", row)) == 4


def test_a_tree_is_in_words(write_private_dataset):
    people = [(20 + k, "Oslo" if k % 2 else "?") for k in range(N_ROWS)]
    both = [f"{age},{town},x,{'yes' if age > 50 and town == '?' else 'no'}" for age, town in people]
    write_private_dataset([LINES[0], *both], budget={"epsilon": 2000})
    page = release(release_request(learner="topdown", epsilon=500)).path(PAGE).read_text()
    words = page.partition("<pre")[2].partition("</pre>")[0]
    for text in ("yes:", "age", "town"):
        assert text in words


def explain_with(released, **changes):
    """Return the card's explanation of the columns, for a model with changes."""
    model = replace(released.learner.model_, **changes)
    released.learner.model_ = model
    return explain(released.learner, released.domain)


@pytest.mark.parametrize(
    ("constant", "label"), [(-0.75, "no"), (-0.5, None), (1.25, None), (1.5, "yes")]
)
def test_a_sum_that_never_changes_its_sign_says_so(write_private_dataset, constant, label):
    released = release(release_request(learner="privgam"))
    shapes = [0 * values for values in released.learner.model_.shapes]
    shapes[0][0], shapes[0][1] = -1.25, 0.75
    explanation = [
        text.text
        for text in cards._warn_if_constant(
            explain_with(released, intercept=constant, shapes=shapes)
        )
    ]
    assert len(explanation) == (label is not None)
    assert not explanation or f"the model always answers {label}." in explanation[0]


def test_a_constant_model_is_not_said_to_separate_records(write_private_dataset):
    released = release(release_request(learner="privgam"))
    nothing = [0 * values for values in released.learner.model_.shapes]
    (only,) = cards._warn_if_constant(explain_with(released, intercept=-0.5, shapes=nothing))
    assert only.text == "It always says that sick is no: no column counts."
    assert only.warning


def test_shapes_are_drawn_where_their_numbers_are(write_private_dataset):
    released = release(release_request(learner="privgam"))
    widths = released.domain.n_bins
    shape = np.zeros(widths[0])
    shape[2:4] = 2.0
    shapes = [shape, *(0 * each for each in released.learner.model_.shapes[1:])]
    without = explain_with(released, intercept=0.5, shapes=shapes, people=(), intercept_error=0.0)
    (picture,) = cards._draw_columns(without)
    assert picture.title == "age"
    first = html.unescape(picture.html)
    # Adjacent bins with equal scores are one step, as wide as both.
    column = released.domain.columns[0]
    share = (column.edges[4] - column.edges[2]) / (column.edges[-1] - column.edges[0])
    wide = card_shapes.NUMBERS if column.missing_bin else 1.0
    (width,) = re.findall(r'width:([0-9.]+)%" title="[^"]*: \+2"', first)
    assert float(width) == pytest.approx(100 * share * wide, abs=0.01)


def test_a_shape_is_drawn_where_people_are_with_their_number(write_private_dataset):
    released = release(release_request(learner="privgam"))
    widths = released.domain.n_bins
    shapes = [np.linspace(-1.0, 1.0, width) for width in widths]
    people = [np.zeros(width) for width in widths]
    people[0][3:6], people[1][0] = (10.0, 1234.0, 4.0), 40.0
    made = explain_with(released, intercept=0.5, shapes=tuple(shapes), people=tuple(people))
    _, *pictures = cards._draw_columns(made)
    by_title = {picture.title: html.unescape(picture.html) for picture in pictures}
    edges = released.domain.columns[0].edges
    assert len(re.findall(r"<i style", by_title["age"])) == 3
    assert "; about 1,200 people" in by_title["age"]
    assert f"{edges[3]:g} <= age < {edges[4]:g}" in by_title["age"]
    first = released.domain.columns[1].titles[0]
    assert [*re.findall(r"<b>([^<]*)</b><div class=.track", by_title["town"])] == [first]
    assert "(40)" in by_title["town"]


def test_all_training_records_train_and_no_test_record(write_private_dataset, tmp_path):
    write_private_dataset(files=write_test_file([LINES[0], *TESTED * 9]), n_test=9)
    released = release(release_request(learner="one_rule"))
    assert released.learner.n_records_ == N_ROWS
    # No accuracy: the test records are private too.
    assert released.accuracy is None
    assert (
        "Not measured: whether this model is better than the base rate"
        in released.path(CARD).read_text()
    )


def test_with_add_remove_no_number_of_records_is_reported(write_private_dataset):
    write_private_dataset(lines=LINES[:48], budget={"epsilon": 5, "neighbours": ADD_REMOVE})
    released = release(
        release_request(learner="privgam", neighbours=ADD_REMOVE, parameters={"n_estimate": 100})
    )
    assert released.statement.neighbours == ADD_REMOVE
    for name in (MODEL, CARD, PAGE):
        # Coordinates of a picture are not numbers of records.
        text = re.sub(r'<path[^>]*>|style="[^"]*"', "", released.path(name).read_text())
        assert not re.search(r"\b47\b", text), name
    assert "their number is not public" in released.path(CARD).read_text()


# Seeds -----------------------------------------------------------------------------


def test_each_release_has_its_own_stream(write_private_dataset, monkeypatch):
    write_private_dataset(budget={"epsilon": 20})
    draws = []
    stream = releasing._make_stream

    def spied(*arguments):
        rng = stream(*arguments)
        draws.append(stream(*arguments).random())
        return rng

    monkeypatch.setattr(releasing, "_make_stream", spied)
    for _ in range(2):
        release(release_request())
    # If every trace is lost, the first release draws another stream than before.
    shutil.rmtree("releases")
    shutil.rmtree(seeds.folder() / FOLDER)
    release(release_request())
    release(release_request(epsilon=2.0))
    # A release has three streams: for training, split and hold-out.
    assert len(set(draws)) == len(draws) == 4 * 3


@pytest.mark.parametrize("secret", [False, True])
def test_a_stream_depends_on_every_property_of_a_release(secret):
    """Two streams that differed only by ε, at the same noise, would reveal the answers."""
    seed = SecretSeed(bytes(32), Path("a")) if secret else 7
    other = SecretSeed(bytes([1] * 32), Path("a")) if secret else 8
    same = {
        "use": "release",
        "request": release_request(),
        "checksum": "one",
        "seed": seed,
        "number": 1,
        "token": "a",
    }
    changes = [{}, {"use": "hold-out"}, {"checksum": "b"}, {"seed": other}, {"number": 2}]
    requests = [{"epsilon": 2.0}, {"delta": 1e-6}, {"dataset": "other"}, {"learner": "privgam"}]
    requests += [{"parameters": {"n_bins": 2}}, {"neighbours": "add-remove"}]
    changes += [{"token": "b"}, *({"request": release_request(**one)} for one in requests)]
    draws = {releasing._make_stream(**{**same, **change}).random() for change in changes}
    assert len(draws) == len(changes)
    assert releasing._make_stream(**same).random() in draws


def test_a_public_seed_is_named_and_epsilon_is_infinite(write_private_dataset):
    write_private_dataset(public_benchmark=True, budget={"epsilon": 2})
    with pytest.raises(LedgerError, match="epsilon = inf"):
        release(release_request(), seed=20210)
    write_private_dataset(public_benchmark=True, budget=None)
    first, second = release(release_request(), seed=20210), release(release_request(), seed="20210")
    for released in (first, second):
        assert released.statement.epsilon == math.inf
        assert models.load(released.path(MODEL)).statement.epsilon == math.inf
        assert "ε = ∞ for whoever knows the seed, 20210" in released.path(CARD).read_text()
        assert "inf, pure" not in released.path(CARD).read_text()
        # The page describes the generator of the number, and the generator of a secret seed.
        text = html.unescape(released.path(PAGE).read_text())
        would_be = text.partition("With a secret seed it would be: ")[2].splitlines()[0]
        assert "ChaCha20" in would_be
        assert "PCG64" not in would_be
        assert "a number as seed is not private against whoever knows it" in text
        assert "public seed" in str(released.statement)
    assert [one.price.epsilon for one in budget_ledger().releases()] == [math.inf] * 2
    assert not Path(os.environ["PRIVCURVE_SEEDS"]).exists()


def test_a_public_benchmark_with_a_test_part_has_an_accuracy(write_private_dataset):
    files = write_test_file([LINES[0], *TESTED * 9])
    write_private_dataset(files=files, n_test=9, public_benchmark=True)
    released = release(release_request(epsilon=2.0))
    expected = 0.0 if released.learner.predict([[0, 0]])[0] > 0 else 1.0
    assert released.accuracy.value == expected
    card = released.path(CARD).read_text()
    assert f"Accuracy {expected:.3f} (standard error 0.000) on the 9 records" in card
    with pytest.raises(ReleaseError, match=r"An accuracy on a test part .* costs nothing"):
        release(release_request(holdout=0.1))
