"""Train PATE with public columns (Shen et al., §7).

Teachers vote by the private columns; a student learns from public columns and noisy votes.
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from privcurve.coding import Bools, Codes, Floats, Ints, Records, Signs, scale_codes
from privcurve.kernels.arithmetic import log
from privcurve.kernels.rows import times
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.shared.chances import ChanceClassifier
from privcurve.learners.shared.log_odds import regress
from privcurve.learners.shared.public_part import LinearScore, PublicClassifier
from privcurve.learners.shared.roles import PublicRows, Roles, distinct_keys
from privcurve.learners.shared.threads import one_thread
from privcurve.privacy.budget import PROVED, PUBLISHED
from privcurve.privacy.curator import Curator, call_of
from privcurve.privacy.ledger import REFUTED, PrivacyStatement
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.sensitivity.counts import margins_l1

from . import Parameters

SOURCE = "papers/partial/proofs.md, 'PATE'"
NOT_OWN = "that no record that was trained on is asked about again, as predict does with its rows"
ASKED_AGAIN = (
    "records that were trained on were asked about again: equal answers show that their private "
    "columns are equal"
)
NOT_OBJECT = "the model object itself, which holds the teachers: what is protected is its answers"


def answers_l1(n_answers: int, n_teachers: int) -> float:
    """Return the L1 sensitivity 2(Q − 1 + K) of the margins n₊ − n₋ of all of PATE's answers.

    The K teachers vote on Q rows: training records and rows to score. If the private columns of a
    training record change, one teacher changes, so each of the Q − 1 margins of other rows changes
    by at most 2. On the changed row every teacher may vote differently, so its margin changes by at
    most 2K. The neighbours are private-columns. Source: papers/partial/proofs.md, 'PATE' (proved).
    """
    return 2.0 * (n_answers - 1 + n_teachers)


def pate_statement(
    *, n_answers: int, n_teachers: int, epsilon: float, calibration: str, public: tuple[int, ...]
) -> PrivacyStatement:
    """Return the privacy statement of PATE, whose ledger has the calibrated noise of the answers.

    `n_answers` is the number of answers that ε pays for, and `public` the positions of public
    columns.
    """
    published = calibration == PUBLISHED
    full = answers_l1(n_answers, n_teachers)
    # The paper scales the noise for one answer, in which one teacher changes its vote. Proved noise
    # covers all answers, and all teachers' votes about the changed record.
    bound = margins_l1() if published else full
    answers = Announced(
        ("one answer" if published else f"{n_answers} answers") + " of the teachers",
        l1=bound,
        source="Shen et al., §7" if published else SOURCE,
    )
    refuted = (
        "the noise is for one answer about a row that no teacher was trained on, but the answer "
        "about a training record asks all teachers about its own codes, and there are "
        f"{n_answers} answers (exact counterexample)"
    )
    return noise_of(
        "pate",
        (answers,),
        epsilon=epsilon,
        calibration=calibration,
        public=public,
        assumptions=(f"that at most {n_answers} answers are given", NOT_OWN),
        exclusions=(NOT_OBJECT,),
        status=REFUTED if published else PROVED,
        caveat=refuted if published else "",
        proved_epsilon=epsilon * full / bound if published else None,
    )


class _OwnRows:
    """Remembers the rows of a fit, and whether they were scored after the fit.

    Rows are recognised if they are the same object or share memory, never by their values, because
    a warning that depends on values would reveal them. So copies of the rows are not recognised,
    and a model that was pickled does not recognise the rows of its fit.
    """

    def __init__(self, X: object) -> None:
        self.answered = False
        self._given: Callable[[], Any] | None
        try:
            self._given = weakref.ref(X)
        except TypeError:  # A list, for example, cannot have weak references.
            self._given = lambda: X

    def __repr__(self) -> str:
        return f"{type(self).__name__}(asked={self.answered})"

    def __getstate__(self) -> dict[str, Any]:
        return {"asked": self.answered}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.answered, self._given = state["asked"], None

    def matches(self, X: object) -> bool:
        given = self._given() if self._given else None
        arrays = isinstance(given, np.ndarray) and isinstance(X, np.ndarray)
        return given is not None and (X is given or (arrays and np.shares_memory(X, given)))


class _Answers:
    """The rows that were answered after the fit, and the number of answers that ε pays for.

    A copy (by pickle, `copy.deepcopy` or a fork of the process) cannot count the answers that the
    original gives. If a copy answered new rows, both together could give more answers than
    ε pays for. So copies answer no new rows.
    """

    def __init__(self, most: int, given: Iterable[bytes] = (), is_copy: bool = False) -> None:
        self.given: set[bytes] = set(given)
        self._most, self._is_copy, self._process = most, is_copy, os.getpid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.given)} of {self._most})"

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self.given, "_most": self._most, "_is_copy": True}

    def charge(self, rows: Sequence[bytes]) -> None:
        """Charge one answer for each new row; raise ValueError if too few answers are left."""
        new = set(rows) - self.given
        if new and (self._is_copy or self._process != os.getpid()):
            raise ValueError(
                "pate: a copy of the fitted model (pickle, deepcopy or n_jobs > 1) must get no new "
                f"rows, because it does not count answers; got {len(new)}: use the fitted model"
            )
        if len(self.given) + len(new) > self._most:
            raise ValueError(
                f"pate: there must be at most {self._most - len(self.given)} new rows, because ε "
                f"pays for {self._most} answers in addition to the training records; got "
                f"{len(new)}: fit with a larger n_answers"
            )
        self.given |= new


@dataclass(kw_only=True, eq=False, repr=False)
class PATEClassifier(ChanceClassifier, PrivateClassifier, Parameters):
    """A student that learns from public columns and noisy votes of teachers on private columns.

    Teachers are logistic regressions of the label on the private columns. The records are divided
    into parts, one for each teacher. All teachers vote on each training record and each scored row.
    The answer about a row is the noisy majority of the votes. The student is a logistic regression
    on the public columns and the answer.

    The noise in the answer about a training record is drawn for this record: if the noise depended
    on the record's bins, equal answers would reveal equal bins. The noise in the answer about a
    scored row is a function of its private bins and a secret key, so that the same row always gets
    the same answer, which is paid for once. (No curator draws this noise, but the same ledger entry
    pays for it.) Training records must not be scored, because two records with different answers
    would have different bins for certain. If the rows of the fit are scored, the model warns, and
    ``privacy_`` has the status ``refuted`` from then on.

    Parameters
    ----------
    n_teachers : int
        K, the number of teachers. It is reduced to the number of records if it is larger.
    n_answers : int or None
        Q, the number of answers that ε pays for: one for each training record, and one for each
        scored row with distinct private bins. None means twice the number of records.
    public_columns : sequence of int
        Positions of public columns; required. If the sequence is empty, only the label is public.
    epsilon : float
        ε, above 0; with ``proved`` it covers all answers together. At ∞ there is no noise.
    delta : float
        Must be 0.
    calibration : str
        ``proved``, or ``published`` (refuted): see :func:`pate_statement`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    student_ : LinearScore
        The student: a linear score of the scaled public columns and, as the last input, the answer
        (−1 or +1).
    n_features_used_ : int
        Number of columns, because public and private columns are all used.
    n_records_ : int
        Number of training records.
    """

    _learner = "pate"
    _why_kept_back = (
        "its teachers are trained without noise and stay with the data owner, who answers "
        "with noise; only answers are private"
    )

    # Attributes that stay with the data owner when a model is released or saved.
    _held: ClassVar[tuple[str, ...]] = ("_teachers", "_own_rows")

    # The flag tells the pipeline not to score training records: they already have answers, and a
    # score would cost a second answer.
    scores_cost_answers = True

    public_columns: Sequence[int] | None = None

    def check_answers(self, n_records: int, codes: Codes) -> None:
        """Check before training that ε pays for enough answers to train and to score `codes`.

        Raises ValueError if `n_answers` is below `n_records` plus the number of rows of `codes`
        with distinct private bins.
        """
        private = list(
            Roles.from_positions(self._learner, self.public_columns, codes.shape[1]).private
        )
        n_rows = len(np.unique(codes[:, private], axis=0))
        if self.n_answers is not None and self.n_answers < n_records + n_rows:
            raise ValueError(
                f"pate: n_answers must be at least {n_records + n_rows}, for {n_records} training "
                f"records and {n_rows} distinct rows to be scored; got {self.n_answers}"
            )

    def _fit_rows(self, X: ArrayLike, y: ArrayLike, counts: ArrayLike | None) -> Self:
        fitted = super()._fit_rows(X, y, counts)
        fitted._own_rows = _OwnRows(X)
        return fitted

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score rows by the student; each row with new private bins costs one answer.

        See :meth:`privcurve.learners.base.CodedClassifier.decision_function`.
        """
        scores = super().decision_function(X)
        if self._own_rows.matches(X) and self.privacy_.private:
            warnings.warn(
                f"pate: {ASKED_AGAIN}. The statement of this model is refuted from here on; score "
                "rows of others.",
                stacklevel=2,
            )
            self._own_rows.answered = True
        return scores

    @property
    def privacy_(self) -> PrivacyStatement:
        """The guarantee of all answers that ε pays for, including answers not given yet."""
        statement = super().privacy_
        if not (statement.private and self._own_rows.answered):
            return statement
        caveat = "; ".join(filter(None, (statement.caveat, ASKED_AGAIN)))
        return replace(statement, status=REFUTED, caveat=caveat, proved_epsilon=math.inf)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        if self.public_columns is None:
            raise ValueError(
                "pate: public_columns must list the positions of public columns; got None: give "
                "positions, or set neighbours: private-columns in a study. The label is public too"
            )
        roles = Roles.from_positions(self._learner, self.public_columns, self.n_features_in_)
        assert roles.public is not None
        n = records.n
        answers = 2 * n if self.n_answers is None else int(self.n_answers)
        if answers < n:
            raise ValueError(
                f"pate: n_answers must be at least the number {n} of training records; got "
                f"{answers}: add one for each row to be scored"
            )
        n_teachers = min(int(self.n_teachers), n)
        statement = pate_statement(
            n_answers=answers,
            n_teachers=n_teachers,
            epsilon=float(self.epsilon),
            calibration=self.calibration,
            public=roles.public,
        )
        call = call_of(next(iter(statement.ledger), None))
        if not call.private:
            curator = Curator(np.random.default_rng(0))
        self._roles, self._own_rows = roles, _OwnRows(records.codes)
        # Sort the records, because the order and the counts of rows must not affect which records
        # each teacher gets.
        codes, signs, counts, n_bins = records
        order = np.argsort(distinct_keys(codes, signs, n_bins)[1], kind="stable")
        places = np.repeat(order, counts[order])
        rows = self._private_rows(codes)
        with one_thread():
            parts = np.array_split(curator.shuffle(places), n_teachers)
            self._teachers = _train_teachers(rows, signs, parts)
            # Equal records share a row. Repeat the margin of a row for each of its records, because
            # the answer about each record gets independent noise.
            margins = _count_margins(rows, self._teachers)[places]
            positive = curator.signs(call, margins, places)
            self.student_ = self._train_student(codes[places], signs[places], positive)
        self._key = curator.key()
        self._scale = call.scale
        self._answers = _Answers(answers - n)
        self.n_records_ = n
        return statement

    def _private_rows(self, codes: Codes) -> Floats:
        """Return the scaled private columns of each row, with a 1 appended for the intercept."""
        columns = list(self._roles.private)
        return np.column_stack(
            [scale_codes(codes[:, columns], self.n_bins_[columns]), np.ones(len(codes))]
        )

    def _train_student(self, codes: Codes, signs: Signs, positive: Bools) -> LinearScore:
        """Train the student on the public columns of all records and the answers about the records.

        `positive` says which answers are positive.
        """
        public = list(self._roles.public or ())
        inputs = np.column_stack([codes[:, public], positive.astype(codes.dtype)])
        bins = np.append(self.n_bins_[public], 2)
        ones = np.ones(len(signs), dtype=np.int64)
        rows = PublicRows.gather(inputs, signs, ones, bins)
        return PublicClassifier(rows, bins).fit(np.ones(len(rows.signs)))

    def _scores(self, codes: Codes) -> Floats:
        public = list(self._roles.public or ())
        inputs = np.column_stack(
            [scale_codes(codes[:, public], self.n_bins_[public]), self._ask(codes)]
        )
        return self.student_.score(inputs)

    def _ask(self, codes: Codes) -> Floats:
        """Return the answer about each row, −1 or 1, and charge the answers that are new."""
        private = np.ascontiguousarray(codes[:, list(self._roles.private)].astype("<u2"))
        same = np.zeros(len(codes), dtype=np.int8)
        keys, row_of = distinct_keys(private, same, self.n_bins_[list(self._roles.private)])
        first = np.zeros(len(keys), dtype=np.int64)
        first[row_of[::-1]] = np.arange(len(codes))[::-1]
        answered = [row.tobytes() for row in private[first]]
        margins = _count_margins(self._private_rows(codes[first]), self._teachers)
        if self._scale > 0:
            self._answers.charge(answered)
            margins += self._scale * np.array([_draw_laplace(self._key, row) for row in answered])
        return np.where(margins > 0, 1.0, -1.0)[row_of]


def _draw_laplace(key: bytes, row: bytes) -> float:
    """Return Laplace noise of scale 1 that is a fixed function of a secret key and a row."""
    digest = hashlib.blake2b(row, key=key, digest_size=8).digest()
    # A number strictly between 0 and 1, because the logarithm of 0 is infinite.
    u = (int.from_bytes(digest, "little") + 0.5) / 2.0**64
    return log(2 * u) if u < 0.5 else -log(2 * (1 - u))


def _count_margins(rows: Floats, teachers: Floats) -> Floats:
    """Return, for each row, the number of positive votes minus the number of negative votes."""
    right = sum((times(rows, teacher) > 0).astype(np.int64) for teacher in teachers)
    return np.asarray(2.0 * right - len(teachers))


def _train_teachers(rows: Floats, signs: Signs, parts: Sequence[Ints]) -> Floats:
    """Train a logistic regression (C = 1, intercept not penalised) on each part of the records.

    Returns the coefficients and the intercept of each teacher, of shape (n_teachers, n_columns +
    1).
    """
    inputs = rows[:, :-1]
    teachers = [regress(inputs[part], signs[part], np.ones(len(part))) for part in parts]
    return np.array([[*coefficients, intercept] for coefficients, intercept in teachers])
