"""Mistakes that any learner may make, and those of 1-rules, PrivGAM, holders and selection.

Each function takes pytest's `monkeypatch`; MISTAKES says which point of the contract it breaks.
"""

import math
from dataclasses import replace

import audit_broken as broken
import numpy as np
from audit_less_noise import privgam_with

from privcurve.audit.contract import (
    CHARGE,
    CONTROL,
    NOISE,
    POST_PROCESSING,
    SENSITIVITY,
    Case,
)
from privcurve.holders.holder import LocalHolder
from privcurve.learners import majority, random_trees, tuned
from privcurve.learners.additive.fitting import Fit
from privcurve.learners.base import CodedClassifier
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import EXACT, Curator
from privcurve.privacy.ledger import PrivacyStatement

# How the curator draws -------------------------------------------------------------------------


def half_the_noise(patch):
    """Numbers get noise of half of its scale."""
    own = Curator._numbers
    patch.setattr(Curator, "_numbers", lambda self, call, exact: own(self, call.scaled(0.5), exact))


def half_the_whole_noise(patch):
    """The same of whole numbers."""
    own = Curator._whole_numbers
    patch.setattr(
        Curator, "_whole_numbers", lambda self, call, exact: own(self, call.scaled(0.5), exact)
    )


def half_a_share(patch):
    """The same of a holder's share of noise."""
    own = Curator._share
    patch.setattr(Curator, "_share", lambda self, call, *given: own(self, call.scaled(0.5), *given))


def one_number_for_all(patch):
    """Numbers of one call get the same noise."""
    own = Curator._numbers

    def numbers(self, call, exact):
        return exact + (own(self, call, exact) - exact).flat[0]

    patch.setattr(Curator, "_numbers", numbers)


def whole_noise_serves_again(patch):
    """Whole numbers of all calls get the noise of the first."""
    own, kept = Curator._whole_numbers, {}

    def numbers(self, call, exact):
        drawn = own(self, call, exact) - exact
        first = kept.setdefault(self, drawn.flat[0] / call.scale)
        return exact + np.rint(np.full(exact.shape, first * call.scale)).astype(np.int64)

    patch.setattr(Curator, "_whole_numbers", numbers)


def the_best_is_chosen(patch):
    """A choice is made without noise."""
    patch.setattr(Curator, "_choose", lambda self, call, scores: int(np.argmax(scores)))


def exact_number(patch):
    """Single numbers get no noise."""
    patch.setattr(Curator, "number", lambda self, call, exact: exact)


def budgets_swapped(patch):
    """What is chosen gets the noise of what is counted, and the other way round."""
    call = Curator.call

    def swapped(self, what):
        first, *_, last = self._announced.values()
        scale = last.scale if call(self, what) == first else first.scale
        return replace(call(self, what), scale=scale)

    patch.setattr(Curator, "call", swapped)


def gaussian_noise_for_a_pure_epsilon(patch):
    """Numbers get Gaussian noise, which has no ε, where Laplace noise is announced."""
    call = Curator.call
    patch.setattr(
        Curator, "call", lambda self, what: replace(call(self, what), mechanism="gaussian")
    )


# A small learner, written wrongly --------------------------------------------------------------


def written(release):
    """The noisy majority with another `_release`, which is given the exact margin."""

    def mistake(patch):
        def released(self, records, curator):
            self.n_records_, self.n_features_used_ = records.n, 0
            margin = float(records.counts @ records.labels.astype(np.int64))
            self.margin_ = release(margin, curator, records)

        patch.setattr(NoisyMajorityClassifier, "_release", released)

    mistake.__name__ = release.__name__
    return mistake


@written
def no_call(margin, curator, records):
    return margin


@written
def noise_of_its_own(margin, curator, records):
    return margin + np.random.default_rng().laplace(scale=2.0)


@written
def noise_from_public_coins(margin, curator, records):
    return margin + curator.coins.laplace(scale=2.0)


@written
def an_answer_that_is_not_used(margin, curator, records):
    curator.number(MARGIN, margin)
    return margin


@written
def called_twice(margin, curator, records):
    return (curator.number(MARGIN, margin) + curator.number(MARGIN, margin)) / 2


@written
def scaled_to_nothing(margin, curator, records):
    return curator.number(curator.call(MARGIN).scaled(0.0), margin)


@written
def scaled_down(margin, curator, records):
    return curator.number(curator.call(MARGIN).scaled(0.5), margin)


@written
def a_call_that_is_not_announced(margin, curator, records):
    curator.number(MARGIN, margin)
    return curator.number("another margin", margin)


@written
def as_many_coins_as_records_agree(margin, curator, records):
    curator.coins.random(int(abs(margin)))
    return curator.number(MARGIN, margin)


@written
def calls_until_the_answer_is_right(margin, curator, records):
    while (answer := curator.number(MARGIN, margin)) * margin < 0:
        pass
    return answer


@written
def divides_by_the_exact_margin(margin, curator, records):
    return curator.number(MARGIN, margin) * (1 / int(margin) if margin >= 0 else 1)


@written
def divides_by_zero(margin, curator, records):
    return 1 // 0


@written
def an_index_beyond_the_records(margin, curator, records):
    return curator.number(MARGIN, margin) + records.labels[abs(int(margin))]


@written
def refuses_what_it_sees(margin, curator, records):
    if margin > 1:
        raise ValueError("too many positive records")
    return curator.number(MARGIN, margin)


@written
def not_a_number_for_a_record(margin, curator, records):
    return curator.number(MARGIN, np.nan if margin > 1 else margin)


@written
def drawn_in_a_loop_of_its_own(margin, curator, records):
    coins = curator.generator([curator.call(MARGIN)])
    return float(coins.laplace(scale=2.0))


@written
def a_model_of_a_value_that_cannot_be_read(margin, curator, records):
    curator.number(MARGIN, margin)
    return lambda: margin


@written
def the_sign_of_a_zero(margin, curator, records):
    curator.number(MARGIN, margin)
    return np.copysign(0.0, margin)


def promises_less(statement_of):
    """The noisy majority with another statement."""

    def mistake(patch):
        own = NoisyMajorityClassifier._guarantee
        patch.setattr(NoisyMajorityClassifier, "_guarantee", lambda s, n: statement_of(own(s, n)))

    mistake.__name__ = statement_of.__name__
    return mistake


@promises_less
def states_no_privacy(statement):
    return PrivacyStatement.not_private(statement.learner)


@promises_less
def states_ten_times_the_epsilon(statement):
    (entry,) = statement.ledger
    more = replace(entry, epsilon=10 * entry.epsilon, noise_rate=10 * entry.noise_rate)
    return replace(statement, epsilon=10 * statement.epsilon, ledger=(more,))


@promises_less
def states_other_neighbours(statement):
    return replace(statement, neighbours=ADD_REMOVE)


@promises_less
def a_ledger_that_costs_more_than_is_stated(statement):
    (entry,) = statement.ledger
    more = replace(entry, epsilon=10 * entry.epsilon, noise_rate=10 * entry.noise_rate)
    return replace(statement, ledger=(more,))


@promises_less
def a_ledger_that_costs_less_than_its_noise(statement):
    (entry,) = statement.ledger
    return replace(statement, ledger=(replace(entry, noise_rate=10 * entry.noise_rate),))


def noise_for_an_added_record(patch):
    """A replaced record is taken for an added one."""
    patch.setattr(majority, "margins_l1", lambda: 1.0)


# What is left on the model ---------------------------------------------------------------------


def left_on_the_model(value_of):
    """Any learner: something exact is left on the model."""

    def mistake(patch):
        fit = CodedClassifier._fit_batch

        def fitted(self, learners, records, curators):
            fit(self, learners, records, curators)
            for model in learners:
                model.left_ = value_of(records)

        patch.setattr(CodedClassifier, "_fit_batch", fitted)

    mistake.__name__ = value_of.__name__
    return mistake


@left_on_the_model
def labels_counted(records):
    return int(records.counts[records.labels > 0].sum())


@left_on_the_model
def bounds_of_columns(records):
    return [(int(column.min()), int(column.max())) for column in records.codes.T if len(column)]


@left_on_the_model
def medians_of_columns(records):
    return np.median(records.codes, axis=0) if len(records.codes) else 0.0


@left_on_the_model
def the_shape_of_nothing(records):
    return np.zeros((int(records.counts[records.labels > 0].sum()), 0))


@left_on_the_model
def number_of_records(records):
    return records.n


@left_on_the_model
def categories_as_words(records):
    return {f"code {code}": "seen" for code in np.unique(records.codes[:, 1])}


def categories_of_the_records(patch):
    """Numbers get noise where there is a record, and are 0 elsewhere: which codes occur shows."""
    own = Curator.numbers

    def numbers(self, call, exact):
        return np.where(np.asarray(exact) > 0, own(self, call, exact), 0.0)

    patch.setattr(Curator, "numbers", numbers)


def the_best_score_beside_the_choice(patch):
    """Naive Bayes: the score of the chosen column is left on the model."""
    release, choose = NoisyBayesClassifier._release, Curator.choose
    seen = {}

    def chosen(self, call, scores):
        seen[self] = max(scores)
        return choose(self, call, scores)

    def released(self, records, curator):
        release(self, records, curator)
        self.score_ = seen[curator]

    patch.setattr(Curator, "choose", chosen)
    patch.setattr(NoisyBayesClassifier, "_release", released)


# PrivGAM ---------------------------------------------------------------------------------------


def residuals_without_clip(patch):
    privgam_with(patch, "residuals without clip")


def noise_for_an_added_residual(patch):
    privgam_with(patch, "noise for add-remove")


def choices_for_nothing(patch):
    privgam_with(patch, "choices for nothing")


def pairs_without_noise(patch):
    """Sums of pairs of columns are exact."""
    noisy = Fit._noisy

    def released(self, exact, share, sensitivity, what):
        if not what.startswith("pairs"):
            return noisy(self, exact, share, sensitivity, what)
        entry = self._spend(share, self.budget.release, what, sensitivity)
        unit = 2.0**-self.budget.bits
        return exact * unit, (1 / entry.noise_rate) ** 2

    patch.setattr(Fit, "_noisy", released)


def columns_dropped_by_exact_sums(patch):
    """A column whose exact sums of residuals are small is dropped."""
    kept = Fit._kept

    def dropped(self, active):
        self._nothing = [float(np.abs(self.records.sums(j)[1]).sum() < 1) for j in active]
        return kept(self, active)

    patch.setattr(Fit, "_kept", dropped)


# Private selection -----------------------------------------------------------------------------


def exact_scores(patch):
    """A setting is kept by its exact score."""
    own = tuned.TunedClassifier._scored
    patch.setattr(
        tuned.TunedClassifier,
        "_scored",
        lambda self, model, records, curator, call: own(self, model, records, curator, EXACT),
    )


def scores_whose_noise_is_not_used(patch):
    """The score gets noise, and the exact one decides."""
    own = tuned.TunedClassifier._scored

    def scored(self, model, records, curator, call):
        own(self, model, records, curator, call)
        return own(self, model, records, curator, EXACT)

    patch.setattr(tuned.TunedClassifier, "_scored", scored)


def runs_that_spend_all(patch):
    """Each run is trained with the ε of the whole selection."""
    terms = tuned.terms

    def more(candidates, budget, *given):
        known = terms(candidates, budget, *given)
        return [replace(one, epsilon=budget.epsilon) for one in known]

    patch.setattr(tuned, "terms", more)


def runs_of_one_seed(patch):
    """All runs of a selection draw the same noise."""
    own = Curator._inner
    patch.setattr(Curator, "_inner", lambda self, words: own(self, [1]))


# Holders ---------------------------------------------------------------------------------------


def by_the_first_holder(change):
    """One of the holders, whose messages are made differently."""

    def mistake(patch):
        say, first = LocalHolder._say, {}

        def said(self, exact, release):
            # The first one that says anything, of each fit.
            mine = first.setdefault(id(self.questions), self) is self
            return say(self, exact, change(release) if mine else release)

        patch.setattr(LocalHolder, "_say", said)

    mistake.__name__ = change.__name__
    return mistake


@by_the_first_holder
def a_holder_without_noise(release):
    return release._replace(scale=0.0)


@by_the_first_holder
def a_holder_with_half_the_noise(release):
    return release._replace(scale=release.scale / 2)


@by_the_first_holder
def a_holder_that_is_charged_nothing(release):
    return release._replace(what="")


def holders_of_one_seed(patch):
    """All holders draw the same noise."""
    own = Curator._holder
    patch.setattr(Curator, "_holder", lambda self, words: own(self, [1]))


def leaves_for_an_added_record(patch):
    """Random trees: noise is for one record more, not for another one."""
    own = random_trees.random_trees

    def fewer(**setting):
        known = own(**setting)
        return replace(known, scale=known.scale / math.sqrt(2))

    patch.setattr(random_trees, "random_trees", fewer)


RULES = Case("lazybb", {"n_rounds": 3, "density": 0.5})
RULE = Case("one_rule", {})
TREE = Case("topdown", {"depth": 2})
MAJORITY = Case("noisy_majority", {})
ONE_COLUMN = Case("noisy_bayes", {"n_columns": 1})
COUNTS = Case("noisy_bayes", {})
GAM = Case("privgam", {"n_steps": 3})
CYCLIC = Case("privgam", {"method": "cyclic", "n_rounds": 3, "delta": 1e-2})
PAIRS = replace(CYCLIC, parameters={**CYCLIC.parameters, "n_rounds": 2, "pairs": "yes"})
ADDED = Case(
    "privgam",
    {"n_steps": 3, "neighbours": ADD_REMOVE, "n_estimate": 10},
    neighbours=ADD_REMOVE,
    sizes=(2, 3, 12),
)
RUNS = Case("tuned", {"expected_runs": 2.0, "score_share": 0.5, "learner": "noisy_majority"})
LOCAL = Case("distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "local"})
SECURE = Case("distributed_topdown", {"depth": 2, "n_holders": 2, "trust": "secure_sum"})
FOREST = Case(
    "random_trees",
    {"n_trees": 2, "batch": 1, "depth": 1, "delta": 1e-2, "n_holders": 3, "trust": "central"},
)

MISTAKES = [
    (half_the_noise, MAJORITY, NOISE),
    (broken.noise_of_single_precision, MAJORITY, NOISE),
    (broken.noise_of_single_precision, COUNTS, NOISE),
    (half_the_noise, COUNTS, NOISE),
    (half_the_whole_noise, GAM, NOISE),
    (half_the_whole_noise, RUNS, NOISE),
    (half_a_share, LOCAL, NOISE),
    (half_a_share, SECURE, NOISE),
    (one_number_for_all, COUNTS, NOISE),
    (whole_noise_serves_again, CYCLIC, NOISE),
    (the_best_is_chosen, ONE_COLUMN, NOISE),
    (exact_number, MAJORITY, CHARGE),
    (budgets_swapped, ONE_COLUMN, SENSITIVITY),
    (gaussian_noise_for_a_pure_epsilon, MAJORITY, CHARGE),
    (no_call, MAJORITY, CHARGE),
    (noise_of_its_own, MAJORITY, CHARGE),
    (noise_from_public_coins, MAJORITY, CHARGE),
    (an_answer_that_is_not_used, MAJORITY, POST_PROCESSING),
    (called_twice, MAJORITY, CHARGE),
    (scaled_to_nothing, MAJORITY, CHARGE),
    (scaled_down, MAJORITY, SENSITIVITY),
    (a_call_that_is_not_announced, MAJORITY, CHARGE),
    (as_many_coins_as_records_agree, MAJORITY, CONTROL),
    (calls_until_the_answer_is_right, MAJORITY, CONTROL),
    (divides_by_the_exact_margin, MAJORITY, CONTROL),
    (divides_by_zero, MAJORITY, CONTROL),
    (an_index_beyond_the_records, MAJORITY, CONTROL),
    (refuses_what_it_sees, MAJORITY, CONTROL),
    (not_a_number_for_a_record, MAJORITY, SENSITIVITY),
    (drawn_in_a_loop_of_its_own, MAJORITY, CHARGE),
    (a_model_of_a_value_that_cannot_be_read, MAJORITY, POST_PROCESSING),
    (the_sign_of_a_zero, MAJORITY, POST_PROCESSING),
    (states_no_privacy, MAJORITY, CHARGE),
    (states_ten_times_the_epsilon, MAJORITY, CHARGE),
    (states_other_neighbours, MAJORITY, CHARGE),
    (a_ledger_that_costs_more_than_is_stated, MAJORITY, CHARGE),
    (a_ledger_that_costs_less_than_its_noise, MAJORITY, SENSITIVITY),
    (noise_for_an_added_record, MAJORITY, SENSITIVITY),
    (labels_counted, COUNTS, POST_PROCESSING),
    (labels_counted, Case("brc", {"n_rounds": 3}), POST_PROCESSING),
    (labels_counted, Case("dp_forest", {"n_trees": 2, "depth": 2}), POST_PROCESSING),
    (labels_counted, Case("dp_logistic_regression", {}), POST_PROCESSING),
    (bounds_of_columns, COUNTS, POST_PROCESSING),
    (medians_of_columns, COUNTS, POST_PROCESSING),
    (categories_as_words, COUNTS, POST_PROCESSING),
    (the_shape_of_nothing, COUNTS, POST_PROCESSING),
    (number_of_records, ADDED, POST_PROCESSING),
    (categories_of_the_records, COUNTS, POST_PROCESSING),
    (the_best_score_beside_the_choice, ONE_COLUMN, POST_PROCESSING),
    (broken.same_numbers_in_all_rounds, RULES, CHARGE),
    (broken.stops_when_all_are_right, RULES, POST_PROCESSING),
    (broken.counts_distinct_rows, RULE, SENSITIVITY),
    (broken.counts_distinct_rows, RULES, SENSITIVITY),
    (broken.empty_leaves_say_nothing, TREE, POST_PROCESSING),
    (residuals_without_clip, GAM, SENSITIVITY),
    (noise_for_an_added_residual, GAM, SENSITIVITY),
    (choices_for_nothing, GAM, CHARGE),
    (pairs_without_noise, PAIRS, POST_PROCESSING),
    (columns_dropped_by_exact_sums, CYCLIC, CONTROL),
    (exact_scores, RUNS, CHARGE),
    (scores_whose_noise_is_not_used, RUNS, POST_PROCESSING),
    (runs_that_spend_all, RUNS, CHARGE),
    (runs_of_one_seed, RUNS, NOISE),
    (a_holder_without_noise, LOCAL, CHARGE),
    (a_holder_without_noise, SECURE, CHARGE),
    (a_holder_with_half_the_noise, LOCAL, SENSITIVITY),
    (a_holder_that_is_charged_nothing, LOCAL, CHARGE),
    (holders_of_one_seed, LOCAL, NOISE),
    (leaves_for_an_added_record, FOREST, SENSITIVITY),
]
