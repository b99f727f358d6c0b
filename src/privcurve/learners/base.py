"""Base classes of learners: they check input, encode columns, and seed the randomness of a fit.

A learner works on an *encoded matrix*: n × columns of small unsigned integers, where column ``j``
has bins ``0 … n_bins[j] - 1``. The number of bins of each column, and the bounds of a numeric
column, are public parameters; they are never read from the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from privcurve.binning import code_equal_width
from privcurve.coding import Codes, Floats, Records, decide
from privcurve.given import column_names, read_labels
from privcurve.learners.entry import LearnerEntry
from privcurve.learners.registry import check_n_classes, entry
from privcurve.learners.shared import merging, sealing
from privcurve.learners.shared.as_sklearn import SklearnClassifier
from privcurve.learners.shared.by_schema import (
    explain_missing_schema,
    positions_need_rows,
    schema_facts,
    training_rows,
)
from privcurve.learners.shared.checks import (
    RandomState,
    check_bounds,
    check_classes,
    check_codes,
    check_counts,
    check_labels,
    check_length,
    check_n_bins,
    check_places,
    check_unmasked,
    generator_of,
    plain_number,
    refuse_others,
    warn_of_budget,
    warn_of_index,
    warn_of_order,
    warn_of_size,
)
from privcurve.learners.shared.explained import Explained
from privcurve.privacy.budget import ADD_REMOVE, PROVED
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import (
    ASSUMED_BOTH,
    ASSUMED_CLASSES,
    ASSUMED_EACH,
    ASSUMED_LABELS,
    ASSUMED_POSITIONS,
    PrivacyStatement,
)
from privcurve.privacy.noise import Announced, noise_of
from privcurve.privacy.parts import PartedRecords
from privcurve.privacy.reach import PLAIN
from privcurve.stored import stored

# Attributes that scikit-learn sets, in `set_fit_request`, pipelines and searches; a fit keeps them.
OF_SKLEARN = ("_metadata_request", "_parent_callback_ctx", "_skl_callbacks")

BUDGET = ("epsilon", "delta", "calibration")
OFFERED = (*BUDGET, "neighbours")

Method = TypeVar("Method", bound=Callable[..., Any])


def with_fitted_parameters(method: Method) -> Method:
    """Decorate a method of a learner so that it uses the parameters of the last fit.

    Parameters that are set later must not change scores and descriptions of the fitted model.
    """

    @wraps(method)
    def run(learner: CodedClassifier, *args: Any, **kwargs: Any) -> Any:
        return method(learner._as_fitted(), *args, **kwargs)

    return cast(Method, run)


@dataclass(kw_only=True, eq=False, repr=False)
class CodedClassifier(Explained, merging.MergingClassifier, SklearnClassifier):
    """Base class of the learners: classifiers over an encoded matrix.

    A subclass is a dataclass whose fields are its parameters. It sets `_learner`, its name in the
    registry, and implements ``_scores(codes)``, the decision function; for training, it implements
    `_calls` and :meth:`_release`, or :meth:`_fit_one`, or `_fit_batch` (if one call of a kernel can
    train many settings). If its entry says ``multiclass``, training gets labels as positions of
    classes instead of signs, and ``_scores`` returns a column for each of K > 2 classes.

    Parameters
    ----------
    n_bins : int or sequence of int, optional
        Number of bins: one for all columns, or one per column.
    bounds : pair of numbers or arrays, optional
        Lowest and highest value of each column. X is then numeric; it is clipped to the bounds and
        split into `n_bins` bins of equal width. None: X is already encoded.
    classes : sequence, optional
        The labels; if there are two, the negative label first. None takes the labels from `y`: the
        statement then assumes that it is public which labels occur.
    schema : privcurve.Schema, optional
        Replaces the three parameters above: X is then a raw frame, and `y` has the schema's labels.
    random_state : int, Generator, RandomState or None
        For a private model it must be secret, and used for one dataset only (see
        ``checks.generator_of``). With an int, cross-validation folds of equal size get the same
        noise: leave it out there, or give a ``Generator``.
    """

    _learner: ClassVar[str]

    # Names and types of the fitted attributes that a model file stores (`X | None`: the attribute
    # may be absent). They determine all scores and must be released numbers, which the ledger pays
    # for. The mapping is empty if a model cannot be saved; `_why_kept_back` then has the reason.
    _released: ClassVar[Mapping[str, Any]] = {}
    _why_kept_back: ClassVar[str] = "its model has no file format"

    # The largest number of records: sums over more records could overflow or be inexact.
    _most_records: ClassVar[float] = float("inf")
    # The oldest version of the learner whose model files can be read. In files of earlier versions,
    # scores have another meaning.
    _oldest_read: ClassVar[int] = 1

    n_bins: int | Sequence[int] | None = None
    bounds: tuple[ArrayLike, ArrayLike] | None = None
    classes: Sequence[Any] | None = None
    # A privcurve.Schema. The type is Any, because learners do not import the package `datasets`.
    schema: Any = None
    random_state: RandomState = None
    _fitted_statement: PrivacyStatement = field(init=False)
    _fitted_parameters: Mapping[str, Any] = field(init=False)
    _positions_from_rows: bool = field(init=False, default=False)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        sealing.check_methods(cls, CodedClassifier)

    def fit(
        self, X: ArrayLike, y: ArrayLike, counts: ArrayLike | None = None, **others: Any
    ) -> Self:
        """Train the classifier.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Bins; or numbers, if `bounds` is given; or a raw frame, if `schema` is given.
        y : array-like of shape (n_rows,)
            Labels of one type, with two classes, or more if the learner supports more.
        counts : array-like of shape (n_rows,), optional
            How many records each row represents (positive integers; default one each).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a bin, a label or a count is not allowed.
        TypeError
            If there is another argument, such as ``sample_weight``.
        """
        refuse_others(self._learner, others)
        learner = self._with_schema_facts(y)
        before = dict(vars(self))
        try:
            fitted = learner._fit_rows(X, y, counts)
        except BaseException:
            self.__dict__ = before  # a failed fit leaves the previous model unchanged
            raise
        if self.schema is not None:
            fitted._fitted_statement = fitted._fitted_statement.of_persons(self.schema.at_most)
        # No attribute of a previous fit may remain: that fit may have had less noise, or none.
        kept = {name: value for name, value in vars(self).items() if name in OF_SKLEARN}
        self.__dict__ = {**kept, **vars(fitted), **self.get_params(deep=False)}
        model = getattr(self, "model_", None)
        if self.schema is not None and hasattr(model, "words"):
            # With a schema, a printed model has the names of columns and values.
            object.__setattr__(model, "words", self.describe())
        warn_of_order(self.classes_, self.classes if self.schema is None else self.schema.classes)
        return self

    def _with_schema_facts(self, y: ArrayLike) -> Self:
        """Return a copy with the schema's public facts as parameters, or self without a schema."""
        if self.schema is None:
            return self
        facts = schema_facts(self, self.schema, y)
        return type(self)(**{**self.get_params(deep=False), **facts})

    def fit_records(
        self,
        records: Records | PartedRecords,
        settings: Sequence[Mapping[str, object]],
        curators: Sequence[Curator],
    ) -> list[Self]:
        """Train one copy of this learner for each setting, on encoded records.

        Parameters
        ----------
        records : Records or PartedRecords
            Labels are −1 and +1; with more than two classes 0 … K − 1.
        settings : sequence of mapping
            Parameters that replace this learner's own. They must not contain public facts.
        curators : sequence of Curator
            One for each setting; the only source of randomness.

        Returns
        -------
        list of fitted learners
            In the order of `settings`. Each has the same bits as if its setting was fitted alone,
            and as if partitioned records were in memory.

        Raises
        ------
        ValueError
            If a setting or a bin is not allowed, or if the records are partitioned and the learner
            needs all of them in memory: see `LearnerEntry.in_parts`.
        """
        learners, classes = self._copies_with(settings), np.asarray(self.classes)
        self.n_bins_ = check_n_bins(cast(Any, self.n_bins), len(records.n_bins))
        self.n_features_in_ = len(self.n_bins_)
        if isinstance(records, PartedRecords):
            for learner in learners:
                terms = {"setting": learner._setting(), "in_parts": True, "facts": learner}
                if why := entry(self._learner).refuses(**terms):
                    raise ValueError(why)
        else:
            labels = records.labels
            if entry(self._learner).multiclass:
                labels = (labels > 0 if len(classes) == 2 else labels).astype(np.int64)
            codes = records.codes if records.learner else check_codes(records.codes, self.n_bins_)
            records = records._replace(codes=codes, labels=labels)
        return self._train(learners, records, classes, curators)

    def _fit_rows(self, X: ArrayLike, y: ArrayLike, counts: ArrayLike | None) -> Self:
        """Check and encode rows, and train."""
        learners = self._copies_with([{}])
        codes = self._encode(X, fit=True)
        warn_of_index(X, y=y, counts=counts)
        labels, targets = self._targets(y, codes.shape[0])
        weights = check_counts(counts, codes.shape[0])
        rows = training_rows(self.schema, X, counts)
        records = Records(codes[rows], targets[rows], weights[rows], self.n_bins_)
        n = records.n
        warn_of_budget(self, n)
        fitted = self._train(learners, records, labels, None)[0]
        fitted._positions_from_rows = positions_need_rows(self, y)
        warn_of_size(fitted, n)
        return fitted

    def size_remark(self, n: int) -> str:
        """Return a remark if simpler learners often predict better from `n` records; else ""."""
        return ""

    def _copies_with(self, settings: Sequence[Mapping[str, object]]) -> list[Self]:
        """Return a copy of this learner for each setting, with checked parameters."""
        learners = []
        for setting in settings:
            # A shallow copy is enough: parameters are never changed in place.
            parameters = {**self.get_params(deep=False), **setting}
            learner = type(self)(**{k: plain_number(value) for k, value in parameters.items()})
            learner._check_parameters()
            for name, value in learner._setting().items():
                # An integer may be written as 8.0, but Python's `range` accepts only 8.
                if isinstance(value, float) and entry(self._learner).parameters[name].kind is int:
                    setattr(learner, name, int(value))
            learners.append(learner)
        return learners

    def _train(
        self,
        learners: list[Self],
        records: Any,
        labels: NDArray[Any],
        curators: Sequence[Curator] | None,
    ) -> list[Self]:
        """Train on checked records, in memory or partitioned.

        `labels` are the classes. Without curators there must be one learner, which uses its
        `random_state`.
        """
        if not records.learner and records.n > self._most_records:
            most = f"{self._most_records:,} records"
            raise ValueError(f"{self._learner} must have at most {most}, to sum without overflow")
        for learner in learners:
            # A learner that reads fewer columns changes `n_features_used_` later.
            learner.n_features_in_ = learner.n_features_used_ = len(self.n_bins_)
            if hasattr(self, "feature_names_in_"):
                learner.feature_names_in_ = self.feature_names_in_
            learner.classes_ = labels
            learner.check_classes(len(labels))
            learner.n_bins_ = self.n_bins_
            learner._labels_from_rows = self.classes is None
        if curators is None:
            (learner,) = learners
            curators = [Curator(generator_of(learner.random_state, learner._facts(records.n)))]
        sealing.fit(learners, records, curators)
        copies: dict[int, Any] = {}  # memo of `deepcopy`: shared parameters are copied once
        for learner, curator in zip(learners, curators, strict=True):
            statement = curator.check(learner._fitted_statement, entry(self._learner).peer)
            statement = statement.of_fit(curator.generator_exclusion, curator.float_exclusions)
            statement = sealing.check_asked(learner, sealing.state_fit(learner, statement, curator))
            relations = entry(self._learner).neighbours
            if statement.private and statement.neighbours not in relations:
                raise ValueError(
                    f"{self._learner}: its statement must be for {' or '.join(relations)} "
                    f"neighbours; it is for {statement.neighbours}: give neighbours= to "
                    "_noise_of"
                )
            learner._fitted_statement = statement
            # Copy the parameters, because a caller may change an array in place. Leave out the
            # seed, which is secret.
            parameters = self._without_seed(learner.get_params(deep=False))
            learner._fitted_parameters = {
                name: value if type(value) in PLAIN else copy.deepcopy(value, copies)
                for name, value in parameters.items()
            }
        return learners

    @staticmethod
    def _without_seed(parameters: Mapping[str, object]) -> dict[str, Any]:
        return {key: value for key, value in parameters.items() if key != "random_state"}

    def _as_fitted(self) -> Self:
        """Return a shallow copy with the parameters of the last fit, or self before any fit."""
        parameters = vars(self).get("_fitted_parameters")
        if parameters is None:
            return self
        fitted = object.__new__(type(self))
        fitted.__dict__.update(vars(self), **parameters)
        return fitted

    def _targets(self, y: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the classes, and each row's label in training: −1 or +1, or a class position."""
        registered = self._effective_entry()
        check_unmasked(y, "y")
        given = read_labels(y, warn=True)
        if self.schema is None:
            labels, positions = check_labels(given, self.classes, n_rows, registered)
        else:
            check_length(given, n_rows)
            labels = check_classes(cast(Any, self.classes), registered)
            positions = self.schema.positions(given)
        many = entry(self._learner).multiclass
        return labels, positions if many else (2 * positions - 1).astype(np.int8)

    def _facts(self, n: int) -> dict[str, Any]:
        """Return the public facts of a fit on `n` records: with the seed, they fix its noise."""
        fitted = {"n_bins": self.n_bins_, "classes": self.classes_}
        parameters = {**self.get_params(deep=False), **fitted}
        del parameters["random_state"]
        if self.schema is None:
            # Leave `schema` out, so that a seed gives the same fit as in versions without schemas.
            del parameters["schema"]
        if self.mixed_bins is None:
            del parameters["mixed_bins"]
        else:
            # Keep parameters that only earlier versions had, so that a seed gives the same fit as
            # in those versions.
            paid = {"bin_share": 0.05} if isinstance(self, PrivateClassifier) else {}
            parameters |= {"private_bins": None, **paid}
        if "calibration" in parameters:
            parameters["calibration"] = stored(parameters["calibration"])
        version = entry(self._learner).run_version
        return {**parameters, "learner": self._learner, "version": version, "n": n}

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return one score per row, above 0 for ``classes_[1]``; with K > 2 classes, K scores.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_classes) with more than two classes

        Raises
        ------
        ValueError
            If X is not allowed, or if the learner's ``_scores`` returns another shape.
        """
        check_is_fitted(self)
        return self.score_codes(self._as_fitted()._encode(X, fit=False))

    @with_fitted_parameters
    def score_codes(self, codes: Codes) -> Floats:
        """Return the scores of encoded rows, as `decision_function` but without checks of X."""
        scores = self._scores(self._merge(codes))
        n_rows, n_classes = len(codes), len(self.classes_)
        wanted = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
        if np.shape(scores) != wanted:
            raise ValueError(
                f"{type(self).__name__}._scores gives the shape {np.shape(scores)} for {n_rows} "
                f"rows and {n_classes} classes; it must be {wanted}"
            )
        return scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the label of each row; a score of zero counts as negative (thesis, §1.2).

        With more than two classes, ties go to the first class.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        positions = decide(self.decision_function(X))
        return np.asarray(self.classes_)[positions]

    @property
    def privacy_(self) -> PrivacyStatement:
        """The guarantee of the fit, with its ledger; parameters set later do not change it."""
        check_is_fitted(self)
        # A pickle from an earlier version may have a status that this version no longer supports.
        statement = sealing.statement_as_known(self._as_fitted(), self._fitted_statement)
        if not statement.private:
            return statement
        assumed, occur = statement.assumptions, ASSUMED_BOTH
        if len(self.classes_) > 2:
            of_many = {ASSUMED_LABELS: ASSUMED_CLASSES}
            # Remove duplicates: if `tuned` selected the learner, the statement may already contain
            # ASSUMED_CLASSES.
            texts = dict.fromkeys(of_many.get(text, text) for text in assumed)
            assumed, occur = tuple(texts), ASSUMED_EACH
        if self._labels_from_rows:
            # A fit fails if a label does not occur, so success reveals that each one occurs.
            assumed = (*assumed, occur)
        if self._positions_from_rows:
            # The records decided whether 0, 1, … are classes or positions: see `are_positions`.
            assumed = (*assumed, ASSUMED_POSITIONS)
        return replace(statement, assumptions=assumed)

    @property
    def chances_by_link(self) -> bool:
        """Whether `predict_proba` needs a link function; False if the scores are log-odds."""
        return False

    @property
    @with_fitted_parameters
    def measures_(self) -> dict[str, float]:
        """Sizes of the released model, by name: ``nodes`` and ``leaves`` of a tree, for example."""
        check_is_fitted(self)
        return self._measures()

    def check_classes(self, n_classes: int) -> None:
        """Check before training that the parameters support `n_classes`, or raise ValueError.

        A learner that supports more than two classes only with some parameters overrides this.
        """
        check_n_classes(self._effective_entry(), n_classes)

    # To be implemented by a learner ------------------------------------------------

    def _fit_batch(
        self, learners: Sequence[Self], records: Records, curators: Sequence[Curator]
    ) -> None:
        for learner, curator in zip(learners, curators, strict=True):
            # Copy the records: a learner that writes into them must not change the records of the
            # next fit.
            learner._fitted_statement = learner._fit_one(records.copy(), curator)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        """Announce the fit's mechanism calls to the curator, train, and return the guarantee."""
        # Under add-remove the number of records is not public, so nothing may depend on it.
        statement = self._guarantee(0 if self._neighbours() == ADD_REMOVE else records.n)
        curator.announce(statement)
        self._release(records, curator)
        return statement

    def _guarantee(self, n: int) -> PrivacyStatement:
        """Return the guarantee of a fit on n records; published calibrations override this."""
        return self._noise_of(self._calls(n))

    def _noise_of(self, calls: Sequence[Announced], **more: Any) -> PrivacyStatement:
        """Calibrate calls to the budget by `noise_of(…, **more)`, and return the statement."""
        budget = {name: getattr(self, name) for name in BUDGET}
        if self._neighbours() == ADD_REMOVE:
            more = {"neighbours": ADD_REMOVE, **more}
        return noise_of(self._learner, tuple(calls), **budget, **{"status": PROVED, **more})

    def _calls(self, n: int) -> Sequence[Announced]:
        """Return the mechanism calls of a fit on n records, from public facts alone."""
        raise NotImplementedError

    def _release(self, records: Records, curator: Curator) -> None:
        """Train: ask the curator for noisy answers about the records, and store the model.

        Labels are −1 and +1 (int8); for a learner that supports more than two classes they are
        positions in ``classes_`` (int64), whatever the number of classes.
        """
        raise NotImplementedError

    def _scores(self, codes: Codes) -> Floats:
        raise NotImplementedError

    def _measures(self) -> dict[str, float]:
        return {}

    def _trained_learners(self) -> tuple[str, ...]:
        """Return the names of the learners that a fit trains: itself, and any candidates."""
        return (self._learner,)

    def _model_to_save(self) -> CodedClassifier:
        """Return the learner whose model is saved: itself, or the one it selected."""
        return self

    def _restore(self) -> None:
        """Check the attributes read from a model file, and compute further attributes from them.

        The check must be strict enough that no kernel reads beyond an array. Raises ValueError if
        an attribute does not fit the columns and classes.
        """

    def _effective_entry(self) -> LearnerEntry:
        """Return the registry's entry of the learner; `tuned` adapts it to the candidates."""
        return entry(self._learner)

    def _neighbours(self) -> str:
        """Return the neighbouring relation: the parameter `neighbours`, or the entry's default."""
        return str(vars(self).get("neighbours", entry(self._learner).neighbours[0]))

    # Checks ------------------------------------------------------------------------

    def _setting(self) -> dict[str, Any]:
        """Return the learner's hyperparameters, without public facts and budget."""
        names = entry(self._learner).parameters
        return {name: value for name, value in self.get_params(deep=False).items() if name in names}

    def _check_parameters(self) -> None:
        registered = entry(self._learner)
        parameters = self.get_params(deep=False)
        registered.check_parameters(self._setting(), parameters.get("calibration"))
        budget = {key: parameters[key] for key in OFFERED if key in parameters}
        if why := registered.refuses(**budget):
            raise ValueError(why)

    def _encode(self, X: ArrayLike, fit: bool) -> Codes:
        """Check X and return its bins; if `fit`, also set ``n_bins_`` and names of columns."""
        if self.schema is not None:
            codes = self.schema.encode(X, train=fit)
            if fit:
                self.n_features_in_ = codes.shape[1]
                if any(isinstance(name, str) for name in column_names(X)):
                    self.feature_names_in_ = np.array(self.schema.names, dtype=object)
                self.n_bins_ = check_n_bins(self.schema.domain.n_bins, codes.shape[1])
                if not len(codes) and self._neighbours() != ADD_REMOVE:
                    raise ValueError("X must have at least one row; it has none")
            return codes
        if self.n_bins is None:
            if names := column_names(X):
                raise ValueError(explain_missing_schema(type(self).__name__, names))
            raise ValueError(
                f"{type(self).__name__} needs n_bins=, which is public and never read from rows: "
                "give one number per column (dataset.domain.n_bins), or one number for all columns."
            )
        check_places(X)
        check_unmasked(X, "X")
        # Under add-remove the number of records may be 0.
        least = 0 if fit and self._neighbours() == ADD_REMOVE else 1
        checked: NDArray[Any] = validate_data(self, X, reset=fit, ensure_min_samples=least)
        n_columns = checked.shape[1]
        if fit:
            self.n_bins_ = check_n_bins(self.n_bins, n_columns)
        n_bins = self.n_bins_ if fit else self._n_codes
        if self.bounds is not None:
            return code_equal_width(checked, check_bounds(self.bounds, n_columns), n_bins)
        return check_codes(checked, n_bins)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(CodedClassifier):
    """Base class of the private learners: it adds the parameters of the budget.

    Parameters
    ----------
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        δ; 0 for pure differential privacy.
    calibration : str
        ``proved``, or ``published`` if the registry's entry lists it.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    calibration: str = PROVED
