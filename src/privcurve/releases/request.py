"""A request for a release, and the checks before a record is read or a price is spent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from privcurve.coding import Codes, Records, class_labels, code_type
from privcurve.datasets import Description, Domain
from privcurve.datasets.description import Unit
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS, by_rule
from privcurve.learners.entry import LearnerEntry
from privcurve.learners.shared.tuning import NAME as TUNED
from privcurve.models.document import document
from privcurve.models.errors import ModelError
from privcurve.privacy import budget as words
from privcurve.privacy.budget import budget_within_group
from privcurve.privacy.curator import Curator
from privcurve.releases.budget_ledger import Price
from privcurve.releases.errors import ReleaseError

# Number of distinct made-up records in a rehearsal.
MADE_UP = 64

# Smallest number of records for which a hold-out is suggested.
HOLDOUT_FROM = 2_000

# Parameter of learners: a public estimate of the number of records, if the number is secret.
ESTIMATE = "n_estimate"


@dataclass(frozen=True)
class Request:
    """The request for a release."""

    dataset: str
    epsilon: float
    delta: float = 0.0
    # Name in the registry, or `choose` (`privcurve.releases.choice`).
    learner: str = by_rule.DEFAULT
    # Hyperparameters; missing ones have their defaults.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # The relation of neighbours, a constant of `privacy.budget`; by default (empty), the first
    # relation that the learner supports.
    neighbours: str = ""
    # Share of the records that are held out. One query at ε measures the model on these records. 0
    # means that there is no hold-out.
    holdout: float = 0.0
    # The unit of the dataset's description, if ε and δ are for persons; None for records.
    unit: Unit | None = None
    # Names of the public columns of the dataset, including the label if it is public.
    public: tuple[str, ...] = ()

    def of(self, description: Description) -> Request:
        """Return the request with the unit and the public columns of a description."""
        return replace(self, unit=description.unit, public=description.domain.public_names)

    @property
    def entry(self) -> LearnerEntry:
        """The entry of the learner in the registry; ValueError if there is no such learner."""
        return registry.entry(self.learner)

    @property
    def relation(self) -> str:
        """The relation of neighbours of the guarantee; by default the learner's first relation."""
        return self.neighbours or self.entry.neighbours[0]

    def price(self, secret: bool) -> Price:
        """Return the price of the release; ε is infinite if the seed is not secret.

        A hold-out does not raise the price: a record either trains the model or is held out, and
        training and query cost ε each (docs/proofs.md, 'Hold-out').
        """
        epsilon = self.epsilon if secret else math.inf
        shared = self.public if self.relation == words.PRIVATE_COLUMNS else ()
        return Price(epsilon, self.delta, self.relation, self.person, shared)

    @property
    def person(self) -> str:
        """The column of persons if ε and δ are for persons; empty if they are for records."""
        return "" if self.unit is None else self.unit.column

    @property
    def at_most(self) -> int | None:
        """The largest number of records of a person; None if ε and δ are for records."""
        return None if self.unit is None else self.unit.at_most

    @property
    def budget_of_record(self) -> tuple[float, float]:
        """The ε and δ with which the learner trains, for neighbours that differ in one record.

        They are smaller than the ε and δ of the request if the request protects persons with
        several records.
        """
        return budget_within_group(self.epsilon, self.delta, self.at_most)

    @property
    def epsilon_of_query(self) -> float:
        """The ε with which the query on the hold-out protects one record."""
        return self.budget_of_record[0]

    @property
    def estimator_parameters(self) -> dict[str, Any]:
        """Parameters of the estimator, including ε, δ and calibration."""
        epsilon, delta = self.budget_of_record
        level = {"epsilon": epsilon, "delta": delta, "calibration": words.PROVED}
        parameters = {**self.parameters, **level}
        if self.holdout and parameters.get(ESTIMATE):
            # Subtract the held-out records from the estimate, which counts all records.
            parameters[ESTIMATE] = max(round(parameters[ESTIMATE] * (1 - self.holdout)), 1)
        return parameters


def check(request: Request, description: Description, large_delta: bool = False) -> Any:
    """Return the unfitted learner of a request; raise ReleaseError if it can't be released.

    With `large_delta`, δ may be 1 / (number of records) or more.
    """
    estimator = make_estimator(request, description.domain)
    check_parts(request, description)
    _check_description(request, description)
    if not large_delta:
        check_delta(request, description)
    return estimator


def make_estimator(request: Request, domain: Domain) -> Any:
    """Return the unfitted learner of a request, after the checks that need no description.

    Raises ReleaseError if the learner is not proved, or refuses its settings or the guarantee.
    """
    name = request.learner
    try:
        entry = request.entry
        entry.check_parameters(request.parameters)
        entry.check_proved(request.parameters)
        if name not in LEARNERS or not entry.proved:
            proved = [key for key, own in LEARNERS.items() if own.proved and not own.requires]
            raise ValueError(
                f"{name} has no proved guarantee of this project: its models may be compared, "
                f"but not released. Choose one of: {', '.join(proved)}."
            )
        kind = entry.estimator_class()
        if not (kind._released or name == TUNED):
            raise ValueError(f"{name} can't be released: {kind._why_kept_back}")
        if request.epsilon == math.inf:
            raise ValueError("epsilon must be finite for a release; got inf (no privacy)")
        epsilon, delta = request.budget_of_record
        if why := entry.refuses(epsilon=epsilon, delta=delta, neighbours=request.relation):
            raise ValueError(why)
        estimator = entry.make(domain, request.estimator_parameters, request.relation)
        estimator._check_parameters()
        estimator.check_classes(domain.n_classes)
    except (ValueError, ImportError) as error:
        raise ReleaseError(str(error)) from None
    return estimator


def check_parts(request: Request, description: Description) -> None:
    """Raise ReleaseError if records are partitioned and the learner needs all in memory at once."""
    terms = {"setting": request.parameters, "facts": description.domain}
    why = request.entry.refuses(**terms, in_parts=True)
    if description.part_rows and why:
        raise ReleaseError(f"{description.name}: {why}. {registry.hint_parts()}")


def _check_description(request: Request, description: Description) -> None:
    """Raise ReleaseError if `records` or `parser` of a description breaks the guarantee.

    The key `records` selects records (`balance`, `first`), so one private record may decide which
    other records train. The model file contains the parser, which may have the number of records.
    """
    if description.public_benchmark:
        return
    public = request.relation == words.PRIVATE_COLUMNS and description.domain.public_label
    if description.records.balance and not public:
        raise ReleaseError(
            f"records: balance of {description.name} selects records by their labels, which are "
            "private: one label decides how many others train, and the guarantee would not hold "
            "for the records in the file. Leave it out, and choose a learner that suits a rare "
            "label (docs/compare.md)."
        )
    if description.records.first and request.relation == words.ADD_REMOVE:
        raise ReleaseError(
            f"records: first of {description.name} lets an added record push another one "
            f"out: take neighbours = {words.REPLACE_ONE!r}, or leave it out"
        )
    if description.records.first and request.unit and request.relation == words.REPLACE_ONE:
        # Neighbours may differ in the number of records of a person. Then `first` may select
        # different records of other persons.
        raise ReleaseError(
            f"records: first of {description.name} lets one {request.unit.column} with many "
            "records push other records out: leave it out"
        )
    if description.parser.rows and request.relation == words.ADD_REMOVE:
        raise ReleaseError(
            f"parser: rows of {description.name} is the number of records, which neighbours = "
            f"{words.ADD_REMOVE!r} protects, and the model's file would contain it: delete the "
            "rows after the records from the sheet, and leave parser: rows out"
        )


# δ in records ----------------------------------------------------------------------


def public_number(request: Request, description: Description) -> int | None:
    """Return the number of records if it is public; otherwise the user's estimate, or None.

    For ``add-remove`` neighbours, the number of records is private: a check that depends on
    the number would reveal something about the number.
    """
    if request.relation != words.ADD_REMOVE:
        return description.n_rows
    estimate = request.parameters.get(ESTIMATE)
    return None if estimate is None else int(estimate)


def check_delta(request: Request, description: Description) -> None:
    """Raise ReleaseError if δ is at least 1 / (number of records).

    With such a δ, a mechanism may publish complete records. If neither the number of records nor an
    estimate is public, the check assumes 2, the smallest possible number.
    """
    n = public_number(request, description)
    if request.delta * (n or 2) >= 1:
        raise ReleaseError(
            f"{words.explain_delta(request.delta, n, request.relation, request.person)}. "
            f"{words.suggest_delta(n)}; or, if that is meant, --allow-large-delta. "
            "Nothing was trained."
        )


# Rehearsal -------------------------------------------------------------------------


def rehearse(request: Request, description: Description, estimator: Any, n_train: int) -> str:
    """Train on made-up records, to find impossible settings before the price is spent.

    Noise is calibrated by public facts only, so made-up records show whether ε, δ and settings are
    possible, and reveal nothing about the real records. If the number of training records is
    public, there are `n_train` made-up records, as the number affects the noise. Otherwise
    `n_train` is ignored.

    Returns a remark if simpler learners suit the public facts better, and otherwise an empty text.
    Raises ReleaseError if the training fails.
    """
    n = MADE_UP if request.relation == words.ADD_REMOVE else n_train
    records = make_records(description.domain, n)
    curator = Curator(np.random.Generator(np.random.PCG64(0)))
    try:
        with np.errstate(all="ignore"):
            (learner,) = estimator.fit_records(records, [{}], [curator])
            document(learner, description.domain)
        if (stated := learner.privacy_.neighbours) != request.relation:
            # The relation of the statement may depend on the settings, e.g. on whether a column is
            # public.
            raise ValueError(
                f"neighbours must be {request.relation!r}; got {stated!r} from these settings"
            )
        return str(learner.size_remark(n))
    except (ValueError, ArithmeticError, ModelError) as error:
        delta = f", delta = {request.delta:g}" if request.delta else ""
        raise ReleaseError(
            f"{request.learner} can't be trained with epsilon = {request.epsilon:g}{delta} and "
            f"these settings, whatever the records are ({error}). Nothing was trained on them, and "
            "nothing is spent. Take another epsilon or delta, or other settings."
        ) from None


def make_records(domain: Domain, n: int) -> Records:
    """Return `n` made-up encoded records of a domain."""
    n_distinct = min(n, MADE_UP)
    rows = np.arange(n_distinct)
    codes: Codes = np.stack([rows % width for width in domain.n_bins], axis=1).astype(
        code_type(domain.n_bins)
    )
    labels = np.array(class_labels(domain.n_classes))
    counts = np.full(n_distinct, n // n_distinct, dtype=np.int64)
    counts[: n % n_distinct] += 1
    y = labels[rows % len(labels)].astype(np.int8)
    return Records(codes, y, counts, np.array(domain.n_bins))


def format_parameter(value: object) -> str:
    """Return the value of a parameter as text for readers."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
