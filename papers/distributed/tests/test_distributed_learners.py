"""Test that distributed trees agree with plain Python, and with a learner on one machine."""

import re

import distributed_tree as reference
import numpy as np
import pytest

from privcurve.audit.pairs import records
from privcurve.kernels.holder_counts import list_questions
from privcurve.learners.entry import Facts
from privcurve.learners.holders.boosting import draw_trees
from privcurve.learners.registry import make
from privcurve.privacy.curator import Curator

N_BINS = (3, 2, 5)
ORDERED = (True, False, True)


def problem(n=60, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_BINS, size=(n, 3)).astype(np.uint8)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + (rng.random(n) < 0.3)) % n_classes
    return X, y


def learner(name, n_classes=2, **parameters):
    facts = Facts(N_BINS, ordered=ORDERED, n_classes=n_classes)
    return make(name, facts, {"epsilon": np.inf, "random_state": 0, **parameters})


def labels_of(y, n_classes):
    return np.where(y == 1, 1, -1) if n_classes == 2 else y


def nested(model, n_classes):
    """Return a fitted tree as nested tuples, in the format of the reference.

    An inner node is a tuple (question, no child, yes child), and a leaf is its class.
    """
    splits, children, labels = (part[0] for part in model.model_.forest)
    numbers = list_questions(np.array(N_BINS), ORDERED).numbers.tolist()

    def built(node):
        if children[node] == 0:
            return int(labels[node] > 0) if n_classes == 2 else int(labels[node])
        left = int(children[node])
        return (numbers.index(int(splits[node])), built(left), built(left + 1))

    return built(0)


CASES = [(2, c) for c in ("gini", "entropy", "root_gini", "zero_one")]
CASES += [(3, c) for c in ("gini", "entropy", "zero_one")]


@pytest.mark.parametrize(("n_classes", "criterion"), CASES)
@pytest.mark.parametrize("n_splits", [5, 60])
def test_published_trees_match_the_plain_algorithm(n_classes, criterion, n_splits):
    triples = reference.questions(N_BINS, ORDERED)
    numbers = list_questions(np.array(N_BINS), ORDERED).numbers.tolist()
    for seed in range(4):
        X, y = problem(60, n_classes, seed)
        options = {"calibration": "published", "criterion": criterion, "n_splits": n_splits}
        model = learner("distributed_topdown", n_classes, **options, n_holders=3)
        model.fit(X, labels_of(y, n_classes))
        splits, children, labels = (part[0].tolist() for part in model.model_.forest)
        tree = (
            [None if number < 0 else numbers.index(number) for number in splits],
            children,
            [int(c > 0) for c in labels] if n_classes == 2 else labels,
        )
        made = reference.check_best_first(
            tree, X.tolist(), y.tolist(), triples, n_classes, criterion, n_splits
        )
        # With the zero-one error, splits below the root may have no gain, so the tree may end with
        # one split.
        least = 1 if criterion == "zero_one" else min(n_splits, 6)
        assert least <= made <= n_splits


@pytest.mark.parametrize(("n_classes", "criterion"), CASES)
def test_proved_trees_match_the_plain_algorithm(n_classes, criterion):
    triples = reference.questions(N_BINS, ORDERED)
    for seed in range(4):
        X, y = problem(60, n_classes, seed)
        model = learner("distributed_topdown", n_classes, criterion=criterion, trust="secure_sum")
        model.fit(X, labels_of(y, n_classes))
        expected = reference.by_levels(X.tolist(), y.tolist(), triples, n_classes, criterion, 3)
        assert nested(model, n_classes) == expected


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("trust", ["secure_sum", "local"])
def test_random_trees_match_the_plain_algorithm(n_classes, trust):
    X, y = problem(80, n_classes)
    model = learner("random_trees", n_classes, n_trees=7, batch=3, depth=2, trust=trust)
    model.fit(X, labels_of(y, n_classes))
    trees = model.model_.trees
    starts = np.concatenate([[0], np.cumsum(N_BINS)])
    offsets = starts[trees.columns]
    questions = np.stack([trees.columns, trees.low - offsets, trees.high - offsets], axis=-1)
    unit = 2.0 ** -(30 - int(np.ceil(np.log2(80))))
    plain = questions.tolist()
    expected = reference.random_tree_scores(X.tolist(), y.tolist(), plain, n_classes, 3, 1.0, unit)
    scores = model.decision_function(X)
    assert scores.reshape(80, -1) == pytest.approx(np.array(expected), abs=1e-7)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("epsilon", [0.5, np.inf])
def test_the_proved_tree_of_one_machine_is_topdown(epsilon, delta):
    X, y = problem(200)
    options = {"epsilon": epsilon, "delta": delta, "depth": 2}
    rules = {"splits": "threshold", "leaves": "rules"}
    one = learner("distributed_topdown", protocol="single", **options)
    other = learner("topdown", **rules, **options)
    side = records(X, labels_of(y, 2), N_BINS)
    of_parties, of_one = (
        each.fit_records(side, [{}], [Curator(np.random.default_rng(4))])[0]
        for each in (one, other)
    )
    assert all(map(np.array_equal, of_parties.model_.forest, of_one.model_.forest))
    assert of_parties.privacy_.ledger == of_one.privacy_.ledger
    assert of_parties.privacy_.learner == "distributed_topdown"


@pytest.mark.parametrize("name", ["distributed_topdown", "random_trees"])
def test_under_a_secure_sum_only_the_noise_depends_on_the_number_of_holders(name, monkeypatch):
    """If the noise is removed, models with any number of parties are equal."""

    def draw_the_same(questions, n, depth, rng):
        # The generator `rng` has already drawn the placement and one seed per party, so its state
        # depends on the number of parties. Another generator makes the trees equal.
        return draw_trees(questions, n, depth, np.random.default_rng(1))

    monkeypatch.setattr("privcurve.learners.random_trees.draw_trees", draw_the_same)
    monkeypatch.setattr(Curator, "_share", lambda self, call, exact, parts, unit: exact)
    X, y = problem(100)
    scores = []
    for n_holders in (1, 3, 20, 300):
        options = {"trust": "secure_sum", "epsilon": 1.0, "delta": 1e-5, "n_holders": n_holders}
        options |= {"n_trees": 4, "batch": 2} if name == "random_trees" else {"depth": 2}
        made = learner(name, **options)
        scores.append(made.fit(X, labels_of(y, 2)).decision_function(X))
    assert all(np.array_equal(scores[0], other) for other in scores[1:])


def test_random_questions_cover_columns_evenly():
    triples = list_questions(np.array(N_BINS), ORDERED)
    drawn = draw_trees(triples, 4000, 2, np.random.default_rng(0))
    shares = np.bincount(triples.columns[drawn.ravel()]) / drawn.size
    assert shares == pytest.approx([1 / 3] * 3, abs=0.02)
    within = np.bincount(drawn.ravel(), minlength=8) / drawn.size
    assert within == pytest.approx(np.repeat([1 / 6, 1 / 6, 1 / 12], [2, 2, 4]), abs=0.01)


def test_models_are_readable():
    X, y = problem(60)
    tree = learner("distributed_topdown", depth=1).fit(X, labels_of(y, 2))
    assert tree.model_.describe().splitlines()[0].startswith("column ")
    X, y = problem(60, 3)
    of_three = learner("distributed_topdown", 3, depth=1).fit(X, y)
    assert "class " in of_three.model_.describe()
    names = [[f"{7 * k} <= c{j} < {7 * k + 7}" for k in range(9)] for j in range(X.shape[1])]
    words = of_three.model_.describe(names, class_names=["low", "mid", "high"])
    assert "class " not in words
    assert words.splitlines()[0].endswith(("7?", "or below?"))
    forest = learner("random_trees", 3, n_trees=1, batch=1, depth=1).fit(X, y).model_
    result = forest.describe(names, class_names=["low", "mid", "high"])
    assert "column" not in result
    assert re.search(r"yes: low [+-]\S+ mid [+-]\S+ high [+-]", result)
    boosted = learner("random_trees", n_trees=2, batch=1, depth=1).fit(X, labels_of(y % 2, 2))
    lines = str(boosted.model_).splitlines()
    assert lines[0] == "tree 1"
    assert lines[1].endswith("?")
    # The leaves are in the order no, yes: values[1] belongs to the rows that answer yes.
    values = boosted.model_.values[0, :, 0]
    assert lines[2].strip() == f"yes: {values[1]:+.4f}"
    assert lines[3].strip() == f"no: {values[0]:+.4f}"
