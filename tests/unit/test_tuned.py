"""The learner that selects settings privately, and the key `tune` of a study."""

import dataclasses

import numpy as np
import pytest
from small_study import study_with

from privcurve import models
from privcurve.audit.states import fitted_attributes, numbers
from privcurve.datasets.domain import NUMERIC, Column, Domain, Label
from privcurve.experiments import kinds, study, tune
from privcurve.learners import TunedClassifier, registry
from privcurve.learners.lazybb import LazyBBClassifier
from privcurve.learners.linear.linear import DPLogisticRegressionClassifier
from privcurve.privacy.ledger import NOT_SELECTION
from privcurve.privacy.selection import Runs

RNG = np.random.default_rng(2)
N_BINS = [3, 4, 2]
X = RNG.integers(0, N_BINS, (200, 3))
Y = np.where((X[:, 0] == 1) ^ (RNG.random(200) < 0.1), 1, -1)
GRID = {"n_rounds": [3, 5], "density": [0.5]}


def make(settings=GRID, **parameters):
    facts = {"n_bins": N_BINS, "classes": (-1, 1), "random_state": 0}
    return TunedClassifier(settings=settings, **{**facts, **parameters})


def test_the_statement_has_the_assumptions_and_exclusions_of_all_candidates():
    """The statement does not reveal which candidate was kept."""
    settings = [{}, {"learner": "dp_logistic_regression", "C": 0.1}]
    fitted = [
        make(settings, learner="noisy_majority", epsilon=0.2, random_state=seed).fit(X, Y)
        for seed in range(12)
    ]
    assert len({model.learner_ for model in fitted}) == 2
    (result,) = {model.privacy_ for model in fitted}
    public = {"n_bins": N_BINS, "classes": (-1, 1), "random_state": 0}
    alone = DPLogisticRegressionClassifier(C=0.1, **public).fit(X, Y).privacy_
    assert any("the L2 norm" in text for text in alone.assumptions)
    assert any("the tolerance of the solver" in text for text in alone.exclusions)
    assert set(alone.assumptions) < set(result.assumptions)
    assert set(alone.exclusions) - {NOT_SELECTION} < set(result.exclusions)
    for texts in (result.assumptions, result.exclusions):
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("learner", ["noisy_bayes", "lazybb", "privgam", "topdown"])
def test_the_cost_of_a_setting_does_not_depend_on_the_records(learner):
    """Learners whose ledgers have other forms: a fit checks the cost."""
    model = make(None, learner=learner, delta=1e-5, expected_runs=2, ordered=(True,) * 3)
    model.fit(X, Y)
    assert model.privacy_.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    assert hasattr(model, "predict_proba") == hasattr(model.best_, "predict_proba")
    assert model.learner_ == learner
    chances = model.predict_proba(X)
    assert np.array_equal(chances[:, 1] > 0.5, model.predict(X) == 1)


def test_a_learner_with_only_pure_privacy_is_paid_in_epsilon():
    model = make(None, learner="noisy_majority", delta=1e-5).fit(X, Y)
    assert model.privacy_.delta == 1e-5
    assert model.privacy_.epsilon_spent == pytest.approx(1.0, rel=1e-9)
    assert model._budget().training == make(None, learner="noisy_majority")._budget().training


def test_the_best_of_the_runs_is_kept_and_nothing_else(monkeypatch):
    """The scores are given; of equal scores the first counts."""
    trained, given = [], iter([5, 9, 2, 9, 1])
    train = TunedClassifier._train_runs

    def remembered(self, *arguments):
        trained.extend(train(self, *arguments))
        return trained

    monkeypatch.setattr(TunedClassifier, "_train_runs", remembered)
    score = TunedClassifier._count_right
    monkeypatch.setattr(
        TunedClassifier, "_count_right", lambda *given_to: (score(*given_to), next(given))[1]
    )
    monkeypatch.setattr(Runs, "draw", lambda self, rng: 5)
    model = make().fit(X, Y)
    assert len(trained) == 5
    assert model.best_ is trained[1]
    assert model.setting_ == {"n_rounds": trained[1].n_rounds, "density": 0.5}
    assert set(fitted_attributes(model)) & {"best_", "setting_", "score_"} == {
        "best_",
        "setting_",
        "score_",
    }
    # Each run has its own stream: among five runs of two settings, three or more share a setting.
    alike = [[one for one in trained if one.n_rounds == k] for k in GRID["n_rounds"]]
    assert len({tuple(one.chosen_) for one in max(alike, key=len)}) > 1
    # The number of runs is not stored: with equal seeds and another number, nothing differs.
    once = numbers(model.privacy_)
    monkeypatch.setattr(Runs, "draw", lambda self, rng: 2)
    given, trained = iter([5, 9]), []
    monkeypatch.setattr(TunedClassifier, "_train_runs", lambda self, *a: train(self, *a))
    other = make().fit(X, Y)
    assert fitted_attributes(other).keys() == fitted_attributes(model).keys()
    assert np.array_equal(numbers(other.privacy_), once)


def test_the_kept_model_is_saved_with_the_statement_of_the_selection(tmp_path):
    columns = tuple(Column(f"c{j}", NUMERIC, (0.0, float(k)), k) for j, k in enumerate(N_BINS))
    domain = Domain(columns, Label("sick", "no", "yes"))
    model = make(classes=("no", "yes")).fit(X, np.where(Y > 0, "yes", "no"))
    models.save(tmp_path / "whole.json", model, domain)
    models.save(tmp_path / "model.json", model.best_, domain)
    for name in ("whole.json", "model.json"):
        loaded = models.load(tmp_path / name)
        assert loaded.learner == "lazybb"
        assert loaded.statement.epsilon == 1.0
        assert loaded.statement.learner == "tuned"
        scores = loaded.decision_function(X.astype(np.uint8))
        assert np.array_equal(scores, model.decision_function(X))


def test_settings_are_drawn_uniformly():
    """A wrong alarm has probability below 1e-6."""
    kept = [
        make(epsilon=1e-3, expected_runs=1, random_state=seed).fit(X[:20], Y[:20]).setting_
        for seed in range(120)
    ]
    few = sum(setting["n_rounds"] == 3 for setting in kept)
    assert 33 <= few <= 87


def test_settings_may_be_numbers_of_an_array():
    given = {"n_rounds": np.array([3, 5]), "density": [np.float64(0.5)]}
    model, plain = make(given).fit(X, Y), make().fit(X, Y)
    assert model.setting_ == plain.setting_
    assert type(model.setting_["n_rounds"]) is int
    assert model.score_ == plain.score_


def test_without_privacy_all_settings_are_tried():
    model = make({"n_rounds": [1, 9], "density": [0.35]}, epsilon=np.inf).fit(X, Y)
    alone = [
        LazyBBClassifier(n_rounds=k, epsilon=np.inf, n_bins=N_BINS, classes=(-1, 1)).fit(X, Y)
        for k in (1, 9)
    ]
    assert model.model_ is model.best_.model_
    assert model.score_ == max((one.predict(X) == Y).mean() for one in alone)
    assert not model.privacy_.private


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "lazyb"}, "unknown learner 'lazyb'; did you mean 'lazybb'"),
        ({"learner": 3}, "learner must be the name of a learner; got 3"),
        ({"learner": "tuned"}, "settings of tuned can't be chosen privately: it selects settings"),
        ({"learner": "majority_class"}, "majority_class can't be chosen privately: it is not priv"),
        ({"learner": "dp_ebm"}, "dp_ebm can't be chosen privately: it belongs to another library"),
        ({"learner": "random_trees", "settings": None}, "random_trees needs a delta above 0"),
        ({"settings": {"n_rounds": []}}, "'n_rounds' needs a list of values"),
        ({"settings": []}, "settings must not be empty"),
        ({"settings": "all"}, "settings must be a mapping"),
        ({"settings": [{"learner": "one_rule", "n_rounds": 3}]}, "one_rule has no parameter 'n_ro"),
        (
            {"settings": {"start": ["public"]}},
            "lazybb needs to know for start = 'public' which columns are public",
        ),
        ({"expected_runs": 0.5}, r"expected_runs must be a number in \[1, 1000\]; got 0\.5"),
        (
            {"settings": [{"learner": "random_trees", "placement": "label"}]},
            "random_trees: placement = 'label' has no proved guarantee",
        ),
        ({"epsilon": 1e-12}, "of which nothing remains for a training"),
        ({"settings": [{}, {"density": 1e-12}]}, "the setting {'density': 1e-12} of lazybb: "),
    ],
)
def test_bad_input_has_one_message(change, message):
    with pytest.raises(ValueError, match=message):
        make(**change).fit(X, Y)


# The key `tune` of a study ---------------------------------------------------------------

ENTRY = {"learner": "lazybb", "deltas": [0, 1e-5], "tune": {"grid": {"n_rounds": [3, 5]}}}


def study_with_entry(**entry):
    facts = {key: value for key, value in {**ENTRY, **entry}.items() if value is not None}
    return study_with({"x": facts}, "s", epsilons=[1])


def test_the_key_tune_makes_its_own_curve():
    pure, approximate = study_with_entry(
        fixed={"density": 0.5}, vary={"ties": ["negative"]}
    ).methods.values()
    assert pure.name == "x~proved~ties=negative"
    assert pure.title == "LazyBB, 1-rules, ties = negative"
    assert kinds.kind(pure) == kinds.TUNED
    assert pure.tune == ENTRY["tune"]
    assert (pure.learner, pure.entry.name) == ("tuned", "lazybb")
    axes = {"density": [0.5], "ties": ["negative"], "n_rounds": [3, 5]}
    assert pure.settings == ({"learner": "lazybb", "settings": axes},)
    assert pure.version == 1000 * registry.version("tuned") + registry.version("lazybb")
    assert "leaves 0.64 for a training (5 runs expected)" in tune.price(
        approximate.settings[0], approximate.epsilons, approximate.delta
    )


def test_another_version_of_the_learner_is_another_run(monkeypatch):
    """A new version of the selected learner or of the selecting one changes the version."""
    before = study_with_entry().methods["x~proved"].version
    for learner, step in (("lazybb", 1), ("tuned", 1000)):
        entry = registry.entry(learner)
        raised = dataclasses.replace(entry, version=entry.version + 1)
        with monkeypatch.context() as patched:
            patched.setitem(registry.LEARNERS, learner, raised)
            assert study_with_entry().methods["x~proved"].version == before + step


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {"density": [0.5]}}, "'grid' and 'tune' exclude each other"),
        ({"tune": {"grid": {}}}, "'tune' needs a 'grid'"),
        (
            {"tune": {**ENTRY["tune"], "expected_runs": 0.5}},
            "tuned: expected_runs must be ",
        ),
        (
            {"calibrations": ["published"]},
            "calibration must be 'proved' for private selection; got 'published'",
        ),
        ({"learner": "majority_class"}, "settings of majority_class can't be chosen privately"),
        ({"learner": "tuned", "tune": None}, "learner must be the learner to tune; got 'tuned'"),
        ({"fixed": {"n_rounds": 3}}, "'n_rounds' must be under 'fixed' or 'grid'"),
        ({"neighbours": "add-remove"}, "tuned offers neighbours = 'replace-one', not 'add-remove'"),
    ],
)
def test_misuse_of_the_key_tune_has_one_message(change, message):
    with pytest.raises(study.StudyError, match=f"s.yaml: learners: x: .*{message}"):
        study_with_entry(**change)


def test_a_budget_without_rest_is_refused_when_the_study_is_requested():
    small = study_with_entry(epsilons=[1e-12])
    result = "s.yaml: learners: x~proved: .*of which nothing remains for a training"
    with pytest.raises(study.StudyError, match=result):
        list(study.prices(small, "s.yaml"))
