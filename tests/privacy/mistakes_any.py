"""Mistakes in learners and in the curator, each with the contract's cases that must find it.

A mistake is a function ``mistake(monkeypatch)`` that breaks the library. It is registered with the
condition of the contract that it breaks, such as NOISE, and with the cases that must fail. The
other modules ``mistakes_*.py``, here and in papers, register theirs; `test_contract.py` runs all.
"""

import math
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from privcurve.audit.contract import CHARGE, CONTROL, NOISE, SEALED, SENSITIVITY, Case
from privcurve.audit.contract_cases import OF_MANY_RECORDS, WIDE
from privcurve.learners import base, one_rule, random_trees
from privcurve.learners.additive import residuals, rule
from privcurve.learners.additive.decoder import Network
from privcurve.learners.additive.residuals import BinSums
from privcurve.learners.holders.holder import LocalHolder
from privcurve.learners.holders.sums import MessageNoise
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy import noise, sums
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import Noise, open_values

LAZYBB = Case("lazybb", {"n_rounds": 3, "density": 0.5})
ONE_RULE = Case("one_rule", {})
TOPDOWN = Case("topdown", {"depth": 2})
NOISY_MAJORITY = Case("noisy_majority", {})
NOISY_BAYES_ONE_COLUMN = Case("noisy_bayes", {"n_columns": 1})
NOISY_BAYES = Case("noisy_bayes", {})
BRC = Case("brc", {"n_rounds": 3})
DP_LOGISTIC_REGRESSION = Case("dp_logistic_regression", {})
TWO_TREES = {"n_trees": 2, "depth": 2}
DP_FOREST = Case("dp_forest", TWO_TREES)
BDPE_SIGN_VOTES = Case("bdpe", {**TWO_TREES, "votes": "sign", "delta": 1e-2})
BDPE_RELEASED_ALPHA = Case("bdpe", {**TWO_TREES, "calibrate_alpha": "released"})
# Two ensembles of two trees each.
DPBOOST_PARAMETERS = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}
DPBOOST = Case("dpboost", DPBOOST_PARAMETERS, sizes=(1, 2, 3, 40))
TEACHERS = {"n_teachers": 3, "n_partitions": 2, "n_queries": 3}
DP_BAGGING = Case("dp_bagging", TEACHERS, sizes=(1, 30))
PATE = Case(
    "pate", {"n_teachers": 2, "n_answers": 12}, neighbours=PRIVATE_COLUMNS, sizes=(4, 12, 12)
)
PRIVGAM = Case("privgam", {})
PRIVGAM_DELTA = Case("privgam", {"delta": 1e-2})
PRIVGAM_CHOOSES = Case("privgam", {}, sizes=(1, 3, 12), bins=WIDE, idle=OF_MANY_RECORDS)
PRIVGAM_3_CLASSES = Case("privgam", {}, n_classes=3)
PRIVGAM_3_CLASSES_DELTA = replace(PRIVGAM_DELTA, n_classes=3)
TUNED = Case("tuned", {"expected_runs": 2.0, "score_share": 0.5, "learner": "noisy_majority"})
HOLDERS_LOCAL = Case("distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "local"})
HOLDERS_SECURE_SUM = Case(
    "distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "secure_sum"}
)
RANDOM_TREES = Case(
    "random_trees",
    {"n_trees": 2, "batch": 1, "depth": 1, "delta": 1e-2, "n_holders": 3, "trust": "central"},
)

MISTAKES = []


def all_mistakes():
    """Import all modules ``mistakes_*.py``; return their (mistake, case, condition)."""
    root = Path(__file__).parents[2]
    paths = (*root.glob("tests/privacy/mistakes_*.py"), *root.glob("papers/*/tests/mistakes_*.py"))
    for path in sorted(paths):
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        import_module(path.stem)
    return MISTAKES


def breaks(point, *cases):
    """Register a function ``mistake(monkeypatch)`` that breaks the condition `point` in all cases.

    ``@breaks(NOISE, NOISY_MAJORITY)`` above ``def half_the_noise(patch)``.
    """

    def registered(mistake):
        MISTAKES.extend((mistake, case, point) for case in cases if case.learner in LEARNERS)
        return mistake

    return registered


def replacement_of(owner, name, point=None, *cases):
    """Register a function that replaces ``owner.name``, a method or function of the library.

    The function gets the original and its arguments::

        @replacement_of(Curator, "_choose", NOISE, NOISY_BAYES)
        def the_best_is_chosen(original, self, call, scores):
            return int(np.argmax(scores))

    Return a function that makes the replacement with pytest's `monkeypatch`.
    """

    def registered(change):
        def put_in(patch):
            own = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, **more: change(own, *given, **more))

        put_in.__name__ = change.__name__
        return breaks(point, *cases)(put_in)

    return registered


def replace_constant(called, owner, name, value, point, *cases):
    """Register another value of the constant ``owner.name``; `called` names the mistake."""

    def put_in(patch):
        patch.setattr(owner, name, value)

    put_in.__name__ = called
    return breaks(point, *cases)(put_in)


@breaks(SENSITIVITY, DP_FOREST, DP_BAGGING, BDPE_SIGN_VOTES)
def noise_for_one_count(patch):
    """A learner with announced margins assumes that a record changes one margin by 1."""
    # Use the function without its cache, which would keep results across the patch.
    patch.setattr(base, "noise_of", noise.noise_of.__wrapped__)
    bound = Announced.bound
    patch.setattr(Announced, "bound", lambda self, pure: bound(self, pure) / 2)


@replacement_of(Curator, "noise", CHARGE, DPBOOST, Case("bdpe", TWO_TREES))
def the_same_noise_in_each_tree(original, self, calls, shape):
    """The noise of splits is drawn once and used for all trees."""
    if "kept" not in vars(self):
        self.kept = open_values(original(self, calls, shape))
    return Noise(self.kept, self.sealed_for)


# Draws of the curator --------------------------------------------------------------------------


@replacement_of(
    Curator, "_numbers", NOISE, NOISY_MAJORITY, NOISY_BAYES, NOISY_BAYES_ONE_COLUMN, BRC, DPBOOST
)
def half_the_noise(original, self, call, exact):
    return original(self, call.rescale(0.5), exact)


@replacement_of(Curator, "_with_noise", NOISE, PATE, BDPE_SIGN_VOTES)
def half_the_noise_of_a_margin(original, self, call, margins):
    return original(self, call.rescale(0.5), margins)


@replacement_of(Curator, "_whole_numbers", NOISE, PRIVGAM_3_CLASSES, TUNED)
def half_the_whole_noise(original, self, call, exact):
    return original(self, call.rescale(0.5), exact)


@replacement_of(Curator, "_share", NOISE, HOLDERS_LOCAL, HOLDERS_SECURE_SUM)
def half_a_share(original, self, call, *given):
    return original(self, call.rescale(0.5), *given)


@replacement_of(Curator, "_numbers", NOISE, NOISY_BAYES, DP_FOREST)
def one_number_for_all(original, self, call, exact):
    return exact + (original(self, call, exact) - exact).flat[0]


@replacement_of(Curator, "_numbers", NOISE, NOISY_MAJORITY, NOISY_BAYES)
def noise_of_single_precision(original, self, call, exact):
    drawn = self.coins.laplace(size=exact.shape)
    return exact + call.scale * drawn.astype(np.float32).astype(np.float64)


@replacement_of(Curator, "_numbers", NOISE, BRC)
def the_same_noise_again(original, self, call, exact):
    drawn = (original(self, call, exact) - exact) / call.scale
    return exact + call.scale * vars(self).setdefault("kept", drawn)


@replacement_of(Curator, "_whole_numbers", NOISE, PRIVGAM_DELTA)
def whole_noise_serves_again(original, self, call, exact):
    drawn = (original(self, call, exact) - exact).flat[0] / call.scale
    first = vars(self).setdefault("kept", drawn)
    return exact + np.rint(np.full(exact.shape, first * call.scale)).astype(np.int64)


@replacement_of(Curator, "_choose", NOISE, NOISY_BAYES_ONE_COLUMN)
def the_best_is_chosen(original, self, call, scores):
    return int(np.argmax(scores))


@replacement_of(Curator, "number", SEALED, NOISY_MAJORITY, BRC, BDPE_RELEASED_ALPHA)
def exact_number(original, self, call, exact):
    return exact


@replacement_of(Curator, "call", SENSITIVITY, BDPE_RELEASED_ALPHA)
def budgets_swapped(original, self, what):
    """A choice gets the noise of a count, and a count the noise of a choice."""
    first, *_, last = self._announced.values()
    return replace(
        original(self, what), scale=(last if original(self, what) == first else first).scale
    )


@replacement_of(Curator, "call", CHARGE, NOISY_MAJORITY)
def gaussian_noise_for_a_pure_epsilon(original, self, what):
    return replace(original(self, what), mechanism="gaussian")


# A small learner, written wrongly --------------------------------------------------------------


def written(point, release, called):
    """Register a noisy majority whose result is ``release(exact margin, curator, records)``."""

    def released(original, self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        margin = (records.counts * records.labels).sum()
        self.margin_ = release(margin, curator, records)

    released.__name__ = called
    return replacement_of(NoisyMajorityClassifier, "_release", point, NOISY_MAJORITY)(released)


def noisy(margin, curator):
    return curator.number(MARGIN, margin)


def a_call_that_is_not_announced(margin, curator, records):
    curator.number(MARGIN, margin)
    return curator.number("another margin", margin)


RELEASES = {
    "no_call": (SEALED, lambda m, curator, records: m),
    "called_twice": (CHARGE, lambda m, curator, _: (noisy(m, curator) + noisy(m, curator)) / 2),
    "scaled_to_nothing": (
        CHARGE, lambda m, curator, _: curator.number(curator.call(MARGIN).rescale(0.0), m)
    ),
    "scaled_down": (
        SENSITIVITY, lambda m, curator, _: curator.number(curator.call(MARGIN).rescale(0.5), m)
    ),
    "drawn_in_a_loop_of_its_own": (
        CHARGE,
        lambda m, curator, _: float(curator.generator([curator.call(MARGIN)]).laplace(scale=2.0)),
    ),
    "divides_by_zero": (CONTROL, lambda *_: 1 // 0),
    "a_call_that_is_not_announced": (CHARGE, a_call_that_is_not_announced),
}  # fmt: skip
MISTAKES_IN_NOISY_MAJORITY = {
    name: written(point, release, name) for name, (point, release) in RELEASES.items()
}


# Wrong statements ------------------------------------------------------------------------------


def times_ten(statement, *fields):
    """Return a statement with a tenth of the noise, and ten times the values of `fields`."""
    (entry,) = statement.ledger
    changes = {name: 10 * getattr(entry, name) for name in ("noise_rate", *fields)}
    return replace(statement, ledger=(replace(entry, **changes),))


STATEMENTS = {
    "states_no_privacy": (CHARGE, lambda said: PrivacyStatement.not_private(said.learner)),
    "states_ten_times_the_epsilon": (
        CHARGE, lambda said: replace(times_ten(said, "epsilon"), epsilon=10 * said.epsilon)
    ),
    "states_other_neighbours": (CHARGE, lambda said: replace(said, neighbours=ADD_REMOVE)),
    "a_ledger_that_costs_more_than_is_stated": (CHARGE, lambda said: times_ten(said, "epsilon")),
    "a_ledger_that_costs_less_than_its_noise": (SENSITIVITY, times_ten),
}  # fmt: skip


def stated(point, statement_of, called):
    """Register a noisy majority that states ``statement_of(its true statement)``."""

    def guarantee(original, self, n):
        return statement_of(original(self, n))

    guarantee.__name__ = called
    return replacement_of(NoisyMajorityClassifier, "_guarantee", point, NOISY_MAJORITY)(guarantee)


MISTAKES_IN_NOISY_MAJORITY |= {
    name: stated(point, change, name) for name, (point, change) in STATEMENTS.items()
}


@replacement_of(sums.Sum, "moves", SENSITIVITY, NOISY_BAYES)
def noise_for_an_added_record(original, self, neighbours):
    return original(self, ADD_REMOVE)


# 1-rules and trees -----------------------------------------------------------------------------


@replacement_of(one_rule.OneRules, "train", CHARGE, LAZYBB)
def same_numbers_in_all_rounds(original, self, rows, plan, curator, begin=None):
    class Once:
        @staticmethod
        def noise(calls, shape):
            once = open_values(curator.noise(calls[:1], (1, *shape[1:])))
            return Noise(np.broadcast_to(once, shape).copy(), "lazybb")

    return original(self, rows, plan, Once, begin)


# PrivGAM ---------------------------------------------------------------------------------------

replace_constant(
    "residuals_without_clip", residuals, "CLIP", 1.0, SENSITIVITY, PRIVGAM, PRIVGAM_3_CLASSES
)


@replacement_of(rule, "sums_sensitivity", SENSITIVITY, PRIVGAM_DELTA, PRIVGAM_3_CLASSES)
def noise_for_an_added_residual(original, neighbours, *facts):
    return original(ADD_REMOVE, *facts)


@replacement_of(rule, "sums_sensitivity", SENSITIVITY, PRIVGAM_3_CLASSES, PRIVGAM_3_CLASSES_DELTA)
def noise_of_two_classes(original, neighbours, pure, n_classes, n_columns):
    return original(neighbours, pure, 2, n_columns)


@replacement_of(BinSums, "__init__", SENSITIVITY, PRIVGAM_3_CLASSES)
def classes_clipped_in_another_norm(original, self, *given):
    original(self, *given[:-1], 2)


@replacement_of(rule, "counts_sensitivity", SENSITIVITY, PRIVGAM, PRIVGAM_3_CLASSES_DELTA)
def noise_of_one_column_for_all(original, neighbours, pure, n_columns):
    return original(neighbours, pure, 1)


@replacement_of(Network, "shares_of", CHARGE, PRIVGAM, PRIVGAM_DELTA)
def releases_of_twice_the_budget(original, self, *facts):
    return [tuple(2 * share for share in shares) for shares in original(self, *facts)]


replace_constant(
    "half_of_the_range_of_a_choice", rule, "SCORE_RANGE", 1.0, SENSITIVITY, PRIVGAM_CHOOSES
)


@replacement_of(residuals, "column_scores", SENSITIVITY, PRIVGAM_CHOOSES)
def scores_not_divided_by_the_number_of_records(original, counts, totals, *given):
    return original(counts, totals, *given) * totals.sum()


@replacement_of(rule, "plan", CHARGE, PRIVGAM_CHOOSES)
def choices_that_no_ledger_lists(original, facts):
    made = original(facts)
    return made._replace(ledger=made.ledger[len(made.choices) :])


@replacement_of(rule, "plan", CHARGE, PRIVGAM_CHOOSES)
def columns_chosen_once_more(original, facts):
    made = original(facts)
    return made._replace(choices=(*made.choices, *made.choices[:1]))


@replacement_of(Curator, "_choose_exactly", NOISE, PRIVGAM_CHOOSES)
def the_best_column_is_chosen(original, self, call, scores):
    return int(np.argmax(scores))


# Holders ---------------------------------------------------------------------------------------


def first_holder_uses(point, *cases):
    """Register a function that changes the noise of the first holder's messages only."""

    def registered(change):
        def put_in(patch):
            make, say, first = LocalHolder.__init__, MessageNoise.messages, {}

            def made(self, rows, questions, *given):
                make(self, rows, questions, *given)
                # Holders of a fit share its questions.
                first.setdefault(id(questions), self.curator)

            def said(self, exact, curator):
                mine = any(one is curator for one in first.values())
                return say(change(self) if mine else self, exact, curator)

            patch.setattr(LocalHolder, "__init__", made)
            patch.setattr(MessageNoise, "messages", said)

        put_in.__name__ = change.__name__
        return breaks(point, *cases)(put_in)

    return registered


@first_holder_uses(CHARGE, HOLDERS_LOCAL, HOLDERS_SECURE_SUM)
def a_holder_without_noise(release):
    return release._replace(scale=0.0)


@first_holder_uses(CHARGE, HOLDERS_LOCAL)
def a_holder_with_half_the_noise(release):
    return release._replace(scale=release.scale / 2)


@first_holder_uses(CHARGE, HOLDERS_LOCAL)
def a_holder_that_is_charged_nothing(release):
    return release._replace(what="")


@replacement_of(Curator, "_holder", NOISE, HOLDERS_LOCAL)
def holders_of_one_seed(original, self, start):
    return original(self, [1])


@replacement_of(random_trees, "random_trees", CHARGE, RANDOM_TREES)
def leaves_for_an_added_record(original, **setting):
    noise = original(**setting)
    return replace(noise, scale=noise.scale / math.sqrt(2))
