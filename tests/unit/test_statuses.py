"""The status `proved`: only for learners of this project, with a theorem and a test."""

import ast
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from announced_vote import with_announced_sensitivity
from small_study import study_with
from test_own_learners import forget

from privcurve.audit import trial
from privcurve.audit.__main__ import main as audit
from privcurve.audit.contract import check
from privcurve.audit.contract_cases import cases_of
from privcurve.experiments import contracts
from privcurve.experiments.study import StudyError
from privcurve.learners import own, registry
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.learners.one_rule import OneRuleClassifier
from privcurve.outputs.answers import contracts_of, ranking, titles_of
from privcurve.outputs.error_table import error_frame
from privcurve.outputs.learning_curves import best_curves
from privcurve.privacy.budget import PROVED
from privcurve.privacy.ledger import CLAIMED, PrivacyStatement, state
from privcurve.stored import spoken, stored

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/own_method.md"
X, Y = np.array([[0], [1], [1], [0]], dtype=np.uint8), [-1, 1, 1, -1]

TRUST_ME = """
    def _fit_one(self, records, curator):
        from privcurve.privacy.ledger import LedgerEntry, state

        sums = (records.counts * records.labels) @ places(records.codes, self.n_bins_)
        self.weights_ = sums
        entry = LedgerEntry("laplace", "sums", 1.0, 1.0, self.epsilon, source="trust me")
        words = {"epsilon": self.epsilon, "delta": 0.0, "calibration": self.calibration}
        return state(
            self._learner, **words, composition="basic", ledger=[entry], status="proved"
        )

    def _scores("""


def test_each_proved_learner_has_a_theorem_and_a_test():
    proved = {name for name, entry in registry.LEARNERS.items() if entry.proved}
    proofs = {name: entry.proof for name, entry in registry.LEARNERS.items() if entry.proof}
    assert proved == set(proofs)
    for name, proof in proofs.items():
        page, heading = re.fullmatch(r"(\S+\.md), '(.+)'", proof.theorem).groups()
        assert re.search(f"^#+ {re.escape(heading)}$", (ROOT / page).read_text(), re.MULTILINE), (
            name
        )
        file, _, test = proof.test.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def test_a_status_has_no_default():
    words = {"epsilon": 1.0, "delta": 0.0, "calibration": PROVED, "composition": "basic"}
    with pytest.raises(TypeError, match="status"):
        state("mine", **words, ledger=[])
    with pytest.raises(TypeError, match="status"):
        PrivacyStatement("mine", 1.0, 0.0, "replace-one", PROVED, "basic", ())


def test_a_subclass_of_a_proved_learner_is_claimed():
    class Quieter(OneRuleClassifier):
        pass

    fit = {"epsilon": 1.0, "n_bins": 2, "random_state": 1}
    shipped = OneRuleClassifier(**fit).fit(X, Y)
    assert shipped.privacy_.status == PROVED
    model = Quieter(**fit).fit(X, Y)
    assert (model.privacy_.status, model.privacy_.caveat.split("; ")[1]) == (
        CLAIMED, own.NOT_TRIED
    )  # fmt: skip
    assert f"Calibration: {PROVED}" not in str(model.privacy_)
    # A class with the name of the shipped class is still another class.
    Quieter.__module__, Quieter.__qualname__ = shipped.__module__, "OneRuleClassifier"
    assert Quieter(**fit).fit(X, Y).privacy_.status == CLAIMED


def test_a_class_cannot_define_the_guarantee_of_a_fit():
    class Says:
        privacy_ = "proved"

    with pytest.raises(TypeError, match="Says must not define privacy_"):
        type("Quieter", (Says, NoisyMajorityClassifier), {})


def test_a_statement_of_a_class_of_its_own_is_refused():
    class Says(PrivacyStatement):
        pass

    class Quieter(NoisyMajorityClassifier):
        def _guarantee(self, n):
            made = super()._guarantee(n)
            return Says(**{name: getattr(made, name) for name in made.__dataclass_fields__})

    with pytest.raises(TypeError, match="must return a PrivacyStatement"):
        Quieter(n_bins=2).fit(X, Y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write the tutorial's learner, and two learners that lie."""
    monkeypatch.chdir(tmp_path)
    forget()
    own._compute_version.cache_clear()
    (tmp_path / "learners").mkdir()
    text, *_ = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    honest = with_announced_sensitivity(text)
    bounds = "l1=2 * d, l2=2 * d**0.5"
    assert bounds in honest
    cheat = honest.replace(bounds, "l1=0.02 * d, l2=0.02 * d**0.5")
    trusted = honest.replace("\n    def _scores(", TRUST_ME)
    # Its fit sees open records, like a method of another package.
    trusted = trusted.replace("approximate=True", "peer=True")
    for name, text in {"mean_vote": honest, "cheat": cheat, "trust_me": trusted}.items():
        title = name.replace("_", " ").capitalize()
        text = text.replace("mean_vote", name).replace("MeanVote", title.replace(" ", ""))
        text = text.replace('title="Mean vote"', f'title="{title}"')
        (tmp_path / f"learners/{name}.py").write_text(text)
    yield tmp_path
    forget()


def fitted(name, **more):
    rows = np.column_stack([X, X[::-1]])
    kind = registry.estimator_class(name)
    return kind(epsilon=1.0, n_bins=2, classes=(-1, 1), **more).fit(rows, Y)


@pytest.mark.parametrize("name", ["cheat", "trust_me", "mean_vote"])
def test_own_learners_are_claimed_in_python(folder, name):
    model = fitted(name)
    assert model.privacy_.status == CLAIMED
    assert f"{own.NOT_TRIED}" in str(model.privacy_)
    assert "Calibration" not in str(model.privacy_)
    # A model with more parameters, as pickles of earlier versions have.
    model._fitted_statement = replace(model._fitted_statement, status=PROVED, caveat="")
    assert pickle.loads(pickle.dumps(model)).privacy_.status == CLAIMED


def test_no_noise_in_sealed_records_ends_the_fit(folder):
    file = folder / "learners/trust_me.py"
    file.write_text(file.read_text().replace("peer=True", "approximate=True"))
    with pytest.raises(Exception, match=r"sealed|announced|ledger"):
        fitted("trust_me")
    assert trial.try_own("trust_me").result == own.BROKEN


def test_a_choice_among_own_learners_is_claimed(folder):
    model = registry.estimator_class("tuned")(
        learner="mean_vote", settings=[{}], epsilon=1.0, n_bins=2, classes=(-1, 1)
    )
    assert model.fit(np.column_stack([X, X]), Y).privacy_.status == CLAIMED


@pytest.mark.parametrize("name", ["cheat", "trust_me"])
def test_the_command_finds_that_a_lying_learner_breaks_the_contract(folder, name, capsys):
    assert audit(["contract", name]) == 1
    assert "breaks the contract" in capsys.readouterr().out
    assert own.tried(name) == own.BROKEN
    assert own.BROKEN in str(fitted(name).privacy_)
    file = folder / f"learners/{name}.py"
    file.write_text(file.read_text() + "\n")
    forget()
    own._compute_version.cache_clear()
    assert own.tried(name) == own.NOT_TRIED
    assert not contracts.is_current(name)


@pytest.mark.parametrize(
    "settings",
    ['[{"epsilon": float("inf")}]', "[1 / 0]", "['fast']"],
)
def test_a_contract_that_tries_nothing_is_not_kept(folder, settings):
    file = folder / "learners/cheat.py"
    file.write_text(f"{file.read_text()}\n\ndef contract():\n    return {settings}\n")
    assert trial.try_own("cheat").result == own.BROKEN


def test_each_choice_of_a_parameter_is_tried(folder):
    text = (folder / "learners/mean_vote.py").read_text()
    for old, new in {
        "    approximate=True,\n": '    parameters={"noise": Parameter("yes", choices=("yes", '
        '"no"))},\n',
        "import LearnerEntry\n": "import LearnerEntry, Parameter\n",
        "class Mean": "@dataclass(kw_only=True, eq=False, repr=False)\nclass Mean",
        "import numpy as np\n": "from dataclasses import dataclass\n\nimport numpy as np\n",
        "    def _calls": '    noise: str = "yes"\n\n    def _calls',
        '"signed sums", sums)': '"signed sums", sums * (100 if self.noise == "no" else 1))',
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "learners/mean_vote.py").write_text(text)
    last = next(one for one in cases_of("mean_vote") if one.parameters.get("noise") == "no")
    assert "times the announced sensitivity" in check(last).breach.why


LEARNERS = {
    "cheat": {"learner": "cheat"},
    "mine": {"learner": "mean_vote"},
    "gam": {"learner": "privgam"},
}


def write(name, result):
    contracts.write(name, contracts.Finding(result, "why"), contracts.digest(name))


def test_a_study_labels_own_learners_and_ranks_none_that_broke_the_contract(folder):
    import pandas as pd

    made = study_with(LEARNERS)
    assert list(made.methods) == ["cheat", "mine", "gam~proved"]
    assert made.own_learners == ["cheat", "mean_vote"]
    assert titles_of(made)["mine"] == "Mean vote (claimed; contract not tried)"
    write("cheat", own.BROKEN)
    write("mean_vote", own.KEPT)
    titles = titles_of(made)
    assert titles == {
        **{name: titles[name] for name in titles if name not in made.methods},
        "cheat": "Cheat (claimed; contract broken)",
        "mine": "Mean vote (claimed; contract kept)",
        "gam~proved": "PrivGAM",
    }
    frame = pd.DataFrame(
        {
            "dataset": "d",
            "method": ["cheat", "mine", "gam~proved"],
            "learner": ["cheat", "mean_vote", "privgam"],
            "calibration": PROVED,
            "delta": 0.0,
            "epsilon": 1.0,
            "kind": "rule",
            "accuracy": [0.99, 0.9, 0.8],
            "status": "ok",
        }
    )
    place = ranking(frame, "d", 1.0, titles, contracts=contracts_of(made))
    assert list(place.private["method"]) == ["mine", "gam~proved"]
    sentence = place.sentence()
    assert "take Mean vote (claimed; contract kept)" in sentence
    assert "its author claims this ε" in sentence
    assert sentence.endswith("not ranked: Cheat (claimed; contract broken)")
    # A learner that was not tested is recommended after tested learners.
    write("mean_vote", own.NOT_TRIED)
    place = ranking(frame, "d", 1.0, titles_of(made), contracts=contracts_of(made))
    assert list(place.eligible["method"]) == ["gam~proved"]
    # A learner that broke the contract is named and not chosen.
    alone = ranking(frame[:1], "d", 1.0, titles, contracts={"cheat": own.BROKEN})
    assert "nothing was trained" in alone.sentence()
    assert "take" not in alone.sentence()
    assert best_curves(frame, list(frame["method"]), "accuracy", ["cheat"]) == [
        "mine",
        "gam~proved",
    ]


def test_errors_of_a_learner_that_broke_the_contract_have_no_rank():
    import pandas as pd

    runs = pd.DataFrame(
        [
            {"epsilon": 1.0, "dataset": "d", "method": method, "learner": method, "fold": "test"}
            | {"repeat": repeat, "accuracy": score, "status": "ok"}
            for method, score in (("cheat", 0.99), ("mine", 0.9), ("gam", 0.8))
            for repeat in (1, 2)
        ]
    )
    frame = error_frame(runs, ["d"], ["cheat", "mine", "gam"], "gam", unranked=["cheat"])
    rows = frame.set_index("method")
    assert rows["rank"].fillna(0).to_dict() == {"cheat": 0, "mine": 1, "gam": 2}
    assert rows["best"].to_dict() == {"cheat": False, "mine": True, "gam": False}
    assert rows["gain"].isna().to_dict() == {"cheat": True, "mine": False, "gam": False}


def test_curves_of_claimed_learners_look_different():
    from privcurve.figures.style import curve_styles

    names = ["a", "b", "c"]
    looks = curve_styles(
        names,
        dict(zip(names, (PROVED, "published", CLAIMED), strict=True)),
        dict.fromkeys(names, 0),
    )
    lines = [looks[name].line() for name in names]
    assert len({str((one["linestyle"], one.get("fillstyle"))) for one in lines}) == 3


# Names of a study and its files, names of job files, and code that reads the stored word.
STORED = re.compile(r"distributed_certified\w*|~certified~[\w.=]+")
READERS = {"src/privcurve/stored.py", "src/privcurve/models/model.schema.yaml"}
READ = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "mkdocs.yml", "workflow/**/*"),
    *(f"docs/**/*.{end}" for end in ("md", "ipynb")),
    *(f"config/**/*.{end}" for end in ("md", "yaml")),
    *(f"papers/**/*.{end}" for end in ("md", "yaml", "rst", "py")),
    *(f"src/**/*.{end}" for end in ("py", "yaml")),
)


def test_no_text_for_readers_says_certified():
    paths = {path for pattern in READ for path in ROOT.glob(pattern) if path.is_file()}
    assert len(paths) > 300
    text = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sorted(paths)
        if str(path.relative_to(ROOT)) not in READERS and path.suffix != ".pyc"
        for line in path.read_text("utf-8").splitlines()
        if "certif" in STORED.sub("", line).lower()
    ]
    assert not text, text


def test_a_stored_word_is_refused_with_its_present_name():
    old = {"gam": {"learner": "privgam", "calibrations": ["certified"]}}
    with pytest.raises(StudyError, match="not 'certified': it is called 'proved' now"):
        study_with(old)
    with pytest.raises(ValueError, match="not 'certified': it is called 'proved' now"):
        NoisyMajorityClassifier(n_bins=2, calibration="certified").fit(X, Y)


def test_stored_words_are_only_names_and_calibrations():
    words = {
        "proved": "certified",
        "gam~proved~delta=1e-05": "gam~certified~delta=1e-05",
        "adult/gam~proved/best": "adult/gam~certified/best",
        "proved_bayes~published": "proved_bayes~published",
        "improved": "improved",
    }
    assert {word: stored(word) for word in words} == words
    assert {spoken(word) for word in words.values()} == set(words)
    assert stored(None) is None
