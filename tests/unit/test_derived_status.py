"""The status `derived`: only for learners whose calls are all sums of rows."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_own_learners import forget

from privcurve.coding import Records
from privcurve.learners import registry
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.privacy.account import DoorError
from privcurve.privacy.budget import ADD_REMOVE, PROVED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, DERIVED, PrivacyStatement
from privcurve.privacy.moves import Moves
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.parts import PartedRecords, sealed_records
from privcurve.privacy.refused import SealedError
from privcurve.privacy.sealed import kernel, open_values
from privcurve.privacy.sums import Bounds, LoopSum, Sum, one_cell

TUTORIAL = Path(__file__).parents[2] / "docs/own_method.md"
RNG = np.random.default_rng(4)
X, Y = RNG.integers(3, size=(60, 2)), RNG.choice([-1, 1], 60)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that makes the tutorial's learner with some lines replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learners").mkdir()
    text, *_ = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)

    def with_lines(changes, **parameters):
        changed = text
        for old, new in changes.items():
            assert changed.count(old) == 1, old
            changed = changed.replace(old, new)
        (tmp_path / "learners/mean_vote.py").write_text(changed)
        forget()
        kind = registry.estimator_class("mean_vote")
        return kind(n_bins=3, classes=(-1, 1), random_state=1, **parameters)

    yield with_lines
    forget()


ASK = '        self.weights_ = curator.numbers("signed sums", sums)\n'
CALL = '        return [Announced("signed sums")]\n'


def test_a_learner_of_only_sums_is_derived(make):
    statement = make({}).fit(X, Y).privacy_
    assert (statement.status, statement.caveat) == (DERIVED, "")
    assert "differentially private with epsilon = 1" in str(statement)
    assert "Sensitivities follow from how sums are made" in str(statement)
    assert PrivacyStatement.from_json(statement.to_json()) == statement
    entry = statement.ledger[0]
    assert (entry.sensitivity, entry.noise_rate) == (6, 1 / 6)
    assert entry.source == "docs/proofs.md, 'Derived sensitivities'"


@pytest.mark.parametrize(
    ("changes", "sensitivity"),
    [
        # A sum taken twice, or multiplied, changes twice as much, and its noise follows.
        ({ASK: ASK.replace("sums)", "sums + sums) / 2")}, 12),
        ({ASK: ASK.replace("sums)", "100 * sums) / 100")}, 600),
        ({ASK: ASK.replace("sums)", "np.concatenate([sums, sums]))[:3]")}, 12),
        ({"labels[:, None])": "labels[:, None] * 0.01)"}, 0.06),
    ],
)
def test_noise_follows_the_operations_on_rows_and_sums(make, changes, sensitivity):
    statement = make(changes).fit(X, Y).privacy_
    assert statement.status == DERIVED
    assert statement.ledger[0].sensitivity == pytest.approx(sensitivity, rel=1e-6)


LIES = {
    "too small a number": (
        {CALL: CALL.replace("sums\"", 'sums", l1=0.06, l2=0.03')},
        "0.06 is announced, and 6 follows",
    ),
    "less noise": (
        {ASK: '        call = curator.price("signed sums", sums).rescale(0.01)\n'
              "        self.weights_ = curator.numbers(call, sums)\n"},
        "0.06 is announced, and 6 follows",
    ),
    "the noise of smaller sums": (
        {ASK: '        call = curator.price("signed sums", sums * 0.01)\n'
              "        self.weights_ = curator.numbers(call, sums)\n"},
        "0.06 is announced, and 6 follows",
    ),
    "no sum": (
        {ASK: ASK.replace("sums)", "records.labels.sum(keepdims=True))")}, "is no sum of rows"
    ),
    "what is no sum, by the call of one": (
        {ASK: '        call = curator.price("signed sums", sums * 0.01)\n'
              "        self.weights_ = curator.numbers(call, np.sort(sums))\n"},
        "is no sum of rows",
    ),
    "labels, and no margins announced": (
        {ASK: '        self.weights_ = curator.signs("signed sums", sums)\n'}, "announce it"
    ),
    "noise of a loop, and nothing announced": (
        {ASK: '        curator.noise(curator.call("signed sums"), (3,))\n'}, "announce it"
    ),
    "asked twice": ({ASK: ASK + ASK}, "called more often than it is charged"),
    "asked of two sums": (
        {ASK: ASK + ASK.replace("sums)", "sums * 2)")}, "announced in the ledger"
    ),
    "never asked": ({ASK: "        self.weights_ = np.zeros(3)\n"}, "not called"),
    "what is public": ({ASK: ASK.replace("sums)", "(labels * 0 + 1).sum(keepdims=False))")},
                       "no record can change it"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), LIES.values(), ids=LIES)
def test_noise_can_not_be_understated(make, changes, why):
    with pytest.raises(DoorError, match=why):
        make(changes).fit(X, Y)


def test_bounds_of_codes_and_labels_follow_from_the_rows():
    """A learner cannot change the bounds: not by other classes, nor by writing into records."""
    labels = np.array([0, 9])
    records = Records(np.array([[0], [2]], np.uint8), labels, np.ones(2, np.int64), np.array([3]))
    inside = sealed_records(records, "own", 2).trusted()
    inside.n_bins[:] = 1
    codes, signs = Curator(np.random.default_rng(0)).rows(inside, n_classes=2)
    assert open_values(codes.sum(axis=0).moves(ADD_REMOVE).entries).tolist() == [2]
    assert open_values(codes[:, 0].one_hot(3).sum(axis=0)).tolist() == [1, 0, 1]
    assert open_values(signs).tolist() == [0, 1]


def test_nan_is_no_bound():
    curator = Curator(np.random.default_rng(0))
    call, curator.sealed_for = Announced("a", l1=1e-6, l2=1e-6), "own"
    curator.announce(noise_of("own", (call,), epsilon=1.0, status=PROVED))
    total = Sum.make(np.zeros(1), "own", one_cell((1,)))
    total._bounds = total._bounds._replace(change=Moves(np.ones(1), np.nan, np.nan, 1.0))
    with pytest.raises(DoorError, match="a sensitivity of 1e-06 is announced"):
        curator.numbers("a", total)


OWN_WORD = {
    "a kernel": {
        "        codes, labels = curator.rows(records)\n": "",
        "(places(codes, self.n_bins_) * labels[:, None]).sum(axis=0)": (
            "(records.counts * records.labels) @ kernel(places, rows=0)("
            "records.codes, self.n_bins_)"
        ),
        "Announced(\"signed sums\")": 'Announced("signed sums", l1=6, l2=4)',
        "import Announced\n": "import Announced\nfrom privcurve.privacy.sealed import kernel\n",
    },
    "a statement of its own": {
        "    def _scores(": (
            "    def _guarantee(self, n):\n"
            "        return self._noise_of(self._calls(n))\n\n"
            "    def _scores("
        )
    },
    "a fit of its own": {
        "    def _scores(": (
            "    def _fit_one(self, records, curator):\n"
            "        return super()._fit_one(records, curator)\n\n"
            "    def _scores("
        )
    },
    "several answers charged as one": {
        CALL: CALL.replace('sums")', 'sums", l1=6, l2=4, calls=2, parallel="disjoint leaves")'),
        ASK: ASK + ASK,
    },
    "nothing but noise, counted as a sum": {
        CALL: CALL.replace('sums")', 'sums", l1=0.1, l2=0.1)'),
        "import Announced\n": (
            "import Announced\nfrom privcurve.privacy.curator import Call\n"
            "from privcurve.privacy.sealed import kernel\n"
        ),
        ASK: (
            "        try:\n"
            '            curator.numbers(Call("laplace", np.inf), sums)\n'
            "        except OverflowError:\n"
            "            pass\n"
        ) + ASK.replace("sums)", "kernel(np.copy)(sums))"),
    },
    "a choice in a loop beside the sums": {
        CALL: CALL.replace(")]", ', share=0.5), Announced("labels", share=0.5, margins=2.0)]'),
        ASK: ASK + '        curator.signs("labels", sums)\n',
    },
}  # fmt: skip


@pytest.mark.parametrize("changes", OWN_WORD.values(), ids=OWN_WORD)
def test_a_sensitivity_that_cannot_be_derived_is_the_authors_claim(make, changes):
    assert make(changes).fit(X, Y).privacy_.status == CLAIMED


def test_records_that_were_written_into_are_no_rows(make):
    """A kernel may overwrite the records, but `curator.rows` takes only the records of the fit."""
    write = "        spoil(records.codes)\n        codes, labels = curator.rows(records)\n"
    spoil = "\n\n@kernel\ndef spoil(codes) -> None:\n    codes[:] = codes.max()\n"
    right = make({}).fit(X, Y).weights_
    spoilt = make({
        "        codes, labels = curator.rows(records)\n": write,
        '    return recipe("mean_vote")\n': f'    return recipe("mean_vote")\n{spoil}',
        "import Announced\n": "import Announced\nfrom privcurve.privacy.sealed import kernel\n",
    })  # fmt: skip
    assert np.array_equal(spoilt.fit(X, Y).weights_, right)
    replaced = make(
        {"curator.rows(records)": "curator.rows(records._replace(labels=records.labels))"}
    )
    with pytest.raises(SealedError, match="with a replaced part"):
        replaced.fit(X, Y)


def test_a_kernel_has_no_word_about_bounds(make):
    forged = (
        "\n\n@kernel\ndef forge(codes, bounds):\n"
        "    return Sum.make(codes.sum(axis=0), '', bounds)\n"
    )
    lying = make({
        ASK: ASK.replace("sums)", "forge(codes, (sums * 0.001)._bounds))"),
        '    return recipe("mean_vote")\n': f'    return recipe("mean_vote")\n{forged}',
        "import Announced\n": (
            "import Announced\nfrom privcurve.privacy.sealed import kernel\n"
            "from privcurve.privacy.sums import Sum\n"
        ),
    })  # fmt: skip
    with pytest.raises(SealedError, match=r"as an argument of a kernel|forge returns rows or sums"):
        lying.fit(X, Y)


def test_a_kernel_that_returns_a_sum_is_refused():
    total = kernel(lambda values: LoopSum.make(values, "", one_cell(values.shape)))
    sealed = LoopSum.make(np.ones(2), "own", one_cell((2,)))
    with pytest.raises(SealedError, match="returns rows or sums"):
        total(sealed)


def test_rows_are_of_records_in_one_memory():
    parts = PartedRecords((), np.array([2]))
    with pytest.raises(DoorError, match="partitioned records have no rows"):
        Curator(np.random.default_rng(0)).rows(parts)


def test_a_statement_cannot_declare_itself_derived(make):
    result = make({
        "    def _scores(": (
            "    def _noise_of(self, calls, **more):\n"
            '        return super()._noise_of(calls, status="derived")\n\n'
            "    def _scores("
        )
    })  # fmt: skip
    with pytest.raises(DoorError, match="status must not be 'derived'"):
        result.fit(X, Y)


def test_a_fit_that_announces_another_statement_is_claimed(make):
    other = make({
        "        codes, labels = curator.rows(records)\n": (
            "        curator.announce(replace(self._guarantee(0), neighbours='add-remove'))\n"
            "        codes, labels = curator.rows(records)\n"
        ),
        "import numpy as np\n": "from dataclasses import replace\n\nimport numpy as np\n",
    })  # fmt: skip
    assert other.fit(X, Y).privacy_.status == CLAIMED


def test_a_registered_loop_is_for_learners_of_this_project():
    """A registered loop takes arguments that a kernel may have computed from records."""
    statement = noise_of("own", (Announced("a"),), epsilon=1.0, status=PROVED)
    for has_theorems in (False, True):
        curator = Curator(np.random.default_rng(0))
        curator.sealed_for, curator.has_theorems = "own", has_theorems
        curator.announce(statement)
        loop = LoopSum.make(
            np.zeros(1), "own", Bounds(Moves.of(np.ones(1)), Moves.of(np.ones(1)), 1.0)
        )
        curator.numbers("a", loop)
        curator.check(statement)
        assert curator.derived == has_theorems


def test_what_is_made_of_a_registered_loop_counts_as_one():
    loop = LoopSum.make(np.zeros((2,)), "own", one_cell((2,)))
    rows = Sum.make(np.zeros((2,)), "own", one_cell((2,)))
    for made in (
        *(loop * 2.0, -loop, loop[:1], loop.norm1(), loop.reshape(1, 2), loop @ np.ones(2)),
        *(rows + loop, loop - rows, np.concatenate([rows, loop])),
    ):
        assert isinstance(made, LoopSum)


def test_a_theorem_may_be_sharper_than_the_rules(monkeypatch):
    def announce(page):
        call = Announced(MARGIN, l1=1.5, source=page)
        monkeypatch.setattr(NoisyMajorityClassifier, "_calls", lambda self, n: (call,))
        model = NoisyMajorityClassifier(n_bins=3, classes=(-1, 1), random_state=1)
        return model.fit(X, Y).privacy_

    assert announce("docs/proofs.md, 'Counts'").status == PROVED
    with pytest.raises(DoorError, match=r"1\.5 is announced, and 2 follows"):
        announce("me")

    class Mine(NoisyMajorityClassifier):
        def _calls(self, n):
            return (Announced(MARGIN, l1=1.5, source="docs/proofs.md, 'Counts'"),)

    with pytest.raises(DoorError, match=r"1\.5 is announced, and 2 follows"):
        Mine(n_bins=3, classes=(-1, 1)).fit(X, Y)


def test_for_add_remove_the_noise_is_smaller(make):
    changes = {
        "    approximate=True,\n": '    approximate=True,\n    neighbours=("add-remove",),\n',
    }
    statement = make(changes).fit(X, Y).privacy_
    assert (statement.status, statement.neighbours) == (DERIVED, ADD_REMOVE)
    assert statement.ledger[0].sensitivity == pytest.approx(3)


def test_a_choice_takes_its_range_from_the_sums(make):
    changes = {
        CALL: CALL.replace('signed sums")', 'choice", choice=True)'),
        ASK: '        k = curator.choose("choice", [sums[j].norm1() for j in range(3)])\n'
             "        self.weights_ = np.eye(3)[k]\n",
    }  # fmt: skip
    statement = make(changes).fit(X, Y).privacy_
    # A score changes by at most 2, so the difference of two scores changes by at most 4.
    assert statement.status == DERIVED
    assert statement.ledger[0].sensitivity == pytest.approx(2, rel=1e-5)


def test_more_records_than_integer_sums_hold_are_refused():
    model = NoisyMajorityClassifier(n_bins=3, classes=(-1, 1))
    with pytest.raises(ValueError, match="must be over at most 4,294,967,296 records"):
        model.fit([[0, 0], [1, 1]], [-1, 1], counts=[2**32, 1])


def test_a_pickle_keeps_its_status(make):
    model = make({}).fit(X, Y)
    model._fitted_statement = replace(model._fitted_statement, status=PROVED)
    assert model.privacy_.status == CLAIMED


def test_a_study_names_the_status_that_the_contract_found(make):
    from small_study import study_with

    from privcurve.audit import trial
    from privcurve.experiments import contracts
    from privcurve.learners import own
    from privcurve.outputs.answers import titles_of

    def method():
        made = study_with({"mine": {"learner": "mean_vote"}})
        return made.methods["mine"], titles_of(made)["mine"]

    make({})
    assert method()[1] == "Mean vote (claimed; contract not tried)"
    finding = trial.try_own("mean_vote")
    assert finding.result == own.KEPT, finding.why
    contracts.write("mean_vote", finding, contracts.digest("mean_vote"))
    mine, title = method()
    assert (title, mine.is_claimed) == ("Mean vote (derived; contract kept)", False)
    # The contract was tried on another version of the file.
    make({"2.0 * codes": "2 * (1.0 * codes)"})
    own._compute_version.cache_clear()
    assert method()[1] == "Mean vote (claimed; contract not tried)"
    make({"    def _scores(": (
        "    def _guarantee(self, n):\n        return self._noise_of(self._calls(n))\n\n"
        "    def _scores("
    )})  # fmt: skip
    own._compute_version.cache_clear()
    contracts.write("mean_vote", trial.try_own("mean_vote"), contracts.digest("mean_vote"))
    mine, title = method()
    assert (title, mine.is_claimed) == ("Mean vote (claimed; contract kept)", True)
