"""PrivGAM: an additive model that a trained network computes from noisy sums of residuals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privcurve.coding import Codes, Floats, Ints, Records, bin_starts
from privcurve.kernels.arithmetic import expits
from privcurve.learners.additive import rule
from privcurve.learners.additive.class_model import ClassModel
from privcurve.learners.additive.decoder import Answers, Decoder
from privcurve.learners.additive.errors import HALF_WIDTH, Counts, evidence, standard_errors
from privcurve.learners.additive.model import AdditiveModel
from privcurve.learners.additive.people import NoisyCounts, people_by_code
from privcurve.learners.additive.residuals import SCORE_BITS, BinSums, bin_maps, round_scores
from privcurve.learners.base import PrivateClassifier, with_fitted_parameters
from privcurve.learners.entries.parameters import EstimateParameters
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.checks import check_estimate, ordered_columns
from privcurve.privacy.budget import ADD_REMOVE, REPLACE_ONE
from privcurve.privacy.calibration.privgam import (
    CLIP,
    MOST_RECORDS,
    grid_bits,
    grid_scale,
    statement,
)
from privcurve.privacy.curator import Call, Curator
from privcurve.privacy.ledger import PrivacyStatement
from privcurve.privacy.parts import PartedRecords


@dataclass(kw_only=True, eq=False, repr=False)
class PrivGAMClassifier(ChanceClassifier, PrivateClassifier, EstimateParameters):
    r"""An additive model: a score for each bin of each column, and an intercept.

    A fit makes 3, 6 or 12 releases; public facts determine the number. Each release has noisy sums
    by class and bin, of all columns at once. In the first release each record adds ½ to the sums of
    its bins, so the sums are half of the numbers of records. In the other releases each record adds
    its residual :math:`\min(|y_i - p_i|, \frac12)`, where :math:`p_i` is the probability of the
    label 1 by the present scores. After each release a network updates the scores of all bins. The
    network was trained beforehand, on public and simulated tables, to make models that predict
    other records of the same table well; its weights are part of the package. Nothing is tuned on
    the records.

    The score is the log-odds of the positive label. With more than two classes, each class has a
    score, and its probability is proportional to the logistic function of the score.
    docs/privgam.md says what PrivGAM is good for and which tables the network was trained on.
    Proofs: docs/proofs.md, 'PrivGAM'.

    Sums and noise are whole numbers, so the guarantee covers floating-point arithmetic.

    Parameters
    ----------
    neighbours : str
        ``replace-one``; or ``add-remove``, for which the number of records is not public, so that
        the fit uses `n_estimate` instead.
    n_estimate : int or None
        Only with ``add-remove``: an estimate of the number of records, from public sources.
    ordered : sequence of bool, bool or None
        Which columns have ordered bins (a public fact). None: all if `bounds` is given, else none.
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        0: Laplace noise. Above 0: Gaussian noise.
    calibration : str
        ``proved``.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    model_ : AdditiveModel or ClassModel
        The intercept, and the value of each bin of each column (with more than two classes, for
        each class). ``print`` shows it as text.
    n_features_used_ : int
        Number of columns that have an effect.
    n_records_ : int
        Number of training records. It is missing with ``add-remove``: there it is not public.
    privacy_ : PrivacyStatement
        The guarantee of the fit; its ledger lists all releases.

    Examples
    --------
    >>> import numpy as np
    >>> from privcurve.learners.additive.privgam import PrivGAMClassifier
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9, dtype=np.uint8)
    >>> y = np.array([0, 0, 0, 1] * 9)
    >>> model = PrivGAMClassifier(epsilon=float("inf"), n_bins=2).fit(X, y)
    >>> model.predict(X[:4])
    array([0, 0, 0, 1])
    """

    _learner = "privgam"
    _most_records = MOST_RECORDS - 1
    _released: ClassVar[Mapping[str, Any]] = {"model_": AdditiveModel | ClassModel}
    _oldest_read: ClassVar[int] = 8

    neighbours: str = REPLACE_ONE
    ordered: Sequence[bool] | bool | None = None

    def _plan(self, n: int) -> rule.Plan:
        """Return the settings of a fit on n records; `n_estimate` replaces n if it is given."""
        return rule.plan(
            rule.FitFacts(
                n if self.n_estimate is None else int(self.n_estimate),
                self._ordered_columns(),
                len(self.classes_),
                float(self.epsilon),
                float(self.delta),
                self.neighbours,
            )
        )

    def _guarantee(self, n: int) -> PrivacyStatement:
        plan = self._plan(n)
        return statement(plan.budget, plan.ledger)

    def _release(self, records: Records | PartedRecords, curator: Curator) -> None:
        counted, ordered = self.neighbours != ADD_REMOVE, self._ordered_columns()
        plan, n_classes = self._plan(records.n if counted else 0), len(self.classes_)
        bits = grid_bits(plan.ledger, float(self.epsilon))
        maps = bin_maps(self.n_bins_, ordered, plan.most_bins)
        norm = 1 if plan.laplace else 2
        columns = list(range(len(maps)))
        sums = BinSums(records, columns, maps, n_classes, bits, norm)
        if plan.choices:
            columns = choose_columns(curator, plan.choices, sums.scores(ordered, bits), bits)
            ordered, maps = tuple(ordered[j] for j in columns), [maps[j] for j in columns]
            sums = BinSums(records, columns, maps, n_classes, bits, norm)
        starts = bin_starts([int(bins[-1]) + 1 for bins in maps])
        n_scores = 1 if n_classes == 2 else n_classes
        decoder = Decoder(starts, ordered, n_scores, plan.laplace)
        # The curator's Gaussian noise is rounded down, so its mean is −½: add ½ to each answer.
        middle = 0.5 if plan.budget.private and not plan.laplace else 0.0
        unit = plan.scale * 2.0**-bits

        for t, questions in enumerate(plan.releases):
            if t == 0:
                exact, n_added = sums.counts(), n_classes - 1
            else:
                so_far = round_scores(decoder.scores), round_scores(decoder.intercepts)
                exact, n_added = sums.sums(*so_far), 1
            answers, released = [], []
            for question, exact_sums in zip(questions, exact, strict=True):
                call = _on_grid(curator.call(question.words), bits)
                noisy, deviation = curator.whole_numbers(call, exact_sums), question.deviation
                released.append(noisy)
                # The first release has a noisy count for each class. `others` adds up the counts of
                # `n_added` classes, and so has the noise of all of them.
                own, others = noisy if t else _own_and_others(noisy, n_scores)
                answers.append(
                    Answers(
                        np.multiply(unit, own + middle),
                        np.multiply(unit, others + n_added * middle),
                        (deviation, deviation * math.sqrt(n_added)),
                    )
                )
            if t == 0:
                by_bin, totals = (
                    2.0**-bits / CLIP * (one.sum(axis=0) + n_classes * middle) for one in released
                )
                deviation = questions[0].deviation / (plan.scale * CLIP) * math.sqrt(n_classes)
                numbers = NoisyCounts(by_bin, float(totals), deviation)
                own = people_by_code(numbers, maps, starts.tolist(), ordered)
                # Nothing is known of a column that was not chosen: spread its people equally.
                unknown = [max(numbers.total, 0.0) / n for n in self.n_bins_.tolist()]
                people = tuple(self._in_all_columns(columns, own, unknown))
                counts_by_class = answers[0]
            decoder.take(*answers)

        values, intercepts = _centred(decoder, by_bin, starts)

        def by_code(values: Floats) -> list[Floats]:
            """Convert values of merged bins of `columns` to values of the bins of all columns."""
            unused = [0.0] * len(self.n_bins_)
            return self._in_all_columns(columns, _by_code(maps, starts, values), unused)

        self.model_: AdditiveModel | ClassModel
        if n_scores > 1:
            self.model_ = ClassModel.from_scores(intercepts, by_code(values), people)
        else:
            positive, negative, (deviation, _) = counts_by_class
            numbers_by_class = Counts(
                positive[0] / CLIP,
                negative[0] / CLIP,
                deviation / CLIP,
                starts,
                ordered,
                plan.laplace,
                len(self.n_bins_),
            )
            p_values = np.ones(len(self.n_bins_))
            p_values[columns] = evidence(numbers_by_class)
            intercept = float(intercepts[0])
            errors = standard_errors(numbers_by_class, values[0], intercept, len(plan.releases))
            self.model_ = AdditiveModel(
                intercept=intercept,
                intercept_error=errors.intercept,
                shapes=tuple(by_code(values[0])),
                errors=tuple(by_code(errors.by_bin)),
                people=people,
                factor=errors.factor,
                evidence=tuple(p_values.tolist()),
            )
        self.n_features_used_ = self.model_.n_used
        if counted:
            self.n_records_ = records.n

    def _in_all_columns(
        self, columns: Sequence[int], own: Sequence[Floats], others: Sequence[float]
    ) -> list[Floats]:
        """Return an array for each column.

        `own` has the arrays of `columns`. The array of any other column j has the number
        ``others[j]`` for each bin.
        """
        shape = own[0].shape[:-1]
        all_columns = [
            np.full((*shape, n), other)
            for n, other in zip(self.n_bins_.tolist(), others, strict=True)
        ]
        for j, values in zip(columns, own, strict=True):
            all_columns[j] = values
        return all_columns

    def size_remark(self, n: int) -> str:
        """Return a remark if the budget per column (m in `rule.plan`) is small, else "".

        docs/privgam.md, small budgets, compares PrivGAM with simpler learners.
        """
        plan = self._plan(n if self.neighbours != ADD_REMOVE else 0)
        if plan.m >= rule.LEAST_M:
            return ""
        d = len(plan.choices) or len(self.n_bins_)
        return (
            f"privgam: n·μ/d = {plan.m:.2g} is below {rule.LEAST_M:g}: with such a budget for "
            f"{d} columns simpler learners are often more accurate. Give fewer "
            "columns, a larger epsilon or delta, or take one_rule or noisy_majority"
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_estimate(self._learner, self.neighbours, self.n_estimate)

    def _ordered_columns(self) -> tuple[bool, ...]:
        by_default = self.bounds is not None
        return ordered_columns(self._learner, self.ordered, by_default, len(self.n_bins_))

    def _restore(self) -> None:
        self.model_.check(self.n_bins_, len(self.classes_))
        self.n_features_used_ = self.model_.n_used

    def _scores(self, codes: Codes) -> Floats:
        return self.model_.log_odds(codes)

    @with_fitted_parameters
    def predict_interval(self, X: ArrayLike) -> Floats:
        """Return a 95 % interval for each row's probability of the positive class (of two classes).

        An interval is for the probability that the best additive model of the population gives; it
        does not predict the label. docs/privgam.md, 'How a fit works', has the measured coverage.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, 2)
            The lower and the upper end.

        Raises
        ------
        ValueError
            If there are more than two classes, or an earlier version saved the model without
            standard errors.
        """
        if not isinstance(self.model_, AdditiveModel):
            raise ValueError(
                f"the model must be of two classes to have intervals; it is of "
                f"{len(self.classes_)}: use predict_proba"
            )
        if not self.model_.intercept_error > 0:
            raise ValueError(
                "the model must have standard errors to have intervals; an earlier privcurve saved "
                "it without any: use predict_proba, or release a new model"
            )
        codes = self._code(X)
        centre = self.model_.log_odds(codes)
        half = HALF_WIDTH * self.model_.log_odds_errors(codes)
        return np.column_stack([expits(centre - half), expits(centre + half)])

    def _measures(self) -> dict[str, float]:
        return self.model_.measures()


def _centred(decoder: Decoder, counts: Floats, starts: Ints) -> tuple[Floats, Floats]:
    """Centre the decoder's scores: return scores by bin, and intercepts.

    The scores of each column get the mean 0, weighted by the noisy counts; the intercepts absorb
    the means. All numbers are integer multiples of 2^-SCORE_BITS, so that their sums are exact.
    """
    unit = 2.0**-SCORE_BITS
    values = np.asarray(round_scores(decoder.scores) * unit)
    intercepts = np.asarray(round_scores(decoder.intercepts) * unit)
    ends = starts.tolist()
    for a, b in itertools.pairwise(ends):
        weights = np.maximum(counts[a:b], 0.0)
        total = math.fsum(weights.tolist())
        for k in range(len(values)) if total > 0 else ():
            mean = math.fsum((weights * values[k, a:b]).tolist()) / total
            mean = float(round_scores(np.array([mean]))[0]) * unit
            values[k, a:b] -= mean
            intercepts[k] += mean
    return values, intercepts


def choose_columns(curator: Curator, choices: Sequence[str], scores: Ints, bits: int) -> list[int]:
    """Choose a column by noisy scores for each call named in `choices`.

    `scores` are in units of 2^-`bits`. Returns the chosen columns in increasing order.
    """
    left = list(range(len(scores)))
    for choice in choices:
        call = _on_grid(curator.call(choice), bits)
        left.pop(curator.choose_exactly(call, scores[left]))
    return [j for j in range(len(scores)) if j not in left]


def _by_code(maps: Sequence[Codes], starts: Ints, values: Floats) -> list[Floats]:
    """Convert values of merged bins to values of the encoded data's bins: one array per column.

    `maps` has for each column the merged bin of each bin. The last axis of `values` has the merged
    bins of all columns; the last axis of a returned array has the bins of one column.
    """
    columns = np.split(values, starts[1:-1], axis=-1)
    return [column[..., bins] for column, bins in zip(columns, maps, strict=True)]


def _own_and_others(counts: Ints, n_scores: int) -> tuple[Ints, Ints]:
    """Return for each score the counts of its class, and the sum of the counts of other classes.

    The first axis of `counts` has the classes. A single score belongs to the positive class, the
    last.
    """
    own = counts[-n_scores:]
    return own, counts.sum(axis=0) - own


def _on_grid(call: Call, bits: int) -> Call:
    """Return the call with its noise scale in units of 2^-bits, in which the sums are integers."""
    if call.entry is None:
        return call
    return Call(call.mechanism, grid_scale(call.entry.noise_rate, bits), call.entry)
