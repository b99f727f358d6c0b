"""CONTROL and POST_PROCESSING on distant tables, which show more than neighbours."""

import numpy as np
import pytest
from mistakes_any import NOISY_BAYES, NOISY_MAJORITY, replacement_of

from privcurve.audit.contract import Case, check
from privcurve.audit.contract_cases import CASES, candidates
from privcurve.audit.distant import check_distant
from privcurve.audit.replay_fits import CHARGE, CONTROL, POST_PROCESSING, SEALED
from privcurve.learners import noisy_bayes
from privcurve.learners.base import CodedClassifier, PrivateClassifier
from privcurve.learners.linear import joint
from privcurve.learners.linear.linear import DPLogisticRegressionClassifier
from privcurve.learners.majority import NoisyMajorityClassifier
from privcurve.learners.noisy_bayes import NoisyBayesClassifier
from privcurve.learners.registry import LEARNERS
from privcurve.privacy.sealed import kernel

# One setting of each learner and relation; all settings are slow.
FIRST = {(case.learner, case.neighbours): case for case in reversed(CASES)}.values()


# These take a second.
LONG = {"aim", "mst", "boosting_for_people"}


def with_mark(case, is_slow):
    marks = [pytest.mark.slow] * bool(is_slow)
    return pytest.param(case, id=f"{case}-{case.neighbours}", marks=marks)


@pytest.mark.parametrize("case", [with_mark(case, case.learner in LONG) for case in FIRST])
def test_learners_keep_it(case):
    verdict = check_distant(case, sizes=(12,))
    assert str(verdict.breach or "") == ""
    assert verdict.n_pairs


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case}-{case.neighbours}")
def test_all_settings_keep_it(case):
    assert str(check_distant(case).breach or "") == ""


CANDIDATES = tuple(candidates())


def test_each_learner_that_may_be_chosen_is_a_candidate():
    chosen = {case.parameters["learner"] for case in CANDIDATES}
    ours = {name for name, entry in LEARNERS.items() if entry.proved}
    # Private selection offers neither itself nor PATE, whose label is public.
    assert chosen == ours - {"tuned", "pate"}


# Calibrations with δ take seconds.
@pytest.mark.parametrize(
    "case",
    [
        with_mark(case, case.parameters["delta"] or case.parameters["learner"] in LONG)
        for case in CANDIDATES
    ],
)
def test_candidates_of_a_private_selection_keep_it(case):
    verdict = check_distant(case, sizes=())
    assert str(verdict.breach or "") == ""
    assert verdict.n_pairs


# Mistakes ----------------------------------------------------------------------------------------

MUTANTS = []
LINEAR = Case("dp_logistic_regression", {})


def mutant(owner, name, case, point, why):
    def registered(change):
        patch = replacement_of(owner, name)(change)
        MUTANTS.append(pytest.param(patch, case, point, why, id=f"{change.__name__}-{case}"))
        return change

    return registered


def chosen(learner):
    return Case("tuned", {"expected_runs": 2.0, "score_share": 0.5, "learner": learner})


def kept_while_scored(kind, case, name, empty, change):
    """Register a learner with an `empty` attribute after its fit, which scoring fills."""

    def put_in(patch):
        @replacement_of(kind, "_fit_batch")
        def begun(original, self, learners, *given):
            original(self, learners, *given)
            for learner in learners:
                setattr(learner, name, empty())

        begun(patch)
        replacement_of(kind, "_scores")(change)(patch)

    for at, why in ((case, f"scoring rows changes {name} of"), (chosen(case.learner), "best_ ")):
        called = f"{change.__name__}-{at}"
        MUTANTS.append(pytest.param(put_in, at, POST_PROCESSING, why, id=called))


def scores_memoised_by_row(original, self, codes):
    new = [row for row in codes if row.tobytes() not in self._memo]
    if new:
        self._memo |= zip(
            (row.tobytes() for row in new), original(self, np.array(new)), strict=True
        )
    return np.array([self._memo[row.tobytes()] for row in codes])


def answers_counted(original, self, codes):
    scores = original(self, codes)
    self.n_positive_ += np.count_nonzero(scores > 0)
    return scores


def codes_seen_marked(original, self, codes):
    """Remember codes, so that predictions could report codes that no record had."""
    self.seen_ |= {(j, code) for j, column in enumerate(codes.T) for code in column.tolist()}
    return original(self, codes)


kept_while_scored(DPLogisticRegressionClassifier, LINEAR, "_memo", dict, scores_memoised_by_row)
kept_while_scored(
    NoisyBayesClassifier, NOISY_BAYES, "n_positive_", lambda: np.zeros(1, np.int64), answers_counted
)
kept_while_scored(NoisyBayesClassifier, NOISY_BAYES, "seen_", set, codes_seen_marked)


@mutant(NoisyBayesClassifier, "_scores", NOISY_BAYES, POST_PROCESSING, "changes log_ratios_")
def ratios_trimmed_to_the_codes_that_are_scored(original, self, codes):
    scores = original(self, codes)
    for column, ratios in zip(self.columns_, self.log_ratios_, strict=True):
        ratios[codes[:, column].max() :] = 0.0
    return scores


def left_on_the_majority(called, told, why):
    """Register the mistake `called`: a noisy majority whose model keeps ``told(records)``."""

    def released(original, self, records, curator):
        original(self, records, curator)
        self.told_ = told(records)

    released.__name__ = called
    mutant(NoisyMajorityClassifier, "_release", NOISY_MAJORITY, POST_PROCESSING, why)(released)


left_on_the_majority(
    "the_number_of_codes_that_occur",
    lambda records: len(kernel(np.unique)(records.codes)),
    "told_ differ",
)
left_on_the_majority(
    "the_type_that_holds_the_largest_count",
    lambda records: (
        kernel(lambda n: n.astype(np.min_scalar_type(n.max())))(records.counts).dtype.itemsize
    ),
    "told_ differ",
)
left_on_the_majority(
    "a_result_for_each_class_that_occurs",
    lambda records: len(kernel(lambda y: tuple(y[y == k].sum() for k in set(y)))(records.labels)),
    "told_ differ",
)
left_on_the_majority(
    "one_axis_if_all_records_are_alike",
    lambda records: (
        kernel(lambda x: np.squeeze(np.unique(x, axis=0)).sum(axis=0))(records.codes).ndim
    ),
    "told_ differ",
)


@mutant(NoisyMajorityClassifier, "_release", NOISY_MAJORITY, POST_PROCESSING, "told_ differ")
def what_is_told_is_said_to_stay_with_the_owner(original, self, records, curator):
    original(self, records, curator)
    self.told_, self._held = len(kernel(np.unique)(records.codes)), ("told_", "_held")


@mutant(NoisyBayesClassifier, "_release", NOISY_BAYES, CHARGE, "is no sum of rows")
def empty_bins_get_no_noise(original, self, records, curator):
    call = curator.call(noisy_bayes.COUNTS.format(2))
    counts = kernel(lambda x, n: np.bincount(x[:, 0], n))(records.codes, records.counts)
    curator.numbers(call, kernel(lambda c: c[c > 0])(counts))


@mutant(joint, "packed_gram", Case("dp_newton", {"n_steps": 2, "delta": 1e-2}), CHARGE, "no sum")
def columns_of_zeros_dropped(original, *given):
    return kernel(lambda gram: gram[gram > 0])(original(*given))


# Mistakes outside `fit_records`, which a study calls directly.


@mutant(CodedClassifier, "_fit_rows", NOISY_MAJORITY, POST_PROCESSING, "n_positive_ differ")
def a_count_kept_for_the_summary(original, self, X, y, counts):
    fitted = original(self, X, y, counts)
    fitted.n_positive_ = int(np.sum(y == 1))
    return fitted


@mutant(CodedClassifier, "_fit_rows", NOISY_BAYES, POST_PROCESSING, "n_bins_seen_ differ")
def bins_that_occur_kept_for_a_plot(original, self, X, y, counts):
    fitted = original(self, X, y, counts)
    fitted.n_bins_seen_ = [len(np.unique(column)) for column in np.transpose(X)]
    return fitted


@mutant(CodedClassifier, "_fit_rows", NOISY_BAYES, CONTROL, "an extra call")
def equal_records_need_no_noise(original, self, X, y, counts):
    if len(X) and (X[0] == X).all():
        self.set_params(epsilon=np.inf)
    return original(self, X, y, counts)


@pytest.mark.parametrize(("change", "case", "point", "why"), MUTANTS)
def test_a_mistake_is_seen(monkeypatch, change, case, point, why):
    change(monkeypatch)
    breach = check_distant(case).breach
    assert (breach.point, why in breach.why) == (point, True), breach.why
    assert len(breach.tables) == 2


def test_a_setting_that_no_table_can_be_trained_with_is_not_called_tried():
    never = Case("brc", {"n_rounds": 3, "n_kept": 4})
    breach = check_distant(never, sizes=()).breach
    assert (
        breach.point,
        "no distant tables could be trained: ValueError: brc: n_kept" in breach.why,
    ) == (CHARGE, True)


FINAL = ("fit", "fit_records", "_fit_rows", "_train", "_encode", "_targets", "_with_schema_facts")


@pytest.mark.parametrize("name", FINAL)
@pytest.mark.parametrize("mixed_in", [False, True])
def test_a_method_that_sees_open_records_is_not_replaced(name, mixed_in):
    methods = {name: lambda self, *given: getattr(super(type(self), self), name)(*given)}
    bases = (type("Mine", (), methods), PrivateClassifier) if mixed_in else (PrivateClassifier,)
    with pytest.raises(TypeError, match=f"Own must not replace {name}: .* Write _release, which"):
        type("Own", bases, {} if mixed_in else methods)


def test_a_method_replaced_after_its_class_was_made_breaks_the_contract(monkeypatch):
    counted = replacement_of(NoisyMajorityClassifier, "_fit_rows")
    counted(lambda original, self, *given: original(self, *given))(monkeypatch)
    breach = check(NOISY_MAJORITY).breach
    assert (breach.point, breach.why.partition(",")[0]) == (
        SEALED,
        "NoisyMajorityClassifier replaces _fit_rows",
    )


def test_neighbours_do_not_show_how_many_codes_occur(monkeypatch):
    """Neighbours do not show this mistake; distant tables do."""
    (patch,) = [m.values[0] for m in MUTANTS if m.id.startswith("the_type_that_holds")]
    patch(monkeypatch)
    assert check(NOISY_MAJORITY, n_random=6).breach is None
