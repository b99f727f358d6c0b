"""PATE with public columns: teachers of private columns answer a student (Shen et al., §7)."""

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
from privcurve.privacy.sensitivity.counts import answers_l1, margins_l1

from . import Parameters

SOURCE = "papers/partial/proofs.md, 'PATE'"
NOT_OWN = "that no record that was trained on is asked about again, as predict does with its rows"
ASKED_AGAIN = (
    "records that were trained on were asked about again: equal answers show that their private "
    "columns are equal"
)
NOT_OBJECT = "the model object itself, which holds the teachers: what is protected is its answers"


def pate_statement(
    *, n_answers: int, n_teachers: int, epsilon: float, calibration: str, public: tuple[int, ...]
) -> PrivacyStatement:
    """Calibrate PATE; the ledger has the noise of each answer."""
    published = calibration == PUBLISHED
    full = answers_l1(n_answers, n_teachers)
    # The paper's noise is for one margin where one teacher changes its vote.
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
    """The rows of a fit, and whether they were scored after the fit.

    Rows are recognised as the same object or the same memory, never by their values: a reaction
    that depends on values would reveal them. Copies, and the rows of a saved model's fit, are not
    recognised.
    """

    def __init__(self, X: object) -> None:
        self.answered = False
        self._given: Callable[[], Any] | None
        try:
            self._given = weakref.ref(X)
        except TypeError:  # a list, which can't be referenced weakly
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
    """The answered rows, and the maximal number of answers.

    Copies by pickle, `copy.deepcopy` or a fork of the process could each give this number of
    answers, and nobody would add the answers up. So copies answer no new row.
    """

    def __init__(self, most: int, given: Iterable[bytes] = (), is_copy: bool = False) -> None:
        self.given: set[bytes] = set(given)
        self._most, self._is_copy, self._process = most, is_copy, os.getpid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.given)} of {self._most})"

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self.given, "_most": self._most, "_is_copy": True}

    def charge(self, rows: Sequence[bytes]) -> None:
        """Count the new rows; raise ValueError if fewer answers are left."""
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
    """A student of public columns and of one noisy answer about the private ones.

    Teachers are logistic regressions of the label on private columns, each trained on its own part
    of the records. All teachers vote on every training record and every scored row; the student is
    a logistic regression on the public columns and the noisy majority of these votes.

    The noise in the answer about a training record is drawn for the record and does not depend on
    its bins: otherwise equal answers would show equal bins. The noise in the answer about a scored
    row is a function of its private bins and a secret key, so that asking twice gives the same
    answer and costs once. No curator draws this noise, but the same ledger entry pays for it. So
    training records must not be scored: equal answers would show equal bins. Scoring the rows of
    the fit raises a warning, and ``privacy_`` then says that the claim is refuted.

    Parameters
    ----------
    n_teachers : int
        K; at most the number of records.
    n_answers : int or None
        Q, the number of answers that ε pays for: training records and distinct scored rows. None:
        twice the number of records.
    public_columns : sequence of int
        Positions of public columns; required. If empty, only the label is public.
    epsilon : float
        ε of all answers (proved), above 0; infinite: no noise.
    delta : float
        Must be 0.
    calibration : str
        ``proved`` or ``published`` (refuted), see
        :func:`pate_statement`.
    n_bins, bounds, classes, random_state
        See :class:`~privcurve.learners.base.CodedClassifier`.

    Attributes
    ----------
    student_ : LinearScore
        On the scaled public columns and, as the last column, the answer (−1 or +1).
    n_features_used_ : int
        All columns.
    n_records_ : int
        Records trained on: the sum of the counts.
    """

    _learner = "pate"
    _why_kept_back = (
        "its teachers are trained without noise and stay with the data owner, who answers "
        "with noise; only answers are private"
    )

    # These attributes stay with the data owner and are not released.
    _held: ClassVar[tuple[str, ...]] = ("_teachers", "_own_rows")

    # The pipeline scores no training record, which would need another answer about it.
    scores_cost_answers = True

    public_columns: Sequence[int] | None = None

    def check_answers(self, n_records: int, codes: Codes) -> None:
        """Refuse fewer answers than a training and its scores take."""
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
        """Score rows by their public columns and a noisy answer about the private ones.

        See :class:`~privcurve.learners.base.CodedClassifier`; each new row costs an answer.
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
        """The guarantee for the given answers and for the remaining answers."""
        statement = super().privacy_
        if not (statement.private and self._own_rows.answered):
            return statement
        caveat = "; ".join(filter(None, (statement.caveat, ASKED_AGAIN)))
        return replace(statement, status=REFUTED, caveat=caveat, proved_epsilon=math.inf)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        if self.public_columns is None:
            raise ValueError(
                "pate: public_columns must list the positions of public columns; got None (in a "
                "study: neighbours: private-columns). The label is public too"
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
        # Sort records, so that the parts do not depend on their order or on counts.
        codes, signs, counts, n_bins = records
        order = np.argsort(distinct_keys(codes, signs, n_bins)[1], kind="stable")
        places = np.repeat(order, counts[order])
        rows = self._private_rows(codes)
        with one_thread():
            parts = np.array_split(curator.shuffle(places), n_teachers)
            self._teachers = _train_teachers(rows, signs, parts)
            # Loop over records: each has independent noise.
            margins = _count_margins(rows, self._teachers)[places]
            positive = curator.signs(call, margins, places)
            self.student_ = self._train_student(codes[places], signs[places], positive)
        self._key = curator.key()
        self._scale = call.scale
        self._answers = _Answers(answers - n)
        self.n_records_ = n
        return statement

    def _private_rows(self, codes: Codes) -> Floats:
        """Return scaled private columns, and a 1."""
        columns = list(self._roles.private)
        return np.column_stack(
            [scale_codes(codes[:, columns], self.n_bins_[columns]), np.ones(len(codes))]
        )

    def _train_student(self, codes: Codes, signs: Signs, positive: Bools) -> LinearScore:
        """Train the student on all records and the answers about them."""
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
        """Return the answers about scored rows, −1 or +1, and charge the new answers."""
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
    """Return standard Laplace noise that is a fixed function of a key and a row."""
    digest = hashlib.blake2b(row, key=key, digest_size=8).digest()
    # Between 0 and 1, never either.
    u = (int.from_bytes(digest, "little") + 0.5) / 2.0**64
    return log(2 * u) if u < 0.5 else -log(2 * (1 - u))


def _count_margins(rows: Floats, teachers: Floats) -> Floats:
    """Return n₊ − n₋ of each row."""
    right = sum((times(rows, teacher) > 0).astype(np.int64) for teacher in teachers)
    return np.asarray(2.0 * right - len(teachers))


def _train_teachers(rows: Floats, signs: Signs, parts: Sequence[Ints]) -> Floats:
    """Train a logistic regression (C = 1, intercept not penalised) on each part of the records."""
    inputs = rows[:, :-1]
    teachers = [regress(inputs[part], signs[part], np.ones(len(part))) for part in parts]
    return np.array([[*coefficients, intercept] for coefficients, intercept in teachers])
