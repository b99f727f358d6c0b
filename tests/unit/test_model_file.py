"""The model file: its content, refusals, and that loading runs no code from it."""

import json
from copy import deepcopy

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import privcurve
from privcurve import Schema, models
from privcurve.datasets import Column, Domain, Label
from privcurve.datasets.coding.frames import encode_frame
from privcurve.datasets.coding.transformer import DomainEncoder
from privcurve.learners import (
    DPLogisticRegressionClassifier,
    LazyBBClassifier,
    NoisyBayesClassifier,
    PrivGAMClassifier,
    RandomTreesClassifier,
)
from privcurve.learners.registry import LEARNERS
from privcurve.models import text

TOWNS = (("Oslo", "Oslo"), ("Rome, north", "Rome"), ("other", "other"))
DOMAIN = Domain(
    (
        Column("age", "numeric", (0.0, 100.0), 10, missing_bin=True),
        Column("town", "categorical", categories=TOWNS),
        Column("smokes", "categorical", categories=(("0", "no"), ("1", "yes"))),
    ),
    Label("sick", "no", "yes"),
    unknown="other",
)
N_BINS = list(DOMAIN.n_bins)


def coded(n=80):
    rng = np.random.default_rng(1)
    X = rng.integers(0, N_BINS, size=(n, 3)).astype(np.uint8)
    return X, np.where(X[:, 0] > 4, 1, -1)


def fitted(kind=LazyBBClassifier, **parameters):
    X, y = coded()
    if kind is LazyBBClassifier:
        parameters = {"n_rounds": 4, **parameters}
    return kind(n_bins=N_BINS, classes=(-1, 1), random_state=0, **parameters).fit(X, y)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.json"
    models.save(path, fitted(), DOMAIN)
    return json.loads(path.read_text())


def load(tmp_path, content, seal=True):
    """Load a changed model file, with the checksum of the changed content."""
    path = tmp_path / "model.json"
    sealed = {**content, "sha256": text.seal_of(content)} if seal else content
    path.write_text(json.dumps(sealed))
    return models.load(path)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_privgam_of_an_earlier_version_is_refused(tmp_path, n_classes):
    """Its scores had another link function, whatever else the file holds."""
    path = tmp_path / "model.json"
    X, _ = coded()
    model = PrivGAMClassifier(epsilon=9, n_bins=N_BINS, random_state=0, classes=range(n_classes))
    label = Label.of("grade", [*map(str, range(n_classes))])
    domain = Domain(DOMAIN.columns, label, unknown="other")
    models.save(path, model.fit(X, X[:, 0].astype(int) % n_classes), domain)
    content = json.loads(path.read_text())
    assert content["made_with"]["learner"] == 8
    assert load(tmp_path, content).learner == "privgam"
    content["model"]["model"]["pairs"] = []
    content["parameters"] |= {"method": "cyclic", "bins": "rule"}
    for version in (1, 6, 7):
        content["made_with"]["learner"] = version
        with pytest.raises(models.ModelError, match=f"version {version} of privgam made it"):
            load(tmp_path, content)


def test_facts_about_a_model_are_kept(tmp_path):
    model, path = fitted(PrivGAMClassifier, epsilon=99.0, delta=1e-6), tmp_path / "deep/model.json"
    about = {"name": "patients", "n": 3, "columns": ["age"]}
    privcurve.save(path, model, DOMAIN, dataset=about, notes="for the ward")
    loaded = privcurve.load(path)
    assert (loaded.dataset, loaded.notes, loaded.domain) == (about, "for the ward", DOMAIN)
    assert loaded.statement == model.privacy_
    assert loaded.versions == {
        "privcurve": privcurve.__version__,
        "learner": LEARNERS["privgam"].version,
    }
    assert loaded.parameters["epsilon"] == 99.0
    assert loaded.classes.tolist() == [-1, 1]
    assert loaded.labels.tolist() == ["no", "yes"]
    assert "age" in loaded.describe()
    raw = json.loads(path.read_text())
    assert raw["statement"]["text"] == str(model.privacy_)
    assert (raw["epsilon"], raw["delta"], raw["calibration"]) == (99.0, 1e-6, "certified")
    frame = {"age": ["91", "?"], "town": ["Paris", "Oslo"], "smokes": [0, 1]}
    names = loaded.predict_frame(frame)
    positive = model.predict(encode_frame(DOMAIN, frame)) == 1
    assert names.tolist() == np.where(positive, "yes", "no").tolist()


def test_a_file_is_laid_out_for_people_and_sealed(tmp_path, content):
    model = fitted()
    models.save(tmp_path / "a.json", model, DOMAIN)
    written = (tmp_path / "a.json").read_text()
    assert written.startswith('{\n "format": "privcurve model",\n')
    assert '\n   {"bins": 10, "bounds": [0.0, 100.0]' in written
    # The checksum covers the content, not the layout.
    (tmp_path / "b.json").write_text(json.dumps(content, indent=4, sort_keys=True))
    assert models.load(tmp_path / "b.json").learner == "lazybb"
    # The statement may differ from the learner's.
    none = type(model.privacy_).not_private("lazybb")
    models.save(tmp_path / "a.json", model, DOMAIN, statement=none)
    assert json.loads((tmp_path / "a.json").read_text())["epsilon"] == "inf"
    loaded = models.load(tmp_path / "a.json")
    assert (loaded.statement.private, loaded.parameters["epsilon"]) == (False, 1.0)


def test_texts_of_an_earlier_statement_are_not_compared(tmp_path, content):
    older = deepcopy(content)
    older["statement"]["text"] = "The fit saw sealed records and could not look at them."
    assert str(load(tmp_path, older).statement) == content["statement"]["text"]


def of_labels(labels):
    X, y = coded()
    model = LazyBBClassifier(n_rounds=3, n_bins=N_BINS, random_state=0, classes=labels)
    return X, model.fit(X, np.array(labels)[(y > 0).astype(int)])


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1, 1)])
def test_classes_may_be_names_or_positions(tmp_path, labels):
    X, model = of_labels(labels)
    models.save(tmp_path / "model.json", model, DOMAIN)
    loaded = models.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert set(loaded.predict_frame({"age": [3], "town": ["x"], "smokes": [1]})) <= {"no", "yes"}


def test_more_classes_that_are_their_own_names_are_not_put_in_another_order(tmp_path):
    X, _ = coded()
    y = X[:, 0].astype(int) % 3
    numbers = Domain(DOMAIN.columns, Label.of("grade", ("2", "1", "0")), unknown="other")
    model = PrivGAMClassifier(epsilon=9, n_bins=N_BINS, random_state=0)
    with pytest.raises(models.ModelError, match=r"was fitted with the classes \[0, 1, 2\]"):
        models.save(tmp_path / "model.json", model.fit(X, y), numbers)
    for classes, labels in (((2, 1, 0), y), ((0, 1, 2), 2 - y)):
        models.save(
            tmp_path / "model.json", model.set_params(classes=classes).fit(X, labels), numbers
        )
        loaded = models.load(tmp_path / "model.json")
        assert np.mean(loaded.predict_names(X) == y.astype(str)) > 0.5


@pytest.mark.parametrize("names", [("1", "0"), ("True", "False")])
@pytest.mark.parametrize("labels", [(0, 1), (False, True)])
def test_classes_that_are_their_own_names_are_never_reversed(tmp_path, names, labels):
    turned = Domain(DOMAIN.columns, Label("sick", *names), unknown="other")
    with pytest.raises(models.ModelError, match="was fitted with the classes"):
        models.save(tmp_path / "model.json", of_labels(labels)[1], turned)


@pytest.mark.parametrize(
    ("names", "labels"),
    [(["1", "2"], [1.0, 2.0]), (["true", "false"], [True, False]), (["a ", " b"], ["a ", " b"])],
)
def test_classes_of_a_schema_have_the_type_of_the_labels_and_are_its_own(tmp_path, names, labels):
    model = LazyBBClassifier(schema=Schema({"age": (0, 9)}, label=names), random_state=0)
    model.fit({"age": range(8)}, np.array(labels * 4))
    models.save(tmp_path / "model.json", model)
    loaded = models.load(tmp_path / "model.json")
    assert loaded.classes.tolist() == model.classes_.tolist() == labels
    assert loaded.describe() == model.describe()


# Saving ------------------------------------------------------------------------------


class Heir(LazyBBClassifier):
    """A subclass that may override predictions."""


def refused_to_save():
    X, y = coded()
    pipeline = make_pipeline(DomainEncoder(DOMAIN), fitted())
    narrow = LazyBBClassifier(n_rounds=1, n_bins=[11, 3], classes=(-1, 1)).fit(X[:, :2], y)
    names = np.where(y > 0, "yes", "no")
    swapped = LazyBBClassifier(n_rounds=1, n_bins=N_BINS, classes=("yes", "no")).fit(X, names)
    bounded = LazyBBClassifier(n_rounds=1, n_bins=N_BINS, bounds=(0, 11), classes=(-1, 1))
    broken = fitted(DPLogisticRegressionClassifier)
    broken.coef_[0] = np.nan
    yield pipeline, DOMAIN, {}, "Pipeline can't be saved: only unmodified learners of privcurve"
    yield Heir(n_rounds=1, n_bins=N_BINS).fit(X, y), DOMAIN, {}, "Heir can't be saved"
    yield LazyBBClassifier(), DOMAIN, {}, "lazybb is not fitted"
    yield narrow, DOMAIN, {}, r"numbers of bins of .* fit, \[11, 3\]; it has \[11, 3, 2\]"
    yield swapped, DOMAIN, {}, r"the classes \['yes', 'no'\], but the domain's are \['no', 'yes'\]"
    yield bounded.fit(X, y), DOMAIN, {}, "bounds of 'age' must equal the bounds="
    yield broken, DOMAIN, {}, "coef must hold only finite numbers"
    yield fitted(), DOMAIN, {"notes": {1, 2}}, "notes must be a text or plain JSON"
    yield fitted(), DOMAIN, {"dataset": float("nan")}, "dataset must be a text or plain JSON"


@pytest.mark.parametrize(("estimator", "domain", "expected", "message"), list(refused_to_save()))
def test_models_that_cannot_be_saved(tmp_path, estimator, domain, expected, message):
    with pytest.raises(models.ModelError, match=message):
        models.save(tmp_path / "model.json", estimator, domain, **expected)
    assert not list(tmp_path.iterdir())


def test_bounds_of_a_learner_may_equal_the_domains(tmp_path):
    domain = Domain(
        tuple(Column(f"x{j}", "numeric", (0.0, 11.0), k) for j, k in enumerate((11, 3))),
        DOMAIN.label,
    )
    X, y = coded()
    model = LazyBBClassifier(n_rounds=3, n_bins=[11, 3], bounds=(0, [11, 11]), classes=(-1, 1))
    model.fit(X[:, :2], y)
    models.save(tmp_path / "model.json", model, domain)
    loaded = models.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(encode_frame(domain, X[:, :2])), model.predict(X[:, :2]))


# Loading -----------------------------------------------------------------------------


def put(*place_and_value):
    *place, key, value = place_and_value

    def change(content):
        for step in place:
            content = content[step]
        content[key] = value

    return change


def drop(*place):
    def change(content):
        for step in place[:-1]:
            content = content[step]
        del content[place[-1]]

    return change


CHANGES = [
    (put("format_version", 2), "has the format 'privcurve model' 2, but this privcurve"),
    (put("format", "other"), "has the format 'other' 1"),
    *[
        (drop(key), f"missing key '{key}'")
        for key in ("learner", "epsilon", "domain", "model", "statement", "classes", "parameters")
    ],
    (put("more", 1), "unknown key 'more'"),
    (put("learner", "os:system"), "unknown learner 'os:system'"),
    (put("learner", "topdown"), "topdown"),
    (put("epsilon", 2.0), "not about its epsilon"),
    (put("calibration", "published"), "not about its epsilon, delta and calibration"),
    (put("parameters", "n_rounds", "4"), "n_rounds"),
    (put("parameters", "shell", "rm"), "no parameter 'shell'"),
    (put("parameters", "weak_learner", "topdown"), "voters are not its weak_learner"),
    (put("classes", [-1, 1, 2]), "differ from its domain's"),
    (put("classes", ["yes", "no"]), r"the classes \['yes', 'no'\], but the domain's are"),
    (put("domain", "columns", 0, "bounds", [5, 5]), "bounds of 'age' must be"),
    (put("domain", "columns", 0, "bins", 9), "of other columns|not those of"),
    (put("domain", "columns", 0, "dates", "%H"), "format of 'age', '%H', must contain year"),
    # One edge too many for the bins.
    (put("domain", "columns", 0, "merged", [*range(0, 96, 8)]), "merged bins of the column 'age'"),
    (put("domain", "columns", 0, "bins", 65536), "has 65,537 codes, more than 65,536"),
    (
        lambda content: content["domain"]["columns"][0].update(dates="iso", bounds=[-1e9, 1e9]),
        "bounds of 'age' days=-1000000000",
    ),
    (put("domain", "columns", 1, "categories", [["a", "a"], ["a", "b"], ["c", "c"]]), "twice"),
    (put("domain", "columns", 1, "patterns", True), "are groups of their own"),
    (put("domain", "label", "positive", "no"), "its classes have the same name"),
    (put("domain", "label", "type", "date"), "must be of the type date; got no, yes"),
    (put("domain", "label", "type", "list"), "'list' is not one of"),
    (drop("model", "ties"), "its model has no 'ties'"),
    (put("model", "ties", "mine"), "ties = 'mine' is unknown"),
    (put("model", "ties", 3), "ties must be a str; got int 3"),
    (put("model", "weights", 3), "lazybb releases no 'weights'"),
    (put("model", "start", None), "start does not belong to its parameters"),
    (put("model", "model", "literals", [10**6]), "1-rules of other columns"),
    (put("model", "model", "literals", [-1]), "1-rules of other columns"),
    (put("model", "model", "literals", [0.5]), r"model.literals\[0\] must be a int; got float 0.5"),
    (put("model", "model", "literals", {}), "model.literals|is an object"),
    (put("model", "model", "constant", 7), "votes differ from its 1-rules"),
    (put("statement", "ledger", [{}]), "statement.ledger.0: missing key 'mechanism'"),
    (put("statement", "composition", "trust"), "trust"),
    (put("statement", "status", "fine"), "status"),
    *[(put("statement", key, []), rf"statement\.{key}") for key in ("caveat", "public_label")],
    *[(put("statement", key, [[]]), rf"statement\.{key}\.0") for key in ("exclusions", "ledger")],
    *[(put("statement", "ledger", 0, k, []), rf"ledger\.0\.{k}") for k in ("calls", "mechanism")],
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_an_invalid_model_is_refused_although_its_checksum_fits(tmp_path, content, change, message):
    changed = deepcopy(content)
    change(changed)
    with pytest.raises(models.ModelError, match=message) as refused:
        load(tmp_path, changed)
    assert str(tmp_path / "model.json") in str(refused.value)


def test_every_changed_byte_is_noticed(tmp_path, content):
    changed = deepcopy(content)
    changed["notes"] = "harmless"
    with pytest.raises(models.ModelError, match="was changed after it was written"):
        load(tmp_path, changed, seal=False)
    load(tmp_path, content, seal=False)
    written = (tmp_path / "model.json").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(written), size=60):
        # A changed byte changes the content, unless it only changes the layout.
        other = bytes([written[place] ^ 1])
        (tmp_path / "model.json").write_bytes(written[:place] + other + written[place + 1 :])
        try:
            models.load(tmp_path / "model.json")
        except models.ModelError:
            continue
        pytest.fail(f"{written[place - 5 : place + 5]!r} may have {other!r} in the middle")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "not a model's file, or only a part of one"),
        ("[1, 2]", "it has no sha256"),
        ('{"a": NaN, "sha256": ""}', "NaN is not a number of JSON"),
        ('{"a": 1e999, "sha256": ""}', "1e999 is not a number of JSON"),
        ('{"a": 1, "a": 1, "sha256": ""}', "a key occurs twice"),
        ('{"a": "\\ud800", "sha256": ""}', "surrogates not allowed"),
        ("[" * 100_000, "not a model's file"),
        ('{"a": ' + "9" * 5000 + "}", "not a model's file"),
        (b"\x80\x04\x95", "can't be read"),
        (None, "can't be read: No such file"),
    ],
)
def test_invalid_model_files(tmp_path, written, message):
    path = tmp_path / "model.json"
    if written is not None:
        path.write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(models.ModelError, match=message):
        models.load(path)


KERNELS = [
    ({"weak_learner": "topdown"}, LazyBBClassifier, ("model", "forest", "splits"), 10**9),
    ({"weak_learner": "topdown"}, LazyBBClassifier, ("model", "forest", "children"), 10**9),
    ({"weak_learner": "topdown"}, LazyBBClassifier, ("model", "forest", "children"), -7),
    ({"weak_learner": "topdown"}, LazyBBClassifier, ("model", "forest", "labels"), 100),
    ({"weak_learner": "topdown"}, LazyBBClassifier, ("model", "forest", "labels"), 1000),
    ({}, RandomTreesClassifier, ("model", "trees", "columns"), 3),
    ({}, RandomTreesClassifier, ("model", "trees", "columns"), -1),
    ({}, NoisyBayesClassifier, ("columns",), 3),
]


@pytest.mark.parametrize(("parameters", "kind", "place", "number"), KERNELS)
def test_no_number_makes_a_kernel_read_beyond_its_arrays(tmp_path, parameters, kind, place, number):
    models.save(tmp_path / "model.json", fitted(kind, **parameters), DOMAIN)
    content = json.loads((tmp_path / "model.json").read_text())
    loaded = content["model"]
    for step in place:
        loaded = loaded[step]
    (loaded[0] if isinstance(loaded[0], list) else loaded)[0] = number
    with pytest.raises(models.ModelError):
        load(tmp_path, content)


@pytest.mark.parametrize(
    "kind",
    [PrivGAMClassifier, RandomTreesClassifier, DPLogisticRegressionClassifier],
)
def test_arrays_of_another_shape_are_refused(tmp_path, kind):
    models.save(tmp_path / "model.json", fitted(kind), DOMAIN)
    content = json.loads((tmp_path / "model.json").read_text())

    def arrays(value):
        if isinstance(value, dict):
            for item in value.values():
                yield from arrays(item)
        elif isinstance(value, list) and value:
            yield value
            if isinstance(value[0], list):
                yield value[0]

    n = len(list(arrays(content["model"])))
    assert n
    for k in range(n):
        changed = deepcopy(content)
        list(arrays(changed["model"]))[k].pop()
        with pytest.raises(models.ModelError):
            load(tmp_path, changed)


def test_a_column_may_have_as_many_codes_as_there_can_be(tmp_path):
    label = Label("sick", "no", "yes")
    domain = Domain((Column("x", "numeric", (0.0, 1.0), 2**16),), label)
    X, y = encode_frame(domain, np.array([[0.0], [0.4], [0.9], [1.0]])), np.array([-1, -1, 1, 1])
    assert X.ravel().tolist() == [0, 26214, 58982, 65535]
    model = LazyBBClassifier(n_rounds=1, n_bins=domain.n_bins, classes=(-1, 1), random_state=0)
    models.save(tmp_path / "model.json", model.fit(X, y), domain)
    loaded = models.load(tmp_path / "model.json")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="must have at most 65,536 codes; got 65,537"):
        encode_frame(Domain((Column("x", "numeric", (0.0, 1.0), 2**16 + 1),), label), {"x": [0.5]})


@pytest.mark.slow
def test_lists_in_lists_are_refused_at_any_depth(tmp_path):
    # There is a depth at which JSON can be read but not written.
    path = tmp_path / "model.json"
    for depth in range(700, 1010):
        path.write_text(f'{{"sha256": "", "a": {"[" * depth}{"]" * depth}}}')
        with pytest.raises(models.ModelError):
            models.load(path)


def test_learners_of_a_user_are_not_run(tmp_path, monkeypatch, content):
    (tmp_path / "learners").mkdir()
    (tmp_path / "learners/mine.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    changed = {**content, "learner": "mine"}
    with pytest.raises(models.ModelError, match="unknown learner 'mine'"):
        load(tmp_path, changed)
