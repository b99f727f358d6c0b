"""Learners of a user: one file each in the folder of the run."""

import dataclasses
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from announced_vote import with_announced_sensitivity

import privcurve
from privcurve.audit.__main__ import main as audit
from privcurve.audit.contract import Case, check
from privcurve.audit.contract_cases import cases_of
from privcurve.experiments import study
from privcurve.learners import own, registry
from privcurve.models.errors import ModelError
from privcurve.own import checksum, files_of, module
from privcurve.privacy.account import DoorError
from privcurve.privacy.ledger import AUTHORS_WORD, CLAIMED, DERIVED
from privcurve.privacy.sealed import SealedError
from privcurve.releases.errors import ReleaseError
from privcurve.releases.request import Request, make_estimator

TUTORIAL = Path(__file__).parents[2] / "docs/own_method.md"
PAPER = Path(__file__).parents[1] / "workflow/paper"
STUDY = {"title": "t", "datasets": ["toy-line"], "epsilons": [1], "folds": 3, "repeats": 2}


def forget():
    """Forget imported modules, so that the next import reads the changed file."""
    module.cache_clear()
    for name in [name for name in sys.modules if name.startswith(f"{own.PACKAGE}.")]:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learners").mkdir()
    return tmp_path / "learners"


def test_a_file_is_a_learner_like_the_others(folder):
    shutil.copy(PAPER / "noisy_label.py", folder)
    assert registry.names()[-1] == "noisy_label"
    entry = registry.entry("noisy_label")
    assert entry.private
    assert dataclasses.replace(entry, seconds=lambda *size: 0).cost({}, 1, 1) > 0
    registry.entry("noisy_label").check_parameters({"caution": 0.5})
    with pytest.raises(ValueError, match=r"caution must be .*; got 2"):
        registry.entry("noisy_label").check_parameters({"caution": 2})
    made = registry.estimator_class("noisy_label")(epsilon=1.0, n_bins=2, random_state=1)
    X = np.array([[0], [1], [1]], dtype=np.uint8)
    assert set(made.fit(X, [-1, 1, 1]).predict(X)) <= {-1, 1}
    assert made.privacy_.epsilon_spent == pytest.approx(1.0)
    assert made.privacy_.status == CLAIMED
    assert made.privacy_.caveat == f"{AUTHORS_WORD}; {own.NOT_TRIED}"
    assert list(own.claims()) == ["noisy_label"]
    with pytest.raises(
        ModelError, match=r"NoisyLabelClassifier can't be saved.*pickle a learner of your own"
    ):
        privcurve.save("model.json", made, None)


def test_another_process_finds_its_class(folder, tmp_path):
    """Workers of joblib unpickle a model before anything imports the registry."""
    shutil.copy(PAPER / "noisy_label.py", folder)
    made = registry.estimator_class("noisy_label")(epsilon=1.0, n_bins=2)
    (tmp_path / "made.pickle").write_bytes(pickle.dumps(made))
    code = "import pickle; print(pickle.load(open('made.pickle', 'rb')).privacy_)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NotFittedError: This NoisyLabel" in run.stderr


BAGGING = Path(__file__).parents[2] / "papers/thesis/learners/dp_bagging"


@pytest.fixture(params=["learners", "papers/fifth/learners"])
def bagging(request, folder, tmp_path):
    """Copy a paper's learner into a folder of the user, with another name."""
    mine = tmp_path / request.param / "my_bagging"
    shutil.copytree(BAGGING, mine, ignore=shutil.ignore_patterns("__pycache__"))
    for file in mine.glob("*.py"):
        file.write_text(file.read_text().replace('"dp_bagging"', '"my_bagging"'))
    yield mine
    forget()


@pytest.mark.skipif(not BAGGING.is_dir(), reason="that paper is not there")
def test_a_folder_is_a_learner_and_a_fifth_paper_a_copied_folder(bagging, tmp_path):
    assert registry.names()[-1] == "my_bagging"
    kind = registry.estimator_class("my_bagging")
    made = kind(
        epsilon=1.0, n_bins=2, random_state=1, n_teachers=2, n_partitions=2, n_queries=2
    ).fit(np.array([[0], [1], [1], [0]], dtype=np.uint8), [-1, 1, 1, -1])
    # The `proof` in the entry of a user's learner does not count.
    assert made.privacy_.status == CLAIMED
    assert own.path_of("my_bagging").resolve() == bagging / "__init__.py"
    settings = [case.parameters for case in cases_of("my_bagging")]
    assert {"n_teachers": 3, "n_partitions": 2, "n_queries": 3} in settings
    assert {claim.learner for claim in own.claims()["my_bagging"]} == {"my_bagging"}
    (tmp_path / "made.pickle").write_bytes(pickle.dumps(made))
    code = "import pickle; print(pickle.load(open('made.pickle', 'rb')).n_features_in_)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"
    first = registry.version("my_bagging")
    kernel = bagging / "kernel.py"
    kernel.write_text(kernel.read_text() + "\n# Changed.\n")
    forget()
    own._compute_version.cache_clear()
    assert registry.version("my_bagging") != first


def test_two_learners_of_one_name_are_named(folder, tmp_path):
    shutil.copy(PAPER / "noisy_label.py", folder)
    other = tmp_path / "papers/fifth/learners"
    other.mkdir(parents=True)
    shutil.copy(PAPER / "noisy_label.py", other)
    with pytest.raises(
        ValueError, match=r"noisy_label.py and .*noisy_label.py must not have the same name"
    ):
        registry.names()


def test_entries_are_light():
    """Every plan reads all entries."""
    code = (
        "import sys; from privcurve.learners import registry; "
        "print(len(registry.names()), 'numba' in sys.modules, 'pandas' in sys.modules)"
    )
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output == f"{len(registry.names())} False False\n"


def test_in_another_folder_the_learner_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="unknown learner 'noisy_label'"):
        registry.entry("noisy_label")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "mine.py can't be run: ZeroDivisionError"),
        ("import nothing_like_that", "mine.py can't be run: ModuleNotFoundError"),
        ("x = 1", "mine.py must have an ENTRY, a LearnerEntry with name='mine'"),
    ],
)
def test_a_file_without_a_learner_is_named(folder, text, message):
    (folder / "mine.py").write_text(text)
    with pytest.raises(ValueError, match=message):
        registry.entry("mine")
    with pytest.raises(ValueError, match="did you mean 'mine'"):
        registry.entry("mime")


FIELD, NEEDS = "caution: float = 1.0", "needs a field caution with the default 1.0, as its"


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        # As "pate" it would be held to PATE's entry, and would see open records.
        ('_learner = "noisy_label"', '_learner = "pate"', "needs _learner = 'noisy_label'"),
        (FIELD, "caution: float = 0.5", NEEDS),
        (FIELD, "courage: float = 1.0", NEEDS),
        ("low=0", "low=None", r"noisy_label.py can't be run: .*low must be a .*; got None"),
    ],
)
def test_a_class_that_does_not_fit_its_entry_is_refused(folder, right, wrong, message):
    text = (PAPER / "noisy_label.py").read_text()
    assert right in text
    (folder / "noisy_label.py").write_text(text.replace(right, wrong))
    forget()
    with pytest.raises(ValueError, match=message):
        registry.entry("noisy_label")


def test_a_learner_that_keeps_a_count_outside_its_fit_is_refused(folder):
    count = (
        "\n    def _fit_rows(self, X, y, counts):\n        self.n_positive_ = int((y > 0).sum())\n"
        "        return super()._fit_rows(X, y, counts)\n"
    )
    (folder / "noisy_label.py").write_text((PAPER / "noisy_label.py").read_text() + count)
    forget()
    result = (
        r"noisy_label.py can't be run: TypeError: NoisyLabelClassifier must not replace _fit_rows"
    )
    with pytest.raises(ValueError, match=result):
        registry.entry("noisy_label")


def test_a_changed_file_has_other_runs(folder):
    mine = folder / "noisy_label.py"
    text = (PAPER / "noisy_label.py").read_text()
    ids = {}
    for key, content in {"first": text, "changed": text + "\n", "back": text}.items():
        mine.write_text(content)
        forget()
        own._compute_version.cache_clear()
        raw = {**STUDY, "learners": {"mine": {"learner": "noisy_label"}}}
        ids[key] = study.from_mapping(raw, "t", "t.yaml").methods["mine"].version
    assert ids["first"] == ids["back"] != ids["changed"]


def test_imports_of_a_file_are_part_of_it(folder):
    mine, helper, far = (folder / f"{name}.py" for name in ("noisy_label", "_near", "_far"))
    mine.write_text("from ._near import one\n" + (PAPER / "noisy_label.py").read_text())
    helper.write_text("from . import _far\none = _far.one\n")
    seen = []
    for content in ("one = 1\n", "one = 2\n", "one = 1\n"):
        far.write_text(content)
        seen.append(checksum(mine))
    assert files_of(mine) == [mine, helper, far]
    assert seen[0] == seen[2] != seen[1]
    (folder / "_other.py").write_text("one = 3\n")  # no module imports this file
    assert checksum(mine) == seen[0]
    forget()
    own._compute_version.cache_clear()
    assert own.version("noisy_label") % 2**32 == seen[0]


def test_imports_by_full_name_are_part_of_a_file(folder):
    mine, package = folder / "noisy_label.py", folder / "_more" / "core.py"
    package.parent.mkdir()
    mine.write_text("from learners._near import one\nfrom ._more.core import two\nimport numpy\n")
    (folder / "_near.py").write_text("one = 1\n")
    package.write_text("two = 2\n")
    assert files_of(mine.resolve()) == [
        mine.resolve(), (folder / "_near.py").resolve(), package.resolve()
    ]  # fmt: skip


def test_the_name_of_a_shipped_learner_is_refused(folder):
    shutil.copy(PAPER / "noisy_label.py", folder / "lazybb.py")
    with pytest.raises(ValueError, match=r"learners/lazybb.py: its name must differ from"):
        registry.names()


def test_a_name_that_no_study_can_write_is_refused(folder):
    (folder / "mean-vote.py").touch()
    with pytest.raises(
        ValueError, match=r"learners/mean-vote.py: a learner's name must have only letters"
    ):
        own.names()


def test_a_file_that_begins_with_an_underscore_is_no_learner(folder):
    for name in ("__init__.py", "_common.py", ".#mine.py"):
        (folder / name).touch()
    assert own.names() == []


@pytest.fixture
def mean_vote(folder):
    """Write the learner of the tutorial; return its path."""
    forget()
    file, *_ = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert len(file.splitlines()) <= 42
    (folder / "mean_vote.py").write_text(file)
    yield folder / "mean_vote.py"
    forget()


def test_the_method_of_the_tutorial_learns_and_has_a_ledger(mean_vote):
    rng = np.random.default_rng(3)
    X = rng.integers(5, size=(4_000, 3))
    y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    model = registry.estimator_class("mean_vote")(
        epsilon=1.0, n_bins=5, classes=("no", "yes"), random_state=1
    )
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.n_features_used_ == 3
    assert model.privacy_.epsilon_spent == pytest.approx(1.0)
    (call,) = model.privacy_.ledger
    assert (call.mechanism, call.sensitivity) == ("laplace", 8)
    assert model.privacy_.status == DERIVED
    assert {claim.learner for claim in own.claims()["mean_vote"]} == {"mean_vote"}


def test_the_method_of_the_tutorial_is_neither_saved_nor_released(mean_vote, tmp_path):
    model = registry.estimator_class("mean_vote")(n_bins=2, classes=(0, 1)).fit([[0], [1]], [0, 1])
    with pytest.raises(ModelError, match="MeanVoteClassifier can't be saved"):
        privcurve.save(tmp_path / "model.json", model)
    with pytest.raises(ReleaseError, match="may be compared, but not released"):
        make_estimator(Request("patients", epsilon=1.0, learner="mean_vote"), None)


@pytest.mark.slow
def test_the_method_of_the_tutorial_keeps_the_contract(mean_vote, capsys):
    assert audit(["contract", "mean_vote"]) == 0
    output = capsys.readouterr().out
    for line in TUTORIAL.read_text().split("```")[7].strip().splitlines()[:-1]:
        assert line in output


def test_a_look_at_records_ends_the_fit_and_names_its_line(mean_vote):
    right = mean_vote.read_text()
    ask = "        self.weights_ = curator"
    look = "        if np.abs(sums).max() < 1:\n            sums = 0 * sums\n"
    mean_vote.write_text(right.replace(ask, look + ask))
    result = r"mean_vote: learners/mean_vote.py, line 29 \(if np.abs\(sums\).max\(\) < 1:\): bool"
    model = registry.estimator_class("mean_vote")(n_bins=2, classes=(0, 1))
    with pytest.raises(SealedError, match=result):
        model.fit([[0], [1]], [0, 1])
    assert re.sub(r"\\", "", result) in TUTORIAL.read_text()


@pytest.mark.parametrize(
    ("kept", "message"),
    [("sums", "holds float64 values"), ("curator", "has a Curator, which reveals the noise")],
)
def test_a_forbidden_attribute_is_named_with_its_line(mean_vote, kept, message):
    ask = "        self.weights_ = curator"
    mean_vote.write_text(mean_vote.read_text().replace(ask, f"        self.kept_ = {kept}\n{ask}"))
    model = registry.estimator_class("mean_vote")(n_bins=2, classes=(0, 1))
    line = rf"learners/mean_vote.py, line 29 \(self.kept_ = {kept}\): kept_ of the fitted model "
    with pytest.raises(SealedError, match=line + message):
        model.fit([[0], [1]], [0, 1])


def test_a_smaller_sensitivity_than_the_derived_one_is_refused(mean_vote):
    page, text = TUTORIAL.read_text(), 'Announced("signed sums", l1=3, l2=1.8)'
    assert f"`{text}`" in page
    mean_vote.write_text(mean_vote.read_text().replace('Announced("signed sums")', text))
    model = registry.estimator_class("mean_vote")(n_bins=3, classes=(0, 1))
    with pytest.raises(DoorError) as refused:
        model.fit([[0, 1], [1, 1]], [0, 1])
    assert f"DoorError: {refused.value}\n" in page
    # A larger sensitivity is allowed.
    mean_vote.write_text(mean_vote.read_text().replace("l1=3, l2=1.8", "l1=7, l2=5"))
    forget()
    model = registry.estimator_class("mean_vote")(n_bins=3, classes=(0, 1))
    statement = model.fit([[0, 1], [1, 1]], [0, 1]).privacy_
    assert (statement.status, statement.ledger[0].sensitivity) == (DERIVED, 7)


def test_a_wrong_sensitivity_is_refused_with_the_two_tables(mean_vote, capsys):
    right = with_announced_sensitivity(mean_vote.read_text())
    wrong = right.replace("l1=2 * d, l2=2 * d**0.5", "l1=d, l2=d**0.5")
    assert wrong != right
    mean_vote.write_text(wrong)
    assert audit(["contract", "mean_vote"]) == 1
    output = capsys.readouterr().out
    assert (
        "signed sums: the exact values change by 5, 1.67 times the announced sensitivity (3)"
        in output
    )
    assert "its neighbour: [1, 1] labelled -1" in output


@pytest.fixture
def clipped_descent(folder):
    """Write the second learner of the tutorial; return its path."""
    forget()
    _, file, *_ = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    (folder / "clipped_descent.py").write_text(file)
    yield folder / "clipped_descent.py"
    forget()


def test_clipped_gradients_announce_nothing_and_learn(clipped_descent):
    rng = np.random.default_rng(3)
    X = rng.integers(5, size=(4_000, 3))
    y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    facts = {"n_bins": 5, "classes": ("no", "yes"), "random_state": 1}
    model = registry.estimator_class("clipped_descent")(epsilon=1.0, clip=0.5, **facts)
    assert model.fit(X, y).score(X, y) > 0.9
    statement = model.privacy_
    assert statement.status == DERIVED
    assert {round(call.sensitivity, 6) for call in statement.ledger} == {1.0}
    assert statement.epsilon_spent == pytest.approx(1.0)
    exact = registry.estimator_class("clipped_descent")(epsilon=np.inf, **facts)
    assert exact.fit(X, y).score(X, y) > 0.9
    case = Case("clipped_descent", {"delta": 0.01, "n_steps": 2, "clip": 0.5})
    assert check(case, n_random=3).breach is None
    # Without the clipping the sensitivity is larger, whatever `clip` says.
    text = clipped_descent.read_text().replace(".clip_rows(self.clip)", "")
    clipped_descent.write_text(text)
    forget()
    model = registry.estimator_class("clipped_descent")(epsilon=1.0, clip=0.5, **facts)
    assert model.fit(X, y).privacy_.ledger[0].sensitivity == pytest.approx(2.0)


def test_the_contract_tries_all_that_a_learner_offers_with_the_settings_of_its_file(mean_vote):
    one = mean_vote.read_text()
    kinds = one.replace('("proved",)', '("published", "proved")')
    kinds = kinds.replace("approximate=True", "multiclass=True")
    mean_vote.write_text(kinds + '\n\ndef contract():\n    return [{}, {"epsilon": 2.0}]\n')
    assert [str(case) for case in cases_of("mean_vote")][4:8] == [
        "mean_vote(delta=0.0, calibration='published', epsilon=2.0)",
        "mean_vote(delta=0.0, calibration='published', epsilon=2.0), 3 classes",
        "mean_vote(delta=0.0, epsilon=2.0)",
        "mean_vote(delta=0.0, epsilon=2.0), 3 classes",
    ]


def test_a_number_that_multiplies_only_sums_is_found_at_its_end(mean_vote):
    text = with_announced_sensitivity(mean_vote.read_text())
    weight = '    parameters={"weight": Parameter(1.0, float, low=0, high=10, open_low=True)},\n'
    for old, new in {
        "    approximate=True,\n": weight,
        "import LearnerEntry\n": "import LearnerEntry, Parameter\n",
        "class Mean": "@dataclass(kw_only=True, eq=False, repr=False)\nclass Mean",
        "import numpy as np\n": "from dataclasses import dataclass\n\nimport numpy as np\n",
        "    def _calls": "    weight: float = 1.0\n\n    def _calls",
        '"signed sums", sums)': '"signed sums", self.weight * sums)',
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    mean_vote.write_text(text)
    default, *others = cases_of("mean_vote")
    ends = [case for case in others if "weight" in case.parameters]
    assert [case.parameters["weight"] for case in ends] == [1e-3, 10.0]
    assert check(default, n_random=6).breach is None
    breaches = [check(case).breach for case in ends]
    assert breaches[0] is None
    assert "times the announced sensitivity (6)" in breaches[1].why


def test_an_invalid_setting_of_the_contract_is_named(mean_vote):
    mean_vote.write_text(mean_vote.read_text() + "\n\ndef contract():\n    return ['fast']\n")
    with pytest.raises(ValueError, match=r"mean_vote.py: contract\(\) lists 'fast', which is nei"):
        cases_of("mean_vote")


def test_the_descent_of_the_page_takes_sampled_batches(clipped_descent):
    """As the page says: the learner announces a rate, and each step uses the rows of its batch."""
    text = clipped_descent.read_text()
    rows = "        rows = places(codes, self.n_bins_)\n"
    once = "        codes, labels = curator.rows(records)\n"
    batch = 'batch = curator.batch(f"gradient of step {k}", records, 0.1)\n'
    each = f"    {batch}    {once.replace('records', 'batch')}    {rows}"
    for old, new in {
        "times=self.n_steps)": "times=self.n_steps, sampled=0.1)",
        once + rows: "",
        "            doubts": f"        {each}            doubts",
        "4 / records.n": "4 / (0.1 * records.n)",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    clipped_descent.write_text(text)
    X = np.tile([[0, 1], [1, 0], [2, 2]], (1000, 1))
    facts = {"n_bins": 3, "classes": (0, 1), "random_state": 1, "delta": 1e-6}
    model = registry.estimator_class("clipped_descent")(**facts).fit(X, np.tile([0, 1, 1], 1000))
    assert model.privacy_.status == DERIVED
    assert {entry.sampled for entry in model.privacy_.ledger} == {0.1}
    assert model.privacy_.epsilon_spent == pytest.approx(1.0, abs=1e-4)
