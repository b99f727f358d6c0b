"""Base classes of learners: input checks, encoding of columns, classes, randomness.

A learner works on an *encoded matrix*: n × columns of small unsigned integers, where column ``j``
has codes ``0 … n_bins[j] - 1``. The number of codes of each column, and the bounds of a numeric
column, are public parameters; they are never read from the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from privcurve.coding import Codes, Floats, Records, code_equal_width, decide
from privcurve.given import column_names, read_labels
from privcurve.learners.entry import LearnerEntry
from privcurve.learners.registry import check_parameters, entry
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
from privcurve.parts import PartedRecords
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
from privcurve.privacy.reach import PLAIN
from privcurve.stored import stored

if TYPE_CHECKING:
    from privcurve.datasets.public_schema import Schema

# Attributes that scikit-learn sets on estimators: in `set_fit_request`, and since 1.9 in pipelines
# and searches.
OF_SKLEARN = ("_metadata_request", "_parent_callback_ctx", "_skl_callbacks")

BUDGET = ("epsilon", "delta", "calibration")
OFFERED = (*BUDGET, "neighbours")

Method = TypeVar("Method", bound=Callable[..., Any])


def with_fitted_parameters(method: Method) -> Method:
    """Return a public method that runs with the parameters of the fit, whatever was set since.

    Parameters that are set later apply to the next fit, not to scores and descriptions of a model.
    """

    @wraps(method)
    def run(learner: CodedClassifier, *args: Any, **kwargs: Any) -> Any:
        return method(learner._as_fitted(), *args, **kwargs)

    return cast(Method, run)


@dataclass(kw_only=True, eq=False, repr=False)
class CodedClassifier(Explained, merging.MergingClassifier, SklearnClassifier):
    """Base class of the learners: classifiers over an encoded matrix.

    A subclass sets `_learner` (its name in the registry), stores its parameters in ``__init__``,
    and implements :meth:`_fit_one`, or :meth:`_fit_batch` if one call of a kernel can train many
    settings; and ``_scores(codes)``, the decision function.

    Parameters of all learners: ``n_bins`` (int for all columns, or one int per column), ``bounds``
    (None if X is already encoded; or a pair of numbers or arrays: X is numeric, clipped to the
    bounds and split into ``n_bins`` equal-width bins), ``classes`` (the two labels, negative first;
    None takes them from `y`, which makes it a public fact that both occur), ``schema`` (a
    :class:`privcurve.Schema` instead of these three: X is then a raw frame, and `y` has its
    classes), ``random_state`` (a secret, if the model is to be private, used for one dataset only:
    see ``checks.generator_of``. With a number, folds of one size have the same noise: to
    cross-validate, leave it out or give a ``Generator``). Private learners also have ``epsilon``,
    ``delta`` and ``calibration``.

    If its entry says ``multiclass``, :meth:`_fit_one` gets positions of classes instead of signs,
    and ``_scores`` returns a column for each of K > 2 classes.
    """

    _learner: ClassVar[str]

    # The attributes that determine scores, each with its type (see `privcurve.models.codec`; with
    # None it may be absent). All of them are released: the ledger pays for them. It is empty if a
    # model can't be saved; `_why_kept_back` says why.
    _released: ClassVar[Mapping[str, Any]] = {}
    _why_kept_back: ClassVar[str] = "its model has no file format"

    # The largest number of records with exact sums.
    _most_records: ClassVar[float] = float("inf")
    # The oldest version whose model files this version reads: scores of older ones have another
    # meaning.
    _oldest_read: ClassVar[int] = 1

    n_bins: int | Sequence[int] | None = None
    bounds: tuple[ArrayLike, ArrayLike] | None = None
    classes: Sequence[Any] | None = None
    schema: Schema | None = None
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
        """Train.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Codes, numbers if ``bounds`` is given, or a raw frame if ``schema`` is.
        y : array-like of shape (n_rows,)
            Labels of one type: two values, or more if the learner supports more.
        counts : array-like of shape (n_rows,), optional
            How many records each row represents (positive integers; default one each).

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, a code, a label or a count is not allowed.
        TypeError
            If anything else is given, such as ``sample_weight``.
        """
        refuse_others(self._learner, others)
        learner = self._with_schema_facts(y)
        before = dict(vars(self))
        try:
            fitted = learner._fit_rows(X, y, counts)
        except BaseException:
            self.__dict__ = before  # everything of the previous fit
            raise
        if self.schema is not None:
            fitted._fitted_statement = fitted._fitted_statement.of_persons(self.schema.at_most)
        # Nothing of a previous fit may remain: it may have had less noise, or none.
        kept = {name: value for name, value in vars(self).items() if name in OF_SKLEARN}
        self.__dict__ = {**kept, **vars(fitted), **self.get_params(deep=False)}
        model = getattr(self, "model_", None)
        if self.schema is not None and hasattr(model, "words"):
            # A printed model also has the names of columns and values.
            object.__setattr__(model, "words", self.describe())
        warn_of_order(self.classes_, self.classes if self.schema is None else self.schema.classes)
        return self

    def _with_schema_facts(self, y: ArrayLike) -> Self:
        """Return this learner with the public facts of its schema; itself without a schema."""
        if self.schema is None:
            return self
        facts = schema_facts(self, self.schema, y)
        return type(self)(**{**self.get_params(deep=False), **facts})

    def fit_records(
        self,
        records: Records | PartedRecords,
        settings: Sequence[Mapping[str, Any]],
        curators: Sequence[Curator],
    ) -> list[Self]:
        """Train one copy of this learner for each setting, on encoded records.

        Parameters
        ----------
        records : Records or PartedRecords
            Labels are −1 and +1; with more than two classes 0 … K − 1.
        settings : sequence of mapping
            Parameters that replace this learner's own, except its public facts.
        curators : sequence of Curator
            One for each setting; the only source of randomness.

        Returns
        -------
        list of fitted learners
            In the order of `settings`. Each equals, bit for bit, a fit of its setting alone, and a
            fit
            on the same records in memory.

        Raises
        ------
        ValueError
            If a setting or a code is not allowed, or if the records are partitioned and the learner
            needs more than sums over parts: see `LearnerEntry.in_parts`.
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
        warn_of_budget(self, records.n)
        fitted = self._train(learners, records, labels, None)[0]
        fitted._positions_from_rows = positions_need_rows(self, y)
        warn_of_size(fitted, records.n)
        return fitted

    def size_remark(self, n: int) -> str:
        """Return why simpler learners suit the public facts of a fit; empty if they do not."""
        return ""

    def _copies_with(self, settings: Sequence[Mapping[str, Any]]) -> list[Self]:
        """Return copies of this learner with other parameters, checked."""
        learners = []
        for setting in settings:
            # A shallow copy is enough: parameters are never changed in place.
            parameters = {**self.get_params(deep=False), **setting}
            learner = type(self)(**{k: plain_number(value) for k, value in parameters.items()})
            learner._check_parameters()
            for name, value in learner._setting().items():
                # An integer may be written as 8.0, but Python's ranges accept only 8.
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

        Without curators there is one learner, which uses the stream of its random_state.
        """
        if not records.learner and records.n > self._most_records:
            most = f"{self._most_records:,} records"
            raise ValueError(f"{self._learner} adds up to {most} without overflow")
        for learner in learners:
            # A learner that reads fewer columns sets this itself.
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
        copies: dict[int, Any] = {}  # shared by settings, such as the number of bins
        for learner, curator in zip(learners, curators, strict=True):
            statement = curator.check(learner._fitted_statement, entry(self._learner).peer)
            statement = statement.of_fit(curator.generator_exclusion, curator.float_exclusions)
            statement = sealing.check_asked(learner, sealing.state_fit(learner, statement, curator))
            relations = entry(self._learner).neighbours
            if statement.private and statement.neighbours not in relations:
                raise ValueError(
                    f"{self._learner}: its statement must be for {' or '.join(relations)} "
                    f"neighbours; it is for {statement.neighbours}: _noise_of(calls, "
                    "neighbours=…)"
                )
            learner._fitted_statement = statement
            # A copy, as an array may be changed in place; without the seed, which is secret.
            parameters = self._without_seed(learner.get_params(deep=False))
            learner._fitted_parameters = {
                name: value if type(value) in PLAIN else copy.deepcopy(value, copies)
                for name, value in parameters.items()
            }
        return learners

    @staticmethod
    def _without_seed(parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in parameters.items() if key != "random_state"}

    def _as_fitted(self) -> Self:
        """Return this learner with the parameters of its fit; itself before a fit.

        Attributes are shared, not copied. A learner from a file has only the parameters of its fit.
        """
        parameters = vars(self).get("_fitted_parameters")
        if parameters is None:
            return self
        fitted = object.__new__(type(self))
        fitted.__dict__.update(vars(self), **parameters)
        return fitted

    def _targets(self, y: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the classes, and labels in the form of :meth:`_fit_one`: signs, or positions."""
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
        """Return all public facts of a fit, which determine its random stream."""
        fitted = {"n_bins": self.n_bins_, "classes": self.classes_}
        parameters = {**self.get_params(deep=False), **fitted}
        del parameters["random_state"]
        if self.schema is None:
            # Without a schema, streams are the same as before schemas existed.
            del parameters["schema"]
        if self.mixed_bins is None:
            del parameters["mixed_bins"]
        else:
            # Streams are the same as when bins could be private.
            paid = {"bin_share": 0.05} if isinstance(self, PrivateClassifier) else {}
            parameters |= {"private_bins": None, **paid}
        if "calibration" in parameters:
            parameters["calibration"] = stored(parameters["calibration"])
        version = entry(self._learner).run_version
        return {**parameters, "learner": self._learner, "version": version, "n": n}

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score rows: with two classes, positive for ``classes_[1]``; with more, each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_classes) with more than two classes

        Raises
        ------
        ValueError
            If X is not allowed, or if ``_scores`` returns another shape, which would be misread.
        """
        check_is_fitted(self)
        return self.score_codes(self._as_fitted()._encode(X, fit=False))

    @with_fitted_parameters
    def score_codes(self, codes: Codes) -> Floats:
        """Score rows of an encoded dataset like :meth:`decision_function`, without its checks."""
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
        """The guarantee of the fit, with its ledger, whatever parameters are set later."""
        check_is_fitted(self)  # a pickle of an earlier version may promise more
        statement = sealing.statement_as_known(self._as_fitted(), self._fitted_statement)
        if not statement.private:
            return statement
        assumed, occur = statement.assumptions, ASSUMED_BOTH
        if len(self.classes_) > 2:
            of_many = {ASSUMED_LABELS: ASSUMED_CLASSES}
            # The selected learner may use either wording.
            texts = dict.fromkeys(of_many.get(text, text) for text in assumed)
            assumed, occur = tuple(texts), ASSUMED_EACH
        if self._labels_from_rows:
            # A fit with one label fails, which reveals that no record has the other label.
            assumed = (*assumed, occur)
        if self._positions_from_rows:
            # Only the records show whether 1 is a class or its position: see `are_positions`.
            assumed = (*assumed, ASSUMED_POSITIONS)
        return replace(statement, assumptions=assumed)

    @property
    def chances_by_link(self) -> bool:
        """Whether `predict_proba`, if it exists, is derived from votes and not from log-odds."""
        return False

    @property
    @with_fitted_parameters
    def measures_(self) -> dict[str, float]:
        """Sizes of the fitted model by name, such as nodes and leaves of a tree.

        They are computed only from releases of the fit, which the ledger pays for.
        """
        check_is_fitted(self)
        return self._measures()

    def check_classes(self, n_classes: int) -> None:
        """Refuse parameters that support fewer classes, before any training.

        Raises ValueError if the learner supports more than two classes, but not with these
        parameters.
        """

    # To be implemented by a learner ------------------------------------------------

    def _fit_batch(
        self, learners: Sequence[Self], records: Records, curators: Sequence[Curator]
    ) -> None:
        for learner, curator in zip(learners, curators, strict=True):
            # A copy: a learner that writes into its records must not change the records of other
            # fits.
            learner._fitted_statement = learner._fit_one(records.copy(), curator)

    def _fit_one(self, records: Records, curator: Curator) -> PrivacyStatement:
        """Announce the calls, train, and return the guarantee, for calls known beforehand."""
        # Under add-remove the number of records is not public, so nothing may depend on it.
        statement = self._guarantee(0 if self._neighbours() == ADD_REMOVE else records.n)
        curator.announce(statement)
        self._release(records, curator)
        return statement

    def _guarantee(self, n: int) -> PrivacyStatement:
        """Return the guarantee of a fit on n records; overridden by published calibrations."""
        return self._noise_of(self._calls(n))

    def _noise_of(self, calls: Sequence[Announced], **more: Any) -> PrivacyStatement:
        """Calibrate calls to the budget; `more` are other arguments of :func:`noise_of`."""
        budget = {name: getattr(self, name) for name in BUDGET}
        if self._neighbours() == ADD_REMOVE:
            more = {"neighbours": ADD_REMOVE, **more}
        return noise_of(self._learner, tuple(calls), **budget, **{"status": PROVED, **more})

    def _calls(self, n: int) -> Sequence[Announced]:
        """Return the mechanism calls of a fit on n records, from public facts alone."""
        raise NotImplementedError

    def _release(self, records: Records, curator: Curator) -> None:
        """Train: put questions about the records to the curator, and store its answers.

        Labels are −1 and +1 (int8); for a learner that supports more than two classes they are
        positions in ``classes_`` (int64), whatever the number of classes.
        """
        raise NotImplementedError

    def _scores(self, codes: Codes) -> Floats:
        raise NotImplementedError

    def _measures(self) -> dict[str, float]:
        return {}

    def _trained_learners(self) -> tuple[str, ...]:
        """Return the learners that a fit trains: itself, and candidates among which it chooses."""
        return (self._learner,)

    def _model_to_save(self) -> CodedClassifier:
        """Return the learner whose model is saved: itself, or the one it selected."""
        return self

    def _restore(self) -> None:
        """Check the attributes read from a file (`_released`), and compute dependent attributes.

        A model that passes must not make a kernel read beyond its arrays. Raises ValueError if it
        does not fit the columns and classes.
        """

    def _effective_entry(self) -> LearnerEntry:
        """Return the entry that applies to these parameters: usually the registry's."""
        return entry(self._learner)

    def _neighbours(self) -> str:
        """Return the neighbouring relation of the fit's guarantee."""
        return str(vars(self).get("neighbours", entry(self._learner).neighbours[0]))

    # Checks ------------------------------------------------------------------------

    def _setting(self) -> dict[str, Any]:
        """Return its hyperparameters."""
        names = entry(self._learner).parameters
        return {name: value for name, value in self.get_params(deep=False).items() if name in names}

    def _check_parameters(self) -> None:
        registered = entry(self._learner)
        parameters = self.get_params(deep=False)
        check_parameters(self._learner, self._setting(), parameters.get("calibration"))
        budget = {key: parameters[key] for key in OFFERED if key in parameters}
        if why := registered.refuses(**budget):
            raise ValueError(why)

    def _encode(self, X: ArrayLike, fit: bool) -> Codes:
        """Check X and encode it; at fit, set ``n_bins_``."""
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
                "one int a column (dataset.domain.n_bins), or one for all."
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
    """Base class of the private learners: their budget.

    Parameters
    ----------
    epsilon : float
        ε, above 0; infinite: no noise.
    delta : float
        0: pure differential privacy.
    calibration : str
        ``proved``, or ``published`` where the entry in the registry offers it.
    """

    epsilon: float = 1.0
    delta: float = 0.0
    calibration: str = PROVED
