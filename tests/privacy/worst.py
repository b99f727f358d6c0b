"""Audits of claims, and of a learner on a pair, by the worst answers to a fit."""

from privcurve.audit.attacks.all import ATTACKS
from privcurve.audit.claim import DENSITY
from privcurve.audit.pairs import Target, records
from privcurve.audit.run import run
from privcurve.audit.worst_answers import worst_answers
from privcurve.learners import registry
from privcurve.learners.entry import Facts
from privcurve.privacy.budget import PUBLISHED

TARGET = Target("none", records([[0]], [1], [2]))


def density_claims(learner, calibration=PUBLISHED, **wanted):
    return [
        c
        for c in ATTACKS[learner]
        if (c.method, c.calibration) == (DENSITY, calibration)
        and all(getattr(c, name) == value for name, value in wanted.items())
    ]


def audit_rows(learner, **wanted):
    return run(density_claims(learner, **wanted), TARGET, 0, 1)


def worst_epsilon(name, pair, **parameters):
    n_bins = tuple(pair.left.n_bins)
    facts = Facts(n_bins, ordered=(True,) * len(n_bins))
    return worst_answers(registry.make(name, facts, parameters), pair)
