"""Mistakes of learners, releases and cards: the leaked fact, and the check that finds it.

Each of `MUTANTS` is tried here; `test_mistakes_elsewhere.py` lists mistakes with their own test.
"""

import contextlib
import importlib
import logging
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from broken_majority import X, Y
from mistakes_any import NOISY_BAYES, NOISY_MAJORITY, TUNED, replacement_of
from test_mistakes_elsewhere import NAMED
from test_release_contract import share_of_positive

from privcurve import models
from privcurve.audit.contract import Case, check
from privcurve.audit.contract_cases import CASES, EPSILONS, cases_of
from privcurve.audit.distant import check_distant, check_in_parts
from privcurve.audit.kept_runs import check_runs
from privcurve.audit.replay_fits import CHARGE, CONTROL, NOISE, POST_PROCESSING, SENSITIVITY
from privcurve.learners import base, tuned
from privcurve.learners.base import CodedClassifier
from privcurve.learners.majority import MARGIN, NoisyMajorityClassifier
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.learners.tuned import TunedClassifier
from privcurve.privacy import parts
from privcurve.privacy.account import DoorError
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.calibration import trees
from privcurve.privacy.curator import Curator
from privcurve.privacy.sealed import kernel
from privcurve.privacy.selection import Runs, runs
from privcurve.releases import evaluation, holdout
from privcurve.releases import release as releasing
from privcurve.releases.contract import CLASSES, PERSONS, check_release, requests
from privcurve.releases.request import Request

pytestmark = pytest.mark.usefixtures("announced_margin")


class Mutant(NamedTuple):
    """A mistake, the fact that it leaks, and the check that refuses it with a reason."""

    name: str
    out: str
    put_in: object  # function of `monkeypatch`
    check: object  # returns (point, why)
    point: str
    why: str


MUTANTS = []
# The check at the end of any fit.
FIT = "a fit"


def mutant(name, out, check, point, why, owner=None, attribute=None):
    """Register a replaced attribute, or a function of `monkeypatch`."""

    def registered(change):
        put_in = replacement_of(owner, attribute)(change) if owner else change
        MUTANTS.append(Mutant(name, out, put_in, check, point, why))
        return change

    return registered


def by(one, *cases, **options):
    """Return a check of cases that returns the first breach."""

    def checked():
        breach = next(filter(None, (one(case, **options).breach for case in cases)), None)
        return breach and (breach.point, breach.why)

    return checked


def by_fit(**parameters):
    """Return the check at the end of a user's fit."""

    def checked():
        with pytest.raises(DoorError) as error:
            NoisyMajorityClassifier(n_bins=4, classes=(0, 1), **parameters).fit(X, Y)
        return FIT, str(error.value)

    return checked


def by_selection():
    """Return the check at the end of a fit of a private selection."""

    def checked():
        with pytest.raises(DoorError) as error:
            TunedClassifier(n_bins=4, classes=(0, 1), learner="noisy_majority", random_state=3).fit(
                X, Y
            )
        return FIT, str(error.value)

    return checked


def by_release(learner="noisy_bayes", kind=""):
    def checked():
        request = next(request for request, of_kind in requests(learner) if of_kind == kind)
        breach = check_release(request, kind)
        return breach and (breach.point, breach.why)

    return checked


def after_the_release(change):
    """Return a replacement of `_release` that also calls ``change(self, records, curator)``."""

    def released(original, self, records, curator):
        original(self, records, curator)
        change(self, records, curator)

    return released


# Learners of users: found at the end of the fit.


@mutant(
    "an inner model has a curator of its own", "a model of ε = 5000 beside one of ε = 1",
    by_fit(), FIT, "inside of a private fit by a curator whose cost is not charged",
    NoisyMajorityClassifier, "_release",
)  # fmt: skip
@after_the_release
def a_model_for_the_residuals(self, records, curator):
    inner = NoisyBayesClassifier(n_bins=4, classes=(0, 1), epsilon=5000.0)
    (self.inner_,) = inner.fit_records(records, [{}], [Curator(np.random.default_rng(1))])


@mutant(
    "a bag of runs is charged as one", "three times ε", by_fit(), FIT,
    "the number of runs is drawn by no law, but composed by basic",
    NoisyMajorityClassifier, "_release",
)  # fmt: skip
def bagged(original, self, records, curator):
    doors = curator.inner(curator.call(MARGIN), 3)
    inner = NoisyBayesClassifier(n_bins=4, classes=(0, 1))
    (first, *_) = (inner.fit_records(records, [{}], [door])[0] for door in doors)
    self.margin_, self.n_records_ = first.prior_, records.n


CACHE = {}


@mutant(
    "a cache of statements by the number of records", "the noise of an earlier, larger ε",
    by_fit(epsilon=0.1), FIT, "epsilon of the statement must be the requested 0.1; it is 1",
)  # fmt: skip
def statements_of_an_earlier_setting(patch):
    CACHE.clear()

    @replacement_of(NoisyMajorityClassifier, "_guarantee")
    def remembered(original, self, n):
        return CACHE.setdefault(n, original(self, n))

    remembered(patch)
    NoisyMajorityClassifier(n_bins=4, classes=(0, 1), epsilon=1.0).fit(X, Y)


@mutant(
    "the statement of δ > 0 for a fit of δ = 0", "δ that nobody asked for", by_fit(), FIT,
    "delta of the statement must be the requested 0; it is 0.001", NoisyMajorityClassifier,
    "_guarantee",
)  # fmt: skip
def a_little_delta_is_always_spent(original, self, n):
    return replace(original(self, n), delta=1e-3)


@mutant(
    "what is left of a budget is spent by a second call", "1.5 ε", by_fit(), FIT,
    "they add up to 1.5", NoisyMajorityClassifier, "_guarantee",
)  # fmt: skip
def a_second_entry_of_half_the_budget(original, self, n):
    (entry,) = (statement := original(self, n)).ledger
    half = replace(entry, what="the rest", epsilon=entry.epsilon / 2)
    return replace(statement, ledger=(entry, half))


@mutant(
    "a public start reads one column more", "a private column, by the model",
    by(check, next(case for case in CASES if case.parameters.get("start") == "public")),
    CHARGE, "opened as public must be public in the statement", Curator, "public",
)  # fmt: skip
def a_column_more_is_public(original, self, columns, gather, records):
    original(self, [*columns, max(columns) + 1], lambda *given: None, records)
    return original(self, columns, gather, records)


# Private selection.


@mutant(
    "runs are drawn again when there is a single one", "what the law of runs hides",
    by_selection(), FIT, "must be drawn once", Curator, "draw_runs",
)  # fmt: skip
def few_runs_are_drawn_again(original, self, n_candidates, law):
    return max(original(self, n_candidates, law), original(self, n_candidates, law), key=len)


@mutant(
    "more runs than their cost is for", "more than ε", by_selection(), FIT,
    "drawn by private selection (eta = 1.0, expected runs = 25.0), but composed by",
    Curator, "draw_runs",
)  # fmt: skip
def five_times_the_runs(original, self, n_candidates, law):
    return original(self, n_candidates, runs(law.eta, 5 * law.expected))


@mutant(
    "at most two runs, to bound the time", "another law of runs than is proved",
    by(check, TUNED, n_random=6), NOISE, "number of runs noise is not distributed as announced",
    Runs, "draw",
)  # fmt: skip
def two_runs_at_most(original, self, rng):
    return min(original(self, rng), 2)


@mutant(
    "a run is left out after the draw", "whether it failed", by_selection(), FIT,
    "runs, as drawn; there are", Curator, "inner",
)  # fmt: skip
def the_last_run_is_left_out(original, self, call, n):
    doors = original(self, call, n)
    self.inners.pop()
    return doors


SELECTION = Case(
    "tuned", {**TUNED.parameters, "settings": {"n_rounds": [1, 2]}, "learner": "lazybb"}
)


@mutant(
    "the number of runs is kept", "a secret of the selection", by(check_runs, SELECTION),
    POST_PROCESSING, "n_runs_ depend on runs that are not selected", TunedClassifier, "_train_runs",
)  # fmt: skip
def the_number_of_runs_is_kept(original, self, candidates, epsilons, drawn, *given):
    self.n_runs_ = len(drawn)
    return original(self, candidates, epsilons, drawn, *given)


@mutant(
    "scores of all runs are kept for a plot", "answers that no ledger adds up",
    by(check_runs, SELECTION), POST_PROCESSING, "scores_ depend", TunedClassifier, "_count_right",
)  # fmt: skip
def all_scores_are_kept(original, self, *given):
    score = original(self, *given)
    self.scores_ = [*getattr(self, "scores_", []), score]
    return score


@mutant(
    "a second run repeats the better setting", "a search, whose law is another",
    by(check_runs, SELECTION), CONTROL, "a run depends on the scores of other runs",
)  # fmt: skip
def runs_climb(patch):
    patch.setattr(tuned, "_BATCH", 1)
    best = {}

    @replacement_of(TunedClassifier, "_train_runs")
    def train(original, self, candidates, epsilons, drawn, records, curator, *given):
        if not curator.inners:
            best.clear()
        best["place"] = [best.get("at", drawn[0])] if best.get("score", 0) > 2**21 else drawn
        return original(self, candidates, epsilons, best["place"], records, curator, *given)

    @replacement_of(TunedClassifier, "_count_right")
    def count(original, self, *given):
        score = original(self, *given)
        if score > best.get("score", -1):
            best.update(score=score, at=best["place"][0])
        return score

    train(patch)
    count(patch)


# State that a fit leaves in addition to its answers.


def n_codes(records):
    return len(kernel(np.unique)(records.codes))


@mutant(
    "a warning with the number of codes that occur", "that number, in the log of a job",
    by(check_distant, NOISY_MAJORITY, sizes=()), POST_PROCESSING, "prints, warns of or logs differ",
    NoisyMajorityClassifier, "_release",
)  # fmt: skip
@after_the_release
def few_codes_are_warned_of(self, records, curator):
    warnings.warn(f"{n_codes(records)} codes occur", stacklevel=2)


def logged(counts):
    logging.getLogger("mine").warning("largest count: %s", counts.max())
    return counts


@mutant(
    "a kernel logs", "the largest count, in the log of a job",
    by(check_distant, NOISY_MAJORITY, sizes=()), POST_PROCESSING, "'largest count: ",
    NoisyMajorityClassifier, "_release",
)  # fmt: skip
@after_the_release
def a_kernel_logs(self, records, curator):
    kernel(logged)(records.counts)


def printed(labels):
    print(np.unique(labels))
    return labels


@mutant(
    "a kernel prints", "which labels occur, on the screen", by(check, NOISY_MAJORITY, n_random=6),
    POST_PROCESSING, "prints, warns of or logs differ", NoisyMajorityClassifier, "_release",
)  # fmt: skip
@after_the_release
def a_kernel_prints(self, records, curator):
    kernel(printed)(records.labels)


@mutant(
    "a parameter is set by the records", "the number of codes, on the model",
    by(check, NOISY_MAJORITY), POST_PROCESSING, "random_state differ",
    NoisyMajorityClassifier, "_release",
)  # fmt: skip
@after_the_release
def the_seed_is_noted(self, records, curator):
    self.random_state = n_codes(records)


@mutant(
    "a call that fails is left out", "whether all codes occur",
    by(check_distant, NOISY_BAYES, sizes=()), CHARGE,
    "is no sum of rows", NoisyBayesClassifier, "_release",
)  # fmt: skip
def a_call_that_fails_is_left_out(original, self, records, curator):
    first = next(iter(curator._announced))
    counts = kernel(lambda x, n: np.bincount(x[:, 0], n))(records.codes, records.counts)
    with contextlib.suppress(Exception):
        curator.numbers(first, counts)
    self.prior_ = 0.0


@mutant(
    "a method beside the fit notes a private number", "the exact number of records",
    by(
        check_distant,
        next(case for case in CASES if case.learner == "privgam" and case.neighbours == ADD_REMOVE),
        sizes=(),
    ),
    POST_PROCESSING, "n_seen_ differ", CodedClassifier, "_facts",
)  # fmt: skip
def the_number_of_records_is_noted(original, self, n):
    self.n_seen_ = n
    return original(self, n)


@mutant(
    "the stream begins with a checksum of the records", "noise that a guess of the records tells",
    by(check_distant, NOISY_MAJORITY, sizes=()), CONTROL,
    "the stream of noise follows from the records",
)  # fmt: skip
def a_stream_of_the_records(patch):
    last = Counter()

    @replacement_of(CodedClassifier, "_encode")
    def encode(original, self, rows, fit):
        codes = original(self, rows, fit)
        last["records"] = int(codes.sum())
        return codes

    @replacement_of(base, "generator_of")
    def begin(original, random_state, facts):
        return original(random_state, {**facts, **last})

    encode(patch)
    begin(patch)


# Numbers that enter a sensitivity, a share or a scale.


@mutant(
    "noise by the root of ε", "4.5 ε at ε = .05, and ε at ε = 1",
    by(check, *(case for case in cases_of("noisy_majority"))), SENSITIVITY,
    "4.47 times the announced sensitivity", NoisyMajorityClassifier, "_guarantee",
)  # fmt: skip
def noise_by_the_root_of_epsilon(original, self, n):
    statement = original(self, n)
    if not statement.private:
        return statement
    (entry,) = statement.ledger
    rate = entry.noise_rate / self.epsilon**0.5
    return replace(statement, ledger=(replace(entry, noise_rate=rate),))


CHOSEN = Case("noisy_bayes", {"n_columns": 1, "delta": 1e-2})


@mutant(
    "an entry has a ρ of its own, less than its noise costs", "three times ε of a choice",
    by(check, CHOSEN), SENSITIVITY, "times the announced sensitivity",
    NoisyBayesClassifier, "_guarantee",
)  # fmt: skip
def a_rho_that_is_too_small(original, self, n):
    statement = original(self, n)
    ledger = tuple(
        entry
        if entry.bounded_range is None
        else replace(
            entry, noise_rate=3 * entry.noise_rate, epsilon=3 * entry.epsilon,
            bounded_range=None, rho=entry.bounded_range**2 / 8,
        )
        for entry in statement.ledger
    )  # fmt: skip
    return replace(statement, ledger=ledger)


# The cases have an unusual ε: noise is cached by setting, and a cached one would hide a mistake.
WORDS = [
    replace(case, parameters={**case.parameters, "epsilon": 1.0625})
    for case in cases_of("topdown")
    if case.at_end and case.parameters.get("criterion") == "zero_one"
]


@mutant(
    "a word of a choice has a quarter of the range", "4 ε with that word alone",
    by(check, *WORDS), SENSITIVITY, "times the announced sensitivity",
    trees.sensitivity, "lazybb_split_range",
)  # fmt: skip
def noise_of_another_criterion(original, n, largest, criterion):
    return original(n, largest, criterion) / (4 if criterion == "zero_one" else 1)


@mutant(
    "an answer of a part that was asked again is added again", "twice ε",
    by(check_in_parts, NOISY_BAYES), SENSITIVITY, "2 times the announced", parts.OpenPart, "ask",
)  # fmt: skip
def a_part_answers_twice(original, self, question, arguments):
    return 2 * original(self, question, arguments)


# Releases.

# The package has a function of this name, so import the module by name.
LOAD = importlib.import_module("privcurve.datasets.load")


@mutant(
    "the hold-out has the noise of the training", "both, from their difference", by_release(),
    NOISE, "two curators of releases have the same stream", releasing, "_make_stream",
)  # fmt: skip
def one_stream_for_both(original, use, *identity):
    return original("release", *identity)


@mutant(
    "a stream of public facts", "all noise", by_release(), NOISE, "the same stream",
    releasing, "_make_stream",
)  # fmt: skip
def a_stream_of_public_facts(original, use, request, *identity):
    return np.random.default_rng([len(use), len(request.learner)])


@mutant(
    "an evaluation is charged half", "more than the budget allows", by_release(), CHARGE,
    "charged to the budget", evaluation, "Price",
)  # fmt: skip
def half_the_price(original, epsilon, *given):
    return original(epsilon / 2, *given)


@mutant(
    "an evaluation's noise is for one count", "twice ε", by_release(), SENSITIVITY,
    "2 times the announced sensitivity (1024)", evaluation, "histogram_l1",
)  # fmt: skip
def noise_of_an_evaluation_for_one_count(original, relation):
    return original(relation) / 2


@mutant(
    "a record of a multiclass hold-out counts for each class", "three times ε",
    by_release("privgam", CLASSES), SENSITIVITY, "3 times the announced sensitivity", Curator,
    "whole_numbers",
)  # fmt: skip
def a_record_counts_for_each_class(original, self, call, exact):
    is_held = call.entry is not None and call.entry.what == holdout.WHAT
    return original(self, call, exact * (3 if is_held else 1))


@mutant(
    "the hold-out trains the model too", "twice ε", by_release("privgam", PERSONS), CHARGE,
    "moves the training and the hold-out", holdout, "split",
)  # fmt: skip
def the_hold_out_trains_too(original, places, *given):
    return replace(original(places, *given), train=np.arange(len(places)))


@mutant(
    "the hold-out is dealt by labels", "one label moves others", by_release("privgam"),
    CHARGE, "moves the training and the hold-out", holdout, "split",
)  # fmt: skip
def a_split_by_labels(original, places, *given):
    lines = Path("table.csv").read_text().splitlines()[1:]
    order = np.argsort([line.endswith('"yes"') for line in lines], kind="stable")
    return original(np.argsort(order), *given)


@mutant(
    "a person's ε is that of a record", "twice ε of a person", by_release("privgam", PERSONS),
    CONTROL, "the guarantee of privgam must be the requested one",
)  # fmt: skip
def a_record_has_the_budget_of_a_person(patch):
    own = property(lambda self: (self.epsilon, self.delta))
    patch.setattr(Request, "budget_of_record", own)


@mutant(
    "a person's hold-out has the noise of a record", "twice ε of a person",
    by_release("privgam", PERSONS), CHARGE, "charged to the budget",
)  # fmt: skip
def a_query_of_a_record(patch):
    patch.setattr(Request, "epsilon_of_query", property(lambda self: self.epsilon))


@mutant(
    "one record too many of a person is kept", "1.5 ε of a person",
    by_release("privgam", PERSONS), CONTROL, "(at most 2 of each note)", LOAD, "limit_places",
)  # fmt: skip
def one_record_too_many_is_kept(original, persons, at_most, seed):
    return original(persons, at_most + 1, seed)


@mutant(
    "explain weighs by how often codes occur", "the exact share of a class", by_release(),
    POST_PROCESSING, "explain, line", models.Model, "explain",
)  # fmt: skip
def explained_by_the_table(original, self):
    explanation = original(self)
    shapes = tuple(
        replace(shape, values=shape.values * share_of_positive()) for shape in explanation.shapes
    )
    return replace(explanation, shapes=shapes)


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_a_mistake_is_caught(monkeypatch, one):
    one.put_in(monkeypatch)
    caught = one.check()
    assert caught is not None
    assert (caught[0], one.why in caught[1]) == (one.point, True), caught
    assert one.out


def test_names_are_distinguished():
    names = [*NAMED, *(one.name for one in MUTANTS)]
    assert len({*names}) == len(names)
    assert EPSILONS[0] < 1 < EPSILONS[1]


@pytest.mark.parametrize("case", [case for case in CASES if case.learner in ("noisy_bayes", "mst")])
def test_a_fit_without_runs_is_as_it_is_elsewhere(case):
    verdict = check_runs(case)
    assert (verdict.breach, verdict.refusal, verdict.n_pairs) == (None, "", 0)
