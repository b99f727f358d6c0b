"""Descriptions with several records per person: codes, releases, and refusals."""

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small_study
import yaml
from own_dataset import assert_load_fails
from own_release import budget_ledger, release_request, write_test_file
from sklearn.base import clone

from privcurve import PrivGAMClassifier, Schema, datasets, models
from privcurve.cli.main import main
from privcurve.datasets import DatasetError
from privcurve.datasets.coding.coder import ColumnCoder
from privcurve.datasets.raw import raw_columns
from privcurve.experiments import readiness, study
from privcurve.experiments.models import train_afresh
from privcurve.experiments.splits import Split, Splitter
from privcurve.experiments.train import Trainer
from privcurve.learners import registry
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS, REPLACE_ONE
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import PARTS
from privcurve.releases import holdout
from privcurve.releases.budget_ledger import Price
from privcurve.releases.card import name_pages
from privcurve.releases.choice import CHOOSE, choice
from privcurve.releases.errors import LedgerError, ReleaseError
from privcurve.releases.release import release
from privcurve.releases.released import MODEL, PAGE

N_PERSONS = 30
UNIT = {"column": "who", "at_most": 2}
# Person k has 1 + k % 4 records.
PERSONS = [f"P{k}" for k in range(N_PERSONS) for _ in range(1 + k % 4)]
KEPT = sum(min(2, 1 + k % 4) for k in range(N_PERSONS))


def lines_of(persons):
    rows = [
        f"{person},{20 + k % 70},{'Oslo' if k % 3 else '?'},{'yes' if k % 4 else 'no'}"
        for k, person in enumerate(persons)
    ]
    return ["who,age,town,sick", *rows]


@pytest.fixture
def persons(write_private_dataset):
    """Write records of persons with a budget of 2; return a function that changes them."""

    def write(lines=None, **changes):
        lines = lines_of(PERSONS) if lines is None else lines
        write_private_dataset(lines, **{"n_rows": KEPT, "unit": UNIT, **changes})

    write()
    return write


# Codes -----------------------------------------------------------------------------


def test_at_most_the_stated_number_of_records_per_person_is_kept(persons):
    data = datasets.load("mine")
    assert data.X.shape == (KEPT, 2)
    assert data.domain.names == ("age", "town")
    persons(unit={**UNIT, "seed": 1})
    other = datasets.load("mine")
    assert other.X.shape == data.X.shape
    assert other.checksum != data.checksum
    persons(unit={**UNIT, "at_most": 4}, n_rows=len(PERSONS))
    assert len(datasets.load("mine").y) == len(PERSONS)


def test_a_person_can_be_named_by_a_number_or_a_text(persons, tmp_path):
    as_text = datasets.load("mine")
    frame = pd.read_csv("data/mine.csv", dtype={"age": int, "who": str})
    for who in (frame.who, frame.who.str[1:].astype(int)):
        frame.assign(who=who).to_parquet("data/mine.parquet")
        files = {"train": {"local": "data/mine.parquet"}}
        persons(files=files, parser={"kind": "parquet"})
        assert len(datasets.load("mine").y) == len(as_text.y)


@pytest.mark.parametrize("key", ["n_rows", "n_test"])
def test_numbers_of_records_count_kept_records(persons, key):
    if key == "n_test":
        files = write_test_file(lines_of(["P1"] * 5))
        persons(files=files, n_test=2)
        assert len(datasets.load("mine").y_test) == 2
        persons(files=files, n_test=5)
        assert_load_fails(r"unit keeps 2 of 5 records \(at most 2 of each who\).*n_test: 5")
    else:
        persons(n_rows=len(PERSONS))
        assert_load_fails(rf"unit keeps {KEPT} of {len(PERSONS)} records .* n_rows: {len(PERSONS)}")


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ({"column": "who", "at_most": 0}, "at_most"),
        ({"column": "who"}, "at_most"),
        ({"column": "whom", "at_most": 2}, "no column 'whom'; did you mean 'who'"),
        ({"column": "age", "at_most": 2}, "'age' is the unit and a column too.*drop it"),
        ({"column": "sick", "at_most": 2}, "'sick' is the unit and the label"),
    ],
)
def test_a_unit_that_can_not_be_is_refused(persons, unit, message):
    persons(unit=unit)
    assert_load_fails(message)


def test_a_record_of_nobody_is_refused(persons):
    persons([*lines_of(PERSONS), ",30,Oslo,yes"])
    assert_load_fails(r"line \d+.*the unit 'who' is missing, so the record belongs to no person")


@pytest.mark.parametrize(
    "name", ["nan", "NaN", "None", "<NA>", "NA", "null", "\u200b", "\uff2e\uff21", "?"]
)
def test_a_marker_of_missing_values_is_no_person(persons, name):
    persons([*lines_of(PERSONS), f"{name},30,Oslo,yes"], n_rows=KEPT + 1)
    assert f"line 75 of data/mine.csv: the unit 'who' is missing ({name!r})" in assert_load_fails()
    frame = pd.read_csv("data/mine.csv", keep_default_na=False)
    with pytest.raises(DatasetError, match=r"row 73.*'who' is missing .*belongs to no person"):
        schema_of_persons().training_rows(frame)


def schema_of_persons():
    columns = {"age": (0, 120), "town": ["Oslo", "?"]}
    return Schema(columns, ["no", "yes"], unit=UNIT)


# Names that may be one person, as several programs and people write them.
ALIKE = [
    ("P1", "p1"),
    ("P1", "P1\u200b"),
    ("P1", "\ufeffP1"),
    ("P1", "P\u00ad1"),
    ("P1", "P01"),
    ("P1", "P\uff11"),
    ("P1", "P\u0661"),
    ("P1", "\uff30\uff11\ufe0f"),
    ("P1", "P1\u2800"),
    ("7", "007"),
    ("7", "07.0"),
    ("ward 1", "Ward  01"),
    ("ward 1", "ward\u00a01"),
    ("STRASSE", "stra\u00dfe"),
]


@pytest.mark.parametrize(("name", "other"), ALIKE)
def test_similar_names_are_reported_wherever_records_train(persons, name, other, capsys, tmp_path):
    lines = [*lines_of(PERSONS[1:]), *(f"{one},30,Oslo,yes" for one in (name, other))]
    # P1 has two kept records.
    n_rows = KEPT + (name != "P1")
    persons(lines, n_rows=n_rows)
    assert main(["check", "mine"]) == 0
    output = capsys.readouterr().out
    assert (
        "2 values of the unit 'who' differ from another one only by zeros, case, width or" in output
    )
    assert f"({name!r} and {other.removesuffix('.0')!r})" in output
    mine = datasets.load("mine")
    datasets.save(mine, tmp_path / "coded")
    assert datasets.read(tmp_path / "coded").remarks == mine.remarks
    (note,) = datasets.data_notes(datasets.facts(tmp_path / "coded"))
    assert note.startswith("mine: 2 values of the unit 'who' differ")
    # The note may be printed or logged, so it omits the name.
    assert repr(other) not in note
    messages = []
    release(release_request(), tell=messages.append)
    assert messages == [note]
    frame = pd.read_csv("data/mine.csv", dtype=str)
    with pytest.warns(UserWarning, match="2 values of the unit 'who' differ"):
        schema_of_persons().training_rows(frame)


@pytest.mark.parametrize("other", ["P10", "P 31", "P-31", "P31a", "31", "Q31", "P3.1", "P310"])
def test_names_that_differ_are_different_persons(persons, other, capsys):
    persons(
        [*lines_of([*PERSONS, "P31"]), f"{other},30,Oslo,yes"], n_rows=KEPT + 2 - (other == "P10")
    )
    assert main(["check", "mine"]) == 0
    assert "the unit" not in capsys.readouterr().out
    assert datasets.load("mine").remarks == ()


def test_a_class_of_one_person_can_not_be_compared(persons, capsys):
    rows = [line.replace(",no", ",yes") for line in lines_of(PERSONS)[1:]]
    for extra, whose in (
        (["P2,30,Oslo,no", "P2,31,Oslo,no"], "person"),
        (["P99,30,Oslo,no"], "person"),
    ):
        persons([lines_of([])[0], *rows, *extra], n_rows=KEPT + ("P99" in extra[0]))
        assert main(["check", "mine"]) == 0
        output = capsys.readouterr().out
        assert f"the class 'no' has 1 {whose}, and privcurve compare" in output
        assert "ready: privcurve release mine" in output


def test_a_person_named_3_is_the_person_named_3_0(persons):
    # 3 and 3.0 were once two persons, so twice as many records were kept.
    names = [f"{k % 30}{'.0' if k % 2 else ''}" for k in range(30)] + [f"{k}.0" for k in range(30)]
    persons(lines_of(names), n_rows=30, unit={**UNIT, "at_most": 1})
    assert np.bincount(datasets.load("mine").persons).tolist() == [1] * 30


# Statements ------------------------------------------------------------------------


OF_RECORDS = PrivacyStatement(
    "a learner", 0.1, 1e-7, REPLACE_ONE, "proved", "basic", (), status="proved"
)


def test_a_statement_speaks_of_persons_and_is_read_again():
    of_persons = OF_RECORDS.of_persons(3)
    assert of_persons.epsilon == 0.3
    assert of_persons.delta == pytest.approx(1e-7 * (1 + np.exp(0.1) + np.exp(0.2)))
    for text in (
        "single person, of whom at most 3 records train the model",
        "had all records of any one person been replaced by as many others",
        "within a factor of 1.35",
        "how many records each person has, up to 3",
        "Each single record has epsilon = 0.1 and delta = 1e-07",
        "each name is a person",
    ):
        assert text in str(of_persons), text
    assert PrivacyStatement.from_json(of_persons.to_json()) == of_persons
    # A statement about records lacks this key, so files of earlier versions stay equal.
    assert "at_most" not in json.loads(OF_RECORDS.to_json())
    assert PrivacyStatement.from_json(OF_RECORDS.to_json()) == OF_RECORDS
    with pytest.raises(ValueError, match="at_most must be ≥ 1; got 0"):
        replace(OF_RECORDS, at_most=0)


def test_each_relation_says_what_is_done_to_a_persons_records():
    added = replace(OF_RECORDS, neighbours=ADD_REMOVE).of_persons(2)
    assert "all records of any one person been added or left out" in str(added)
    assert "how many records each person has" not in str(added)
    private = replace(OF_RECORDS, neighbours=PRIVATE_COLUMNS, public_columns=("age",))
    assert "given other values in their private columns" in str(private.of_persons(2))
    assert "each record's public column age" in str(private.of_persons(2))


# Releases --------------------------------------------------------------------------


def test_a_release_is_of_persons_everywhere(persons):
    released = release(release_request(epsilon=1.0))
    assert released.learner.privacy_.epsilon == 0.5
    statement = released.statement
    assert (statement.epsilon, statement.at_most) == (1.0, 2)
    assert statement.epsilon_spent == pytest.approx(1.0)
    assert models.load(released.path(MODEL)).statement == statement
    text = html.unescape(released.path(PAGE).read_text())
    for message in (
        name_pages(str(statement)),
        "persons: all records of any one who are replaced by as many others",
        f"all {KEPT} training records, at most 2 of each who; their number is public",
        "Together, for replace-one neighbours that differ in all records of one who: epsilon = 1",
        "epsilon = 2 (replace-one neighbours that differ in all records of one who)",
    ):
        assert message in text, message
    (line,) = budget_ledger().releases()
    assert line.price == Price(1.0, 0.0, REPLACE_ONE, "who")
    assert line.facts["at_most"] == 2
    release(release_request(epsilon=1.0))
    with pytest.raises(LedgerError, match="would cost epsilon = 1, but epsilon = 2"):
        release(release_request(epsilon=1.0))


def test_delta_of_a_release_is_of_persons(persons):
    persons(budget={"epsilon": 5, "delta": 1e-4})
    released = release(release_request(learner="noisy_bayes", epsilon=1.0, delta=1e-5))
    assert released.statement.delta == pytest.approx(1e-5)
    assert "may show all records of each who with that" in html.unescape(
        released.path(PAGE).read_text()
    )
    assert released.learner.privacy_.delta == pytest.approx(1e-5 / (1 + np.exp(0.5)))


def test_a_hold_out_has_noise_for_all_of_a_persons_records(persons, monkeypatch):
    calls, own = [], holdout.query
    monkeypatch.setattr(holdout, "query", lambda request: calls.append(own(request)) or calls[-1])
    released = release(release_request(epsilon=1.0, holdout=0.4))
    assert released.price.epsilon == 1.0
    # Two records of a person, each of which changes the counts by 2.
    assert calls[0].scale == 2 * 2 * PARTS
    text = html.unescape(released.path(PAGE).read_text())
    assert "Margins are wider in truth where the records of each who, up to 2, are alike" in text
    assert "two add up" not in text


def test_how_many_records_a_person_has_moves_no_records_of_others(persons):
    persons(records={"first": 20})
    with pytest.raises(ReleaseError, match="one who with many records push other records out"):
        release(release_request())
    assert not budget_ledger().path.exists()


def test_releases_of_persons_and_of_records_do_not_add_up(persons):
    persons(budget=None)
    release(release_request())
    persons(unit=None, n_rows=len(PERSONS), budget=None)
    with pytest.raises(
        LedgerError, match=r"protect single records, but .* protect all records of one who"
    ):
        release(release_request())


def test_a_variant_that_keeps_more_shares_the_budget_of_persons(persons):
    release(release_request(epsilon=1.5))
    more = {
        "title": "With more records of each",
        "based_on": "mine",
        "unit": {**UNIT, "at_most": 4},
        "n_rows": len(PERSONS),
    }
    Path("resources/datasets/more.yaml").write_text(yaml.safe_dump(more))
    assert release(release_request(dataset="more", epsilon=0.5)).statement.at_most == 4
    with pytest.raises(LedgerError, match="epsilon = 2 of the budget"):
        release(release_request(dataset="more", epsilon=0.5))


def test_a_budget_for_records_allows_no_release_for_persons(persons):
    persons(unit=None, n_rows=len(PERSONS))
    content = {"title": "t", "based_on": "mine", "unit": UNIT, "n_rows": KEPT}
    Path("resources/datasets/of-persons.yaml").write_text(yaml.safe_dump(content))
    assert len(datasets.load("of-persons").y) == KEPT
    with pytest.raises(LedgerError, match="protect all records of one who, but the budget"):
        release(release_request(dataset="of-persons"))


def test_for_add_remove_neighbours_the_card_says_persons(persons):
    options = {"learner": "privgam", "neighbours": ADD_REMOVE, "parameters": {"n_estimate": 50}}
    released = release(release_request(epsilon=0.5, **options))
    text = html.unescape(released.path(PAGE).read_text())
    assert "all records of any one who are added or left out; the number of persons" in text
    assert "training records, at most 2 of each who; their number is not public" in text
    # For replace-one neighbours ε is double: one person removed, another added.
    assert [(one.neighbours, one.epsilon) for one in released.totals] == [
        (REPLACE_ONE, 1.0),
        (ADD_REMOVE, 0.5),
    ]


def test_a_private_choice_is_of_persons(persons):
    released = release(release_request(learner=CHOOSE, parameters={"expected_runs": 2.0}))
    assert released.statement.epsilon == 1.0
    assert released.learner.privacy_.epsilon == pytest.approx(0.5)
    result = choice(released.request, datasets.describe("mine")).lines()[0]
    assert "Noisy majority (ε = 0.29 of one record)" in result


# Studies ---------------------------------------------------------------------------


def study_of(**changes):
    learners = {"bayes": {"learner": "noisy_bayes"}, "tree": {"learner": "gradient_boosting"}}
    return small_study.study_with(
        **{"learners": learners, "datasets": ["mine"], "epsilons": [1.0], **changes}
    )


def notes(one):
    return list(study.notes(one, {"mine": datasets.describe("mine")}, "s.yaml"))


@pytest.mark.parametrize("fold", ["1/3", "3/3", "1@0.3", "2@0.1"])
def test_all_records_of_a_person_train_or_score(persons, fold):
    data = datasets.load("mine")
    train, scored = Splitter(data, 5).rows(Split(fold, 0))
    assert sorted([*train, *scored]) == list(range(KEPT))
    assert not set(data.persons[train]) & set(data.persons[scored])
    share = float(fold[2:]) if "@" in fold else 1 / 3
    assert len(set(data.persons[scored])) == pytest.approx(share * N_PERSONS, abs=1)


def test_each_fold_has_its_share_of_persons_with_the_rarest_label(persons):
    # One record in seven has a label that no person has alone.
    own = [f"P{k // 7}" for k in range(84)]
    lines = [f"{who},{k % 90},Oslo,{'no' if k % 7 == 6 else 'yes'}" for k, who in enumerate(own)]
    persons(["who,age,town,sick", *lines], n_rows=84, unit={**UNIT, "at_most": 7})
    data = datasets.load("mine")
    for k in range(1, 5):
        _, scored = Splitter(data, 5).rows(Split(f"{k}/4", 0))
        assert (data.y[scored] < 0).sum() == 3


def test_a_study_has_the_epsilon_of_persons(persons, tmp_path):
    one = study_of()
    (result,) = notes(one)
    assert result == (
        "s.yaml: mine: ε and δ protect persons: at most 2 records of each who train, and all of "
        "a person's records are in the same part"
    )
    data = datasets.load("mine")
    readiness.check(one, data)
    method, free = one.methods.values()
    (row, *_) = Trainer(data, method, 1, tmp_path).run([(method.points[0], Split("1/3", 0))])
    assert (row["status"], row["epsilon"]) == ("ok", 1.0)
    assert row["epsilon_spent"] == pytest.approx(1.0)
    (model,) = train_afresh(data, method, method.points[0], 1, 1)
    statement = model.learner.privacy_
    assert (statement.epsilon, statement.at_most) == (1.0, 2)
    assert statement.ledger[0].epsilon == pytest.approx(0.5)
    assert "single person, of whom at most 2 records" in str(statement)
    (without,) = train_afresh(data, free, free.points[0], 1, 1)
    assert not without.learner.privacy_.private


def test_a_share_of_delta_that_is_no_number_is_refused_before_training(persons):
    persons(unit={**UNIT, "at_most": 4}, n_rows=len(PERSONS))
    one = study_of(learners={"bayes": {"learner": "noisy_bayes", "deltas": [1e-300]}})
    with pytest.raises(
        study.StudyError, match=r"epsilon = 1 protects persons .* record, noisy_bayes: delta"
    ):
        notes(one)


def test_encoded_data_store_persons_and_their_largest_number_of_records(persons, tmp_path):
    persons(unit={**UNIT, "at_most": 4}, n_rows=len(PERSONS))
    data = datasets.load("mine")
    datasets.save(data, tmp_path / "coded")
    again = datasets.read(tmp_path / "coded")
    assert (again.checksum, again.at_most) == (data.checksum, 4)
    assert again.persons.tolist() == [int(who[1:]) for who in PERSONS]
    # The ids of runs change, because each record has a smaller share of ε.
    persons(unit={**UNIT, "at_most": 5}, n_rows=len(PERSONS))
    assert datasets.load("mine").checksum != data.checksum
    # Without a unit the codes stay.
    persons(unit=None, n_rows=len(PERSONS))
    plain = datasets.load("mine")
    assert plain.persons is None
    assert np.array_equal(plain.X, data.X)


def test_persons_who_train_test_no_model(persons):
    header, *rows = lines_of(PERSONS)
    persons(files=write_test_file([header, *rows[::-1]]), n_test=KEPT)
    with pytest.raises(ValueError, match="in the test part; 30 persons have"):
        readiness.check(study_of(), datasets.load("mine"))
    write_test_file([header, *(f"Q{row[1:]}" for row in rows)])
    readiness.check(study_of(), datasets.load("mine"))


@pytest.mark.parametrize("balance", [None, "random"])
def test_raw_columns_match_the_records_that_are_kept(persons, balance):
    if balance:
        n_sick = sum(line.endswith("no") for line in lines_of(PERSONS))
        records = {"balance": balance, "seed": 3}
        persons(unit=None, records=records, n_rows=2 * n_sick)
    data = datasets.load("mine")
    raw = raw_columns(data)
    assert len(raw.X) == len(data.y)
    age = ColumnCoder(data.domain, data.domain.columns[0])
    assert age.code(raw.X[:, 0]).codes.tolist() == data.X[:, 0].tolist()


# Python and `privcurve check` ---------------------------------------------------------


def in_python():
    frame = pd.read_csv("data/mine.csv")
    return Schema.from_description("resources/datasets/mine.yaml"), frame


def test_a_fit_in_python_has_the_epsilon_of_persons(persons):
    schema, frame = in_python()
    model = PrivGAMClassifier(epsilon=1.0, schema=schema).fit(frame, frame.sick)
    statement = model.privacy_
    assert (statement.epsilon, statement.at_most) == (1.0, 2)
    assert statement.epsilon_spent == pytest.approx(1.0)
    assert "of persons of at most 2 rows" in str(model)
    # Parameters keep their values; a fit divides them once.
    assert (model.epsilon, clone(model).epsilon) == (1.0, 1.0)
    assert clone(model).fit(frame, frame.sick).privacy_.epsilon == 1.0
    models.save("model.json", model)
    assert models.load("model.json").statement == statement
    # Persons of new rows do not count.
    assert len(model.predict_proba(frame[["town", "age"]])) == len(frame)
    with pytest.raises(ValueError, match="counts must be left out if the schema has a unit"):
        model.fit(frame, frame.sick, counts=np.ones(len(frame), dtype=int))


def test_rows_that_train_match_a_release(persons):
    schema, frame = in_python()
    data = datasets.load("mine")
    assert np.array_equal(schema.encode(frame)[schema.training_rows(frame)], data.X)
    model = registry.estimator_class("gradient_boosting")(schema=schema).fit(frame, frame.sick)
    other = registry.make("gradient_boosting", data.domain).fit(data.X, data.y)
    assert np.array_equal(
        model.decision_function(frame), other.decision_function(schema.encode(frame))
    )
    assert not model.privacy_.private


def test_a_unit_of_a_schema_is_printed_drafted_and_read_again(persons):
    columns = {"age": (0, 120), "town": ["Oslo", "?"]}
    schema = Schema(columns, ["no", "yes"], unit={"column": "who", "at_most": 2})
    assert schema.at_most == 2
    Path("schema.yaml").write_text(schema.to_yaml())
    assert Schema.from_description("schema.yaml") == schema
    assert Schema(columns, ["no", "yes"]).at_most is None
    frame = pd.read_csv("data/mine.csv").rename(columns={"who": "who_id"})
    drafted = Schema.draft(frame, "sick")
    assert "unit" in drafted.undecided
    drafted["unit"] = {"column": "who_id", "at_most": 3}
    assert "unit" not in drafted.undecided
    drafted["unit"] = "none"
    assert "unit" not in drafted.undecided
    model = PrivGAMClassifier(schema=schema)
    with pytest.raises(
        DatasetError,
        match="must have the column 'who', the schema's unit, which identifies persons",
    ):
        model.fit(frame, frame.sick)
    with pytest.raises(DatasetError, match="at_most"):
        Schema(columns, ["no", "yes"], unit={"column": "who"})
    frame.loc[3, "who"] = None
    with pytest.raises(
        DatasetError, match="the unit 'who' is missing, so the record belongs to no person"
    ):
        model.fit(frame, frame.sick)


def test_check_counts_kept_records_and_names_remedies(persons, capsys):
    persons(n_rows=len(PERSONS))
    assert main(["check", "mine"]) == 1
    captured = capsys.readouterr()
    assert f"unit keeps {KEPT} of {len(PERSONS)} records" in captured.err
    # One run reports it together with other faults.
    persons(n_rows=len(PERSONS), label={"column": "sick", "positive": "y", "negative": "no"})
    assert main(["check", "mine"]) == 1
    output = capsys.readouterr().err
    assert "2 problems" in output
    assert f"unit keeps {KEPT} of {len(PERSONS)} records" in output
    persons([*lines_of(PERSONS), ",30,Oslo,y"], n_rows=len(PERSONS))
    assert main(["check", "mine"]) == 1
    output = capsys.readouterr().err
    assert "the label 'sick' has values" in output
    assert "the unit 'who' is missing" in output
