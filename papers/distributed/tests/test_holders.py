"""Test distributed learners: parties in other processes, sizes of messages, and unusual records."""

import itertools
import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from holder_process import Process
from made_learners import small_problem

from privcurve.audit.pairs import records
from privcurve.kernels.holder_counts import list_questions
from privcurve.learners.entry import Facts
from privcurve.learners.holders.holder import NONE
from privcurve.learners.holders.transcript import Transcript
from privcurve.learners.registry import estimator_class, make
from privcurve.learners.shared import dealt
from privcurve.privacy.budget import PROVED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, OF_CHOICES, OF_SHARES, REFUTED
from privcurve.privacy.sealed import open_values

ORDERED = (False, True, False, True)
N_BINS = (2, 5, 3, 10)
# Number of questions: one for each bin of the two unordered columns (2 and 3 bins), and one for
# each threshold of the two ordered columns (5 and 10 bins).
N_QUESTIONS = 2 + 4 + 3 + 9
WIDTH = sum(N_BINS)
PUBLISHED = {"calibration": "published", "n_splits": 6}
BOTH = pytest.mark.parametrize("name", ["distributed_topdown", "random_trees"])


def learner(name, n_classes=2, ordered=ORDERED, **parameters):
    facts = Facts(N_BINS, ordered=ordered, n_classes=n_classes)
    return make(name, facts, {"n_holders": 3, **parameters})


def fitted(name, parameters, n=300, seed=7):
    X, y, _ = small_problem(n)
    rng = np.random.default_rng(seed)
    labels = X[:, 2] if parameters.get("n_classes") == 3 else np.where(y == "yes", 1, -1)
    return learner(name, **parameters).fit_records(
        records(X, labels, N_BINS), [{}], [Curator(rng)]
    )[0]


SETTINGS = [
    ("distributed_topdown", {**PUBLISHED, "epsilon": 8.0}),
    ("distributed_topdown", {**PUBLISHED, "protocol": "local_rnm", "epsilon": 8.0}),
    ("distributed_topdown", {**PUBLISHED, "protocol": "single", "n_holders": 4}),
    ("distributed_topdown", {"protocol": "local_rnm", "epsilon": 4.0, "placement": "sizes"}),
    ("distributed_topdown", {"trust": "secure_sum", "delta": 1e-5, "n_colluding": 1}),
    ("random_trees", {"n_trees": 6, "batch": 2, "depth": 2}),
    ("random_trees", {"n_trees": 4, "batch": 2, "depth": 2, "trust": "local"}),
    ("distributed_topdown", {"protocol": "local_rnm", "n_classes": 3, "epsilon": 4.0}),
    ("random_trees", {"n_trees": 4, "batch": 2, "depth": 2, "n_classes": 3}),
]


@pytest.mark.slow
def test_holders_in_separate_processes_give_the_same_bits(monkeypatch):
    here = [fitted(*setting) for setting in SETTINGS]
    processes = [Process() for _ in range(3)]
    idle = itertools.cycle(processes)
    used = []

    def elsewhere(*made_of):
        used.append(len(open_values(made_of[0].counts)))
        return next(idle).begin(*made_of)

    monkeypatch.setattr(dealt, "make_holder", elsewhere)
    try:
        there = [fitted(*setting) for setting in SETTINGS]
    finally:
        for one in processes:
            one.stop()
    assert len(used) == 8 * 3 + 1
    for a, b, setting in zip(here, there, SETTINGS, strict=True):
        assert pickle.dumps(a.model_) == pickle.dumps(b.model_), setting
        assert a.transcript_ == b.transcript_, setting
        result, other = a.privacy_, b.privacy_
        assert replace(result, exclusions=()) == replace(other, exclusions=()), setting
        # A fit cannot see what parties in other processes released. Its statement therefore has
        # every exclusion that may apply, and may have more than the statement of one process.
        more = {*other.exclusions} - {*result.exclusions}
        assert {*result.exclusions} <= {*other.exclusions}, setting
        assert more <= {OF_CHOICES, OF_SHARES}, setting


# Messages ------------------------------------------------------------------------------


class Kept(Transcript):
    """A transcript that stores what the server sees: messages in `single`, or sums in `sums`.

    With secure sums the server sees only the sum of the parties' messages.
    """

    def __init__(self, n_holders):
        super().__init__(n_holders)
        self.single, self.sums = [], []

    def send(self, holder, numbers, n_messages=1):
        super().send(holder, numbers, n_messages)
        self.single.append(numbers)

    def collect(self, messages, sums, release, n_messages=1):
        before = len(self.single)
        total = super().collect(messages, sums, release, n_messages)
        if sums.secure:
            del self.single[before:]
            self.sums.append(total)
        return total


def kept(name, monkeypatch, **parameters):
    """Fit a learner, and return its transcript with the stored messages (:class:`Kept`)."""
    monkeypatch.setattr(sys.modules[estimator_class(name).__module__], "Transcript", Kept)
    return fitted(name, parameters).transcript_


@pytest.mark.parametrize(("protocol", "epsilon"), [("noisy_counts", 64.0), ("local_rnm", 512.0)])
def test_bytes_of_published_trees_follow_their_formula(protocol, epsilon):
    options = {**PUBLISHED, "protocol": protocol, "epsilon": epsilon}
    measures = fitted("distributed_topdown", options).measures_
    splits, votes = (measures["n_nodes"] - 1) // 2, protocol == "local_rnm"
    assert splits > 1
    # Each party sends 8 bytes for the weight of each node except the root, and two label counts for
    # each leaf. For each node it sends the counts of all questions; or, with votes, a vote of 2
    # bytes and the counts of the three questions for which the three parties voted.
    of_node = 2 + 3 * 8 * 8 if votes else N_QUESTIONS * 8 * 8
    each = (1 + 2 * splits) * of_node + 2 * splits * 8 + (splits + 1) * 2 * 8
    assert measures["bytes_per_holder"] == each
    assert measures["rounds"] == (3 + 2 * splits if votes else 2 + splits)
    down = splits * 4 + votes * (1 + 2 * splits) * 3 * 2
    assert measures["bytes_down_per_holder"] == down
    assert measures["bytes_total"] == 3 * (each + down)


@pytest.mark.parametrize(("trust", "size"), [("local", 8), ("secure_sum", 4)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bytes_of_proved_messages_follow_their_formula(trust, size, n_classes):
    options = {"trust": trust, "n_classes": n_classes}
    tree = {**options, "epsilon": 1e3, "depth": 2}
    histograms = fitted("distributed_topdown", tree).measures_
    assert histograms["n_nodes"] >= 5
    assert histograms["rounds"] == 2
    assert histograms["bytes_per_holder"] == 3 * n_classes * WIDTH * size
    outputs = 1 if n_classes == 2 else 3
    sums = fitted("random_trees", {**options, "n_trees": 7, "batch": 3, "depth": 2}).measures_
    assert sums["rounds"] == 3
    assert sums["bytes_per_holder"] == 7 * 4 * (outputs + 1) * size
    assert sums["bytes_down_per_holder"] == 7 * 4 * outputs * 8
    assert sums["messages"] == 3 * 3 * 2


def test_sums_over_many_records_are_sent_in_more_bits():
    """For 2²¹ records in all, sums of clipped residuals need more than 32 bits."""
    X, y = np.zeros((2, 4), dtype=np.uint8), [-1, 1]
    model = learner("random_trees", n_trees=2, batch=1, depth=1, random_state=0)
    few, many = (model.fit(X, y, [n, n]).measures_ for n in (2**18, 2**20))
    assert many["bytes_per_holder"] == 2 * few["bytes_per_holder"]


@pytest.mark.parametrize("protocol", ["noisy_counts", "local_rnm"])
def test_shares_that_would_be_rounded_away_are_refused_before_any_holder_is_asked(
    protocol, monkeypatch
):
    for what in ("vote", "counts"):
        monkeypatch.setattr(dealt.LocalHolder, what, lambda *_: pytest.fail("asked"))
    options = {"trust": "secure_sum", "epsilon": 1e11, "protocol": protocol}
    X, y = np.zeros((2, 4), dtype=np.uint8), [-1, 1]
    with pytest.raises(ValueError, match="would remove their shares"):
        learner("distributed_topdown", **options).fit(X, y, [10**6] * 2)


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_message_has_an_exact_count(setting, monkeypatch):
    """Fewer than 5 % of the noisy numbers in a message are integers, and these only by chance."""
    name, parameters = setting
    seen = kept(name, monkeypatch, **parameters)
    votes = [numbers for numbers in seen.single if numbers.dtype == np.uint16]
    counts = [*seen.sums, *(numbers for numbers in seen.single if numbers.dtype != np.uint16)]
    assert counts
    hidden = parameters.get("trust") == "secure_sum" or (
        name == "random_trees" and "trust" not in parameters
    )
    assert bool(seen.sums) == hidden
    assert len(seen.single) == (len(votes) if hidden else len(votes) + len(counts))
    best = parameters.get("protocol") == "single"
    for numbers in counts:
        # One machine sends the chosen question, an exact integer, with the noisy gain. The question
        # NONE shows that the node has fewer than two records; the statement excludes this leak.
        if best and numbers.shape == (2,) and numbers[0] == np.rint(numbers[0]):
            numbers = numbers[1:] if numbers[0] != NONE else np.full(1, 0.5)
        assert (numbers == np.rint(numbers)).mean() < 0.05


def test_without_noise_counts_are_exact(monkeypatch):
    """Without noise the counts are integers.

    So :func:`test_no_message_has_an_exact_count` would notice counts without noise.
    """
    counts = kept("distributed_topdown", monkeypatch, epsilon=np.inf, depth=1).single
    assert sum(table[:, :2].sum() for table in counts) == 300
    assert all(np.array_equal(table, np.rint(table)) for table in counts)


# Placement, protocols, unusual records --------------------------------------------------


@pytest.mark.parametrize("calibration", ["published", "proved"])
def test_one_holder_without_noise_grows_the_same_tree_by_any_protocol(calibration):
    options = {"epsilon": np.inf, "calibration": calibration, "n_holders": 1}
    settings = [{"protocol": "noisy_counts"}, {"protocol": "local_rnm"}]
    if calibration == "published":
        settings.append({"protocol": "single", "n_holders": 4})
    else:
        settings += [{"trust": "secure_sum", "n_holders": 5}, {"trust": "central"}]
    first, *others = (fitted("distributed_topdown", {**options, **more}) for more in settings)
    for tree in others:
        assert all(map(np.array_equal, first.model_.forest, tree.model_.forest))


@BOTH
@pytest.mark.parametrize("placement", ["random", "sizes", "label", "column"])
@pytest.mark.parametrize("trust", ["local", "secure_sum", "central"])
def test_a_claim_is_not_proved_where_a_replaced_record_may_move(name, placement, trust):
    parameters = {"placement": placement, "trust": trust, "delta": 1e-5}
    statement = fitted(name, parameters, n=60).privacy_
    by_value = placement in ("label", "column") and trust != "central"
    assert statement.status == ({"local": REFUTED}.get(trust, CLAIMED) if by_value else PROVED)
    assert (f"placement = '{placement}': records are dealt" in str(statement)) == by_value
    # With a single party the claim is proved for every placement, because no record can move to
    # another party.
    assert fitted(name, {**parameters, "n_holders": 1}, n=60).privacy_.status == PROVED
    assert not fitted(name, {**parameters, "epsilon": np.inf}, n=60).privacy_.private


def test_the_proof_of_published_counts_excludes_records_that_move():
    statement = fitted("distributed_topdown", {**PUBLISHED, "placement": "column"}).privacy_
    assert statement.status == REFUTED
    assert "noise for an added record" in statement.caveat
    assert "records are dealt to parties by their values" in statement.caveat
    assert statement.proved_epsilon is None


@BOTH
@pytest.mark.parametrize("epsilon", [1.0, np.inf])
@pytest.mark.parametrize("trust", ["local", "secure_sum"])
def test_holders_without_records_send_only_noise(name, epsilon, trust):
    """With more parties than records, parties without records send as many bits as others."""
    parameters = {"n_holders": 40, "trust": trust, "epsilon": epsilon}
    some = {"protocol": "local_rnm"} if name == "distributed_topdown" else {}
    model = fitted(name, {**parameters, **some}, n=9)
    sent = model.transcript_.bits_sent
    assert (sent == sent[0]).all()
    assert (sent > 0).all()


@BOTH
def test_holders_of_one_class_each(name):
    """If each party has records of only one class, the model still learns both classes."""
    X, _, _ = small_problem()
    parameters = {"placement": "column", "n_holders": 2, "epsilon": np.inf}
    X = X[np.argsort(X[:, 0], kind="stable")]
    labels = np.where(X[:, 0] == 1, 1, -1)
    model = learner(name, **parameters).fit(X, labels)
    assert (model.predict(X) == labels).all()


def test_a_domain_without_questions_gives_one_answer():
    """If each column is ordered and has one bin, there is no question, and the fit still works."""
    X, y = np.zeros((30, 2), dtype=np.uint8), np.array([1] * 20 + [-1] * 10)
    assert len(list_questions(np.array([1, 1]), (True, True)).columns) == 0
    for name, parameters in SETTINGS[:2] + SETTINGS[3:6]:
        facts = Facts((1, 1), ordered=(True, True))
        model = make(name, facts, {"n_holders": 3, **parameters, "epsilon": 1e4}).fit(X, y)
        assert (model.predict(X) == 1).all()


TREE = "distributed_topdown"
REFUSED = [
    (
        TREE,
        {"trust": "secure_sum", "calibration": "published"},
        "trust must be 'local' for .*; got 'secure_sum",
    ),
    (TREE, {"delta": 1e-5, "calibration": "published"}, "delta must be 0 for the published"),
    (
        TREE,
        {"budget": "levels", "calibration": "published"},
        "budget must be 'decay' or 'uniform' for .*; got 'levels",
    ),
    (TREE, {"budget": "uniform"}, "budget must be 'levels' or 'decay' for .*; got 'uniform"),
    (TREE, {"protocol": "single", "trust": "central"}, "trust = 'central' has no effect"),
    (
        TREE,
        {"protocol": "local_rnm", "criterion": "zero_one", "calibration": "published"},
        "criterion must have a sensitivity in paper 003; got 'zero_one'",
    ),
    (
        TREE,
        {"criterion": "root_gini", "n_classes": 3},
        "criterion must be 'gini', 'entropy' or 'zero_one' for more",
    ),
    (
        TREE,
        {"protocol": "single", "n_holders": 4, "n_classes": 3},
        "must have two classes if proved; got 3",
    ),
    *(
        (name, parameters, message)
        for name in (TREE, "random_trees")
        for parameters, message in [
            ({"placement": "nearby"}, f"{name}: placement must be one of .*; got 'nearby'"),
            ({"trust": "secure_sum", "n_colluding": 3}, "must be less than n_holders, 3; got 3"),
            ({"ordered": (True,)}, f"{name}: ordered must be True or False for each of 4 columns"),
        ]
    ),
]


@pytest.mark.parametrize(("name", "parameters", "message"), REFUSED)
def test_parameters_that_are_not_offered_are_refused(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(name, parameters)
