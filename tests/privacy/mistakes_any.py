"""Broken learners for tests of the contract: general mistakes, and mistakes of some learners.

A mistake replaces an attribute of the library by a few wrong lines. Three functions register it
with the contract's cases that must fail, and the condition that it breaks (such as NOISE):

- ``@mistake(owner, name, condition, *cases)`` on ``def wrong(own, *given)``: `own` is the correct
  attribute, `given` are its arguments;
- ``constant("a name", owner, name, value, condition, *cases)``: another value of an attribute;
- ``@breaks(condition, *cases)`` on ``def wrong(patch)``: any use of pytest's `monkeypatch`.

`MISTAKES` lists (patch, case, condition). ``gather()`` also imports the other modules
``mistakes_*.py`` here and in papers. `test_mistakes_by_name.py` runs all of them.
"""

import math
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from privcurve.audit.contract import CHARGE, CONTROL, NOISE, SEALED, SENSITIVITY, Case
from privcurve.holders.holder import LocalHolder
from privcurve.holders.sums import MessageNoise
from privcurve.learners import base, one_rule, random_trees
from privcurve.learners.additive import residuals, rule
from privcurve.learners.additive.decoder import Network
from privcurve.learners.additive.residuals import BinSums
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy import noise, sums
from privcurve.privacy.budget import ADD_REMOVE, PRIVATE_COLUMNS
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.noise import Announced
from privcurve.privacy.sealed import Noise, open_values

RULES = Case("lazybb", {"n_rounds": 3, "density": 0.5})
RULE = Case("one_rule", {})
TREE = Case("topdown", {"depth": 2})
MAJORITY = Case("noisy_majority", {})
ONE_COLUMN = Case("noisy_bayes", {"n_columns": 1})
COUNTS = Case("noisy_bayes", {})
BRC = Case("brc", {"n_rounds": 3})
BALL = Case("dp_logistic_regression", {})
TWO = {"n_trees": 2, "depth": 2}
VOTES = Case("dp_forest", TWO)
SIGNS = Case("bdpe", {**TWO, "votes": "sign", "delta": 1e-2})
BETA = Case("bdpe", {**TWO, "calibrate_alpha": "released"})
# Two ensembles of two trees each.
GRADIENT = {"n_trees": 4, "trees_per_ensemble": 2, "max_depth": 2, "learning_rate": 0.5}
BOOSTED = Case("dpboost", GRADIENT, sizes=(1, 2, 3, 40))
TEACHERS = {"n_teachers": 3, "n_partitions": 2, "n_queries": 3}
BAGGING = Case("dp_bagging", TEACHERS, sizes=(1, 30))
PATE = Case(
    "pate", {"n_teachers": 2, "n_answers": 12}, neighbours=PRIVATE_COLUMNS, sizes=(4, 12, 12)
)
ADDITIVE = Case("privgam", {})
ADDITIVE_DELTA = Case("privgam", {"delta": 1e-2})
CLASSES = Case("privgam", {}, n_classes=3)
CLASSES_DELTA = replace(ADDITIVE_DELTA, n_classes=3)
RUNS = Case("tuned", {"expected_runs": 2.0, "score_share": 0.5, "learner": "noisy_majority"})
LOCAL = Case("distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "local"})
SECURE = Case("distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "secure_sum"})
FOREST = Case(
    "random_trees",
    {"n_trees": 2, "batch": 1, "depth": 1, "delta": 1e-2, "n_holders": 3, "trust": "central"},
)

MISTAKES = []


def gather():
    """Import all modules of mistakes, here and in papers; return `MISTAKES`."""
    root = Path(__file__).parents[2]
    paths = (*root.glob("tests/privacy/mistakes_*.py"), *root.glob("papers/*/tests/mistakes_*.py"))
    for path in sorted(paths):
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        import_module(path.stem)
    return MISTAKES


def breaks(point, *cases):
    """Register a function that breaks the library with pytest's `monkeypatch`."""

    def registered(mistake):
        MISTAKES.extend((mistake, case, point) for case in cases if case.learner in LEARNERS)
        return mistake

    return registered


def mistake(owner, name, point=None, *cases):
    """Register a function that replaces an attribute of a class or module."""

    def registered(change):
        def put_in(patch):
            own = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, **more: change(own, *given, **more))

        put_in.__name__ = change.__name__
        return breaks(point, *cases)(put_in)

    return registered


def constant(called, owner, name, value, point, *cases):
    """Register another value of an attribute; `called` names the mistake."""

    def put_in(patch):
        patch.setattr(owner, name, value)

    put_in.__name__ = called
    return breaks(point, *cases)(put_in)


@breaks(SENSITIVITY, VOTES, BAGGING, SIGNS)
def noise_for_one_count(patch):
    """A learner with announced margins assumes that a record changes one margin by 1."""
    # Use the function without its cache, which would keep results across the patch.
    patch.setattr(base, "noise_of", noise.noise_of.__wrapped__)
    bound = Announced.bound
    patch.setattr(Announced, "bound", lambda self, pure: bound(self, pure) / 2)


@mistake(Curator, "noise", CHARGE, BOOSTED, Case("bdpe", TWO))
def the_same_noise_in_each_tree(own, self, calls, shape):
    """The noise of splits is drawn once and used for all trees."""
    if "kept" not in vars(self):
        self.kept = open_values(own(self, calls, shape))
    return Noise(self.kept, self.sealed_for)


# How the curator draws -------------------------------------------------------------------------


@mistake(Curator, "_numbers", NOISE, MAJORITY, COUNTS, ONE_COLUMN, BRC, BOOSTED)
def half_the_noise(own, self, call, exact):
    return own(self, call.rescale(0.5), exact)


@mistake(Curator, "_with_noise", NOISE, PATE, SIGNS)
def half_the_noise_of_a_margin(own, self, call, margins):
    return own(self, call.rescale(0.5), margins)


@mistake(Curator, "_whole_numbers", NOISE, CLASSES, RUNS)
def half_the_whole_noise(own, self, call, exact):
    return own(self, call.rescale(0.5), exact)


@mistake(Curator, "_share", NOISE, LOCAL, SECURE)
def half_a_share(own, self, call, *given):
    return own(self, call.rescale(0.5), *given)


@mistake(Curator, "_numbers", NOISE, COUNTS, VOTES)
def one_number_for_all(own, self, call, exact):
    return exact + (own(self, call, exact) - exact).flat[0]


@mistake(Curator, "_numbers", NOISE, MAJORITY, COUNTS)
def noise_of_single_precision(own, self, call, exact):
    drawn = self.coins.laplace(size=exact.shape)
    return exact + call.scale * drawn.astype(np.float32).astype(np.float64)


@mistake(Curator, "_numbers", NOISE, BRC)
def the_same_noise_again(own, self, call, exact):
    drawn = (own(self, call, exact) - exact) / call.scale
    return exact + call.scale * vars(self).setdefault("kept", drawn)


@mistake(Curator, "_whole_numbers", NOISE, ADDITIVE_DELTA)
def whole_noise_serves_again(own, self, call, exact):
    drawn = (own(self, call, exact) - exact).flat[0] / call.scale
    first = vars(self).setdefault("kept", drawn)
    return exact + np.rint(np.full(exact.shape, first * call.scale)).astype(np.int64)


@mistake(Curator, "_choose", NOISE, ONE_COLUMN)
def the_best_is_chosen(own, self, call, scores):
    return int(np.argmax(scores))


@mistake(Curator, "number", SEALED, MAJORITY, BRC, BETA)
def exact_number(own, self, call, exact):
    return exact


@mistake(Curator, "call", SENSITIVITY, BETA)
def budgets_swapped(own, self, what):
    """What is chosen gets the noise of what is counted, and the other way round."""
    first, *_, last = self._announced.values()
    return replace(own(self, what), scale=(last if own(self, what) == first else first).scale)


@mistake(Curator, "call", CHARGE, MAJORITY)
def gaussian_noise_for_a_pure_epsilon(own, self, what):
    return replace(own(self, what), mechanism="gaussian")


# A small learner, written wrongly --------------------------------------------------------------


def written(point, release, called):
    """The noisy majority with another `_release`, which is told the exact margin."""

    def released(own, self, records, curator):
        self.n_records_, self.n_features_used_ = records.n, 0
        margin = (records.counts * records.labels).sum()
        self.margin_ = release(margin, curator, records)

    released.__name__ = called
    return mistake(NoisyMajorityClassifier, "_release", point, MAJORITY)(released)


def noisy(margin, curator):
    return curator.number(MARGIN, margin)


def a_call_that_is_not_announced(margin, curator, records):
    curator.number(MARGIN, margin)
    return curator.number("another margin", margin)


RELEASES = {
    "no_call": (SEALED, lambda m, curator, records: m),
    "called_twice": (CHARGE, lambda m, door, _: (noisy(m, door) + noisy(m, door)) / 2),
    "scaled_to_nothing": (
        CHARGE, lambda m, door, _: door.number(door.call(MARGIN).rescale(0.0), m)
    ),
    "scaled_down": (
        SENSITIVITY, lambda m, door, _: door.number(door.call(MARGIN).rescale(0.5), m)
    ),
    "drawn_in_a_loop_of_its_own": (
        CHARGE, lambda m, door, _: float(door.generator([door.call(MARGIN)]).laplace(scale=2.0))
    ),
    "divides_by_zero": (CONTROL, lambda *_: 1 // 0),
    "a_call_that_is_not_announced": (CHARGE, a_call_that_is_not_announced),
}  # fmt: skip
WRITTEN = {name: written(point, release, name) for name, (point, release) in RELEASES.items()}


# Its statement ---------------------------------------------------------------------------------


def times_ten(statement, *fields):
    """A statement whose noise is a tenth of what it was, and other numbers ten times as large."""
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
    """The noisy majority with another statement."""

    def guarantee(own, self, n):
        return statement_of(own(self, n))

    guarantee.__name__ = called
    return mistake(NoisyMajorityClassifier, "_guarantee", point, MAJORITY)(guarantee)


WRITTEN |= {name: stated(point, change, name) for name, (point, change) in STATEMENTS.items()}


@mistake(sums.Sum, "moves", SENSITIVITY, COUNTS)
def noise_for_an_added_record(own, self, neighbours):
    return own(self, ADD_REMOVE)


# 1-rules and trees -----------------------------------------------------------------------------


@mistake(one_rule.OneRules, "train", CHARGE, RULES)
def same_numbers_in_all_rounds(own, self, rows, plan, curator, begin=None):
    class Once:
        @staticmethod
        def noise(calls, shape):
            once = open_values(curator.noise(calls[:1], (1, *shape[1:])))
            return Noise(np.broadcast_to(once, shape).copy(), "lazybb")

    return own(self, rows, plan, Once, begin)


# PrivGAM ---------------------------------------------------------------------------------------

constant("residuals_without_clip", residuals, "CLIP", 1.0, SENSITIVITY, ADDITIVE, CLASSES)


@mistake(rule, "sums_sensitivity", SENSITIVITY, ADDITIVE_DELTA, CLASSES)
def noise_for_an_added_residual(own, neighbours, *facts):
    return own(ADD_REMOVE, *facts)


@mistake(rule, "sums_sensitivity", SENSITIVITY, CLASSES, CLASSES_DELTA)
def noise_of_two_classes(own, neighbours, pure, n_classes, n_columns):
    return own(neighbours, pure, 2, n_columns)


@mistake(BinSums, "__init__", SENSITIVITY, CLASSES)
def classes_clipped_in_another_norm(own, self, *given):
    own(self, *given[:-1], 2)


@mistake(rule, "counts_sensitivity", SENSITIVITY, ADDITIVE, CLASSES_DELTA)
def noise_of_one_column_for_all(own, neighbours, pure, n_columns):
    return own(neighbours, pure, 1)


@mistake(Network, "shares_of", CHARGE, ADDITIVE, ADDITIVE_DELTA)
def releases_of_twice_the_budget(own, self, *facts):
    return [tuple(2 * share for share in shares) for shares in own(self, *facts)]


# Holders ---------------------------------------------------------------------------------------


def by_the_first_holder(point, *cases):
    """One of the holders, whose messages are made differently."""

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


@by_the_first_holder(CHARGE, LOCAL, SECURE)
def a_holder_without_noise(release):
    return release._replace(scale=0.0)


@by_the_first_holder(CHARGE, LOCAL)
def a_holder_with_half_the_noise(release):
    return release._replace(scale=release.scale / 2)


@by_the_first_holder(CHARGE, LOCAL)
def a_holder_that_is_charged_nothing(release):
    return release._replace(what="")


@mistake(Curator, "_holder", NOISE, LOCAL)
def holders_of_one_seed(own, self, start):
    return own(self, [1])


@mistake(random_trees, "random_trees", CHARGE, FOREST)
def leaves_for_an_added_record(own, **setting):
    noise = own(**setting)
    return replace(noise, scale=noise.scale / math.sqrt(2))
