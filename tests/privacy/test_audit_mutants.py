"""The audit's claims are strict: each row flags its learner when the noise is broken.

A mutant is a learner with too little noise: a patch reduces the noise where it is scaled, and a
claim of the default run audits it. Seeds are fixed. A *sound* learner is flagged with probability
at most VERDICT_ERROR over all rows of a run. Rows have fewer trainings here than in a run, which
makes a mutant harder to see.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from audit_less_noise import BREAK, curator_with
from mistakes_any import one_number_for_all

from privcurve.audit.attacks import pairs as audited
from privcurve.audit.attacks.all import ATTACKS, COMPARISONS
from privcurve.audit.attacks.one_rules import large_balance
from privcurve.audit.claim import SAMPLED
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import VIOLATED, run
from privcurve.audit.states import sample_states
from privcurve.learners.registry import LEARNERS, estimator_class
from privcurve.privacy.budget import PROVED
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.sealed import open_values

pytestmark = pytest.mark.usefixtures("announced_margin")

RNG = np.random.default_rng(5)
TARGET = Target("drawn", records(RNG.integers(0, 3, (60, 2)), RNG.choice([-1, 1], 60), [3, 3]))
SEED = 7
# Peers draw their own noise: see `test_canaries.py`.
OURS = {name: claims for name, claims in ATTACKS.items() if not LEARNERS[name].peer}
CLAIMS = list(itertools.chain.from_iterable(OURS.values()))


def kind(c):
    """Return the parts of a claim that do not depend on its setting."""
    return c.learner, c.method, getattr(c.pairs, "__name__", c.neighbours)


def verdict(c, n_trainings):
    fewer = c if c.method != SAMPLED else replace(c, n_trainings=min(n_trainings, c.n_trainings))
    return run([fewer], TARGET, SEED, COMPARISONS).iloc[0]["verdict"]


# Mutants -------------------------------------------------------------------------------


def remembering_with(patch, kind):
    """Make a learner remember the label of every row, so that its score reveals the label."""
    fit, scores = kind._fit_batch, kind._scores

    def fitted(self, learners, records, curators):
        fit(self, learners, records, curators)
        # Of equal rows the first counts, and the canary comes first. A learner cannot open the
        # records; this simulates one that could.
        exact = open_values(records)
        rows = list(zip(exact.codes, exact.labels.tolist(), strict=True))
        seen = {row.tobytes(): sign for row, sign in reversed(rows)}
        for model in learners:
            model._remembered = seen

    def scored(self, codes):
        return scores(self, codes) + [1e6 * self._remembered[row.tobytes()] for row in codes]

    patch.setattr(kind, "_fit_batch", fitted)
    patch.setattr(kind, "_scores", scored)


def unnoticed(patch, less_noise, share):
    """Reduce noise, and hide from the fit that its runs spend more than their charge."""
    less_noise(patch, share)
    patch.setattr(PrivacyStatement, "epsilon_spent", property(lambda text: text.epsilon))


def mutant_of(c):
    """Return a mistake for a claim, and a small number of trainings that shows it.

    Usually there is almost no noise. If the revealing outcome would then never occur, a third of
    the noise stays; and on many records one training shows that a learner remembers them.
    """
    if c.setting.get("noise") == "box":
        return lambda patch: curator_with(patch, 1 / 40), 300
    if c.pairs is audited.rare_in_part:
        return lambda patch: remembering_with(patch, estimator_class(c.learner)), 160
    if c.learner in ("one_rule", "lazybb") and c.pairs in RARE_OUTCOMES:
        # Published 1-rules have twice the necessary noise.
        share = 1 / (2.5 if c.learner == "one_rule" else 3)
        share *= 1 if c.calibration == PROVED else 1 / 2
        if c.method == SAMPLED and c.learner == "lazybb":
            # With a third of the noise, so few trainings show no violation; without noise the
            # revealing outcome does not occur.
            share = 1 / 10
        return lambda patch: BREAK[c.learner](patch, share), 30_000
    trainings = {"aim": 600, "dpboost": 1000, "privgam": 400, "dp_bagging": 200, "brc": 200}
    share = 1 / 100 if c.pairs is audited.hidden_few or c.learner == "dpboost" else 1 / 40
    return lambda patch: unnoticed(patch, BREAK[c.learner], share), trainings.get(c.learner, 300)


RARE_OUTCOMES = audited.four_constant, large_balance

# The first claim of each kind; a mutant breaks other settings in the same place.
KINDS = {kind(c): c for c in reversed(CLAIMS)}.values()
# A claim on these learners takes a second or two; the other learners are slow.
SHORT = {"noisy_majority", "noisy_bayes"}
QUICK = {(c.learner, c.method): c for c in reversed(CLAIMS) if c.learner in SHORT}.values()


def test_each_learner_has_a_mutant():
    assert set(BREAK) == set(OURS)


@pytest.mark.parametrize(
    "c",
    [pytest.param(c, marks=[] if c in QUICK else [pytest.mark.slow]) for c in KINDS],
    ids=lambda c: "-".join(kind(c)),
)
def test_a_claim_of_each_kind_flags_a_mutant(monkeypatch, c):
    mistake, n_trainings = mutant_of(c)
    mistake(monkeypatch)
    assert verdict(c, n_trainings) == VIOLATED


@pytest.mark.slow
def test_whole_states_show_one_number_for_all(monkeypatch):
    """The recipe of docs/audit.md: all attributes of real fits, on tiny neighbours."""
    one_number_for_all(monkeypatch)
    (c,) = [c for c in ATTACKS["dpboost"] if c.sample is sample_states and c.delta]
    assert verdict(c, 500) == VIOLATED
