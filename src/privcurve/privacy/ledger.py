"""Define the privacy statement of a fitted learner, and its ledger."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

from privcurve.lazy import arithmetic
from privcurve.privacy.accountants import compose as accountants
from privcurve.privacy.budget import (
    ADD_REMOVE,
    PRIVATE_COLUMNS,
    PROVED,
    PUBLISHED,
    REPLACE_ONE,
    budget_within_group,
    exp,
    group_guarantee,
    is_private,
    relation,
    round_up,
)
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.seeds import ANY_GENERATOR, OF_NUMBER
from privcurve.privacy.spent import epsilon_of_ledger
from privcurve.stored import spoken, stored

ASSUMED_N = "the number of records"
ASSUMED_BINS = "the bins of each column"
ASSUMED_LABELS = "the two labels"
ASSUMED_CLASSES = "the classes of the label"
ASSUMED_BOTH = "that both labels occur among the records (classes was not given)"
ASSUMED_EACH = "that each class occurs among the records (classes was not given)"
ASSUMED_POSITIONS = (
    "that each class occurs among the records (labels were positions of classes that are numbers)"
)

# The assumptions of every learner of encoded data.
ASSUMED = (ASSUMED_N, ASSUMED_BINS, ASSUMED_LABELS)
# Further public facts, which are assumptions only of the learners that use them.
ASSUMED_ORDER = "which columns are ordered"
ASSUMED_ESTIMATE = "an estimate of the number of records (the number itself is not public)"

NOT_SEED = (
    "knowledge of the random seed (random_state; in a study: the base seed, or the id of a cell), "
    "or a second fit with the same seed: a seed is used once"
)

# Exclusions for floating-point arithmetic, one for each kind of answers in a fit (docs/proofs.md,
# 'Floating point', F1 and F2). Released numbers need no exclusion: they are on a grid, with exact
# noise.
ANY_FLOATS = "floating-point arithmetic, "
NOT_FLOATS = (
    f"{ANY_FLOATS}except in released numbers, whose noise is exact: choices, labels, shares of a "
    "secure sum and minimised objectives have floating-point noise"
)
OF_CHOICES = (
    f"{ANY_FLOATS}in choices and labels: their scores are taken as computed (rounded weights add "
    "less than 0.2 % to epsilon in LazyBB); each, among k candidates (a label has two), differs "
    "from the proof's with a probability of at most (k + M)/2^44, M the largest score by its noise"
)
OF_SHARES = (
    f"{ANY_FLOATS}in the shares of Laplace noise of a secure sum: that rounding them costs nothing "
    "is computed, not proved"
)
OF_OBJECTIVES = (
    f"{ANY_FLOATS}in minimised objectives: nothing is proved of the last digits of the minimum"
)
OF_STREAMS = (
    f"{ANY_FLOATS}in noise that a compiled loop or another package draws: nothing is proved of it"
)
FLOATS = (OF_CHOICES, OF_SHARES, OF_OBJECTIVES, OF_STREAMS)

NOT_SELECTION = "the choice of settings, unless that choice was itself private"
NOT_OTHERS = (
    "further models released from the same records: the epsilons and the deltas of all of them "
    "add up"
)
NOT_TIMING = "side channels such as the time that training takes"
SEALED = (
    "Inside the fit the records were sealed, against accidental looks at exact values, not against "
    "intent (docs/audit.md lists known ways out)."
)
OF_RULES = "Sensitivities follow from how sums are made (docs/proofs.md, 'Derived sensitivities')."
# The caveat of a user's own learner.
AUTHORS_WORD = "it is its author's word, of which this project proves nothing"
NOT_IMPLIED = "what public columns tell of private ones (a category that implies another)"

ASSUMED_EACH_PERSON = "how many records each person has, up to {}"
NOT_ALIASES = "persons who stand under several names in the records: each name is a person"

# Exclusions of every statement. `of_fit` replaces `OF_NUMBER` and `NOT_FLOATS` by the texts for the
# generator and the arithmetic of a fit.
NOT_COVERED = (NOT_SEED, OF_NUMBER, NOT_FLOATS, NOT_SELECTION, NOT_OTHERS, NOT_TIMING)

# Significant digits of an ε or δ that is computed from other numbers.
_DIGITS = 12

# The statuses other than PROVED; docs/privacy.md explains them. A statement has a caveat if and
# only if its status is not in KNOWN.
DERIVED, CLAIMED, REFUTED = "derived", "claimed", "refuted"
KNOWN = (DERIVED, PROVED)
STATUSES = (*KNOWN, CLAIMED, REFUTED)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One mechanism call, or several that are charged together.

    Attributes
    ----------
    mechanism : str
        A name of ``mechanisms.MECHANISMS``, or another library's.
    what : str
        What the call released, e.g. ``round 3: choice of a 1-rule``.
    noise_rate : float
        η (exponential, permute-and-flip), 1/scale (Laplace), 1/σ (Gaussian).
    sensitivity : float
        Sensitivity of the score or value, in the unit that `noise_rate` multiplies.
    epsilon : float
        Pure ε of this call; infinite if it has none.
    bounded_range : float, optional
        The length of the interval of the privacy loss (for a choice: η · range of the scores'
        change), if the mechanism is bounded-range.
    rho : float, optional
        ρ of zero-concentrated differential privacy, if known directly.
    source : str
        The proof of the guarantee: a page of proofs and its section, or a theorem of a paper.
    calls : int
        Number of choices or numbers that this entry charges together.
    parallel : str
        Why the entry may charge these calls together: each reads other records, e.g. of ``the nodes
        of a tree``.
    sampled : float
        The rate of the Poisson batch that the call reads; 1 if it reads all records.
    """

    mechanism: str
    what: str
    noise_rate: float
    sensitivity: float
    epsilon: float
    bounded_range: float | None = None
    rho: float | None = None
    source: str = ""
    calls: int = 1
    parallel: str = ""
    sampled: float = 1.0

    def __hash__(self) -> int:
        # Every fit hashes its entries. For speed, hash two fields only, which distinguish most
        # entries.
        return hash((self.what, self.noise_rate))


@dataclass(frozen=True)
class PrivacyStatement:
    """The guarantee of a fitted learner.

    Attributes
    ----------
    learner : str
    epsilon, delta : float
        The guarantee; ε is infinite for a method without privacy.
    neighbours : str
        Name of a relation of ``budget.NEIGHBOURS``.
    calibration : str or None
        ``published`` (noise as printed in the paper) or ``proved`` (noise as proved).
    composition : str
        Name of the accountant that composes the ledger (see ``accountants.compose.ACCOUNTANTS``).
    ledger : tuple of LedgerEntry
        Mechanism calls of the fit (releases spend a budget: ``releases.budget_ledger``).
    assumptions, exclusions : tuple of str
        What is assumed to be public; what the guarantee does not cover.
    status : str
        One of `STATUSES`; docs/privacy.md explains each.
    caveat : str
        Why the claim is not proved, or what refutes it; else empty.
    proved_epsilon : float or None
        The ε that is proved instead of an unproved claim, for `neighbours`; infinite if no finite
        ε is proved, None if nothing is known.
    public_columns : tuple of str or int
        Under ``private-columns``: the columns that are not protected, by name or by index.
    public_label : bool
        Under ``private-columns``: whether labels are not protected either.
    sealed : bool
        Whether the fit saw sealed records.
    at_most : int or None
        Maximum number of records of one person, if neighbours differ in all records of a person
        and ε and δ protect persons; None if they differ in one record.

    Raises
    ------
    ValueError
        If a status or a relation is unknown, a caveat is missing or superfluous, or public columns
        are given for another relation than ``private-columns``.
    """

    learner: str
    epsilon: float
    delta: float
    neighbours: str
    calibration: str | None
    composition: str
    ledger: tuple[LedgerEntry, ...]
    assumptions: tuple[str, ...] = ASSUMED
    exclusions: tuple[str, ...] = NOT_COVERED
    status: str = field(kw_only=True)
    caveat: str = ""
    proved_epsilon: float | None = None
    public_columns: tuple[str | int, ...] = ()
    public_label: bool = False
    sealed: bool = False
    at_most: int | None = None

    def __post_init__(self) -> None:
        relation(self.neighbours)
        if self.status not in STATUSES:
            raise ValueError(f"status must be {' or '.join(STATUSES)}; got {self.status!r}")
        if (self.status in KNOWN) == bool(self.caveat):
            raise ValueError(
                f"caveat must {'be empty' if self.caveat else 'have a reason'} with the status "
                f"{self.status}; got {self.caveat!r}"
            )
        if self.at_most is not None and self.at_most < 1:
            raise ValueError(f"at_most must be ≥ 1; got {self.at_most}")
        if (self.public_columns or self.public_label) and self.neighbours != PRIVATE_COLUMNS:
            raise ValueError(
                f"neighbours must be {PRIVATE_COLUMNS!r} for public columns or a public label; "
                f"got {self.neighbours!r}"
            )

    @classmethod
    def not_private(cls, learner: str) -> Self:
        """Return the statement of a method without privacy: ε = ∞, an empty ledger."""
        nothing: Any = (REPLACE_ONE, None, accountants.NONE, (), (), ())
        return cls(learner, math.inf, 0.0, *nothing, status=PROVED)

    @property
    def private(self) -> bool:
        """Whether ε is finite."""
        return math.isfinite(self.epsilon)

    @cached_property
    def epsilon_spent(self) -> float:
        """The ε that the ledger costs, by the statement's accountant and δ; ∞ without privacy.

        A fit fails if this exceeds `epsilon` by more than a relative 1e-9.
        """
        if not self.private:
            return math.inf
        near, delta = budget_within_group(self.epsilon, self.delta, self.at_most)
        return (self.at_most or 1) * epsilon_of_ledger(
            self.composition, self.ledger, delta, near=near, neighbours=self.neighbours
        )

    def of_persons(self, at_most: int | None) -> Self:
        """Return the statement for persons of up to `at_most` records each, by group privacy.

        With None the statement is returned unchanged: it protects single records.
        """
        if at_most is None or not self.private:
            return self
        epsilon, delta = group_guarantee(self.epsilon, self.delta, at_most)
        proved = self.proved_epsilon
        assumed = self.assumptions
        if self.neighbours != ADD_REMOVE:
            assumed = (*assumed, ASSUMED_EACH_PERSON.format(at_most))
        return replace(
            self,
            # Rounded, so that three times a third of 0.3 is 0.3.
            epsilon=float(f"{epsilon:.{_DIGITS}g}"),
            delta=float(f"{delta:.{_DIGITS}g}"),
            # For δ > 0, the group guarantee of the proved ε would have another δ than `delta`, so
            # it is left out.
            proved_epsilon=at_most * proved if proved is not None and not delta else None,
            assumptions=assumed,
            exclusions=(*self.exclusions, NOT_ALIASES),
            at_most=at_most,
        )

    def as_claimed(self, caveat: str) -> Self:
        """Return the statement with status ``claimed``; unchanged if its status is not proved."""
        if not self.private or self.status != PROVED:
            return self
        return replace(self, status=CLAIMED, caveat=caveat)

    @property
    def reservations(self) -> tuple[str, ...]:
        """The caveat, and the exclusions that are particular to this statement.

        It leaves out the usual exclusions (`NOT_COVERED`), and all exclusions about generators and
        floating-point arithmetic.
        """
        others = [text for text in self.exclusions if text not in NOT_COVERED]
        own = tuple(text for text in others if not text.startswith((ANY_GENERATOR, ANY_FLOATS)))
        return (f"{self.status}: {self.caveat}", *own) if self.caveat else own

    def of_fit(self, generator: str, floats: Sequence[str] = (NOT_FLOATS,)) -> Self:
        """Return the statement with the exclusions for a fit's generator and arithmetic.

        `generator` and `floats` replace the general texts of `NOT_COVERED`.
        """
        exclusions: list[str] = []
        for text in self.exclusions:
            if text == NOT_FLOATS:
                exclusions += floats
            else:
                exclusions.append(generator if text.startswith(ANY_GENERATOR) else text)
        return replace(self, exclusions=tuple(exclusions))

    def to_json(self) -> str:
        """Write the statement as JSON; an infinite number is the string ``"inf"``."""
        document = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "ledger"}
        document["calibration"] = stored(self.calibration)
        # Keys that older files do not have are left out if they have their defaults.
        lacking = {"at_most": self.at_most is None, "sealed": not self.sealed}
        document = {key: item for key, item in document.items() if not lacking.get(key)}
        document["ledger"] = [
            {
                f.name: getattr(entry, f.name)
                for f in fields(LedgerEntry)
                if f.name != "sampled" or entry.sampled < 1  # older files lack `sampled`
            }
            for entry in self.ledger
        ]
        return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the result of :meth:`to_json`.

        Raises
        ------
        ValueError
            If the text is not JSON, or a field is missing or unknown.
        """
        document = json.loads(text)
        try:
            ledger = tuple(LedgerEntry(**_floats(row)) for row in document.pop("ledger"))
            for name in ("assumptions", "exclusions"):
                document[name] = tuple(document[name])
            document["public_columns"] = tuple(document["public_columns"])
            document["calibration"] = spoken(document["calibration"])
            return cls(**_floats(document), ledger=ledger)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a privacy statement: {error}") from error

    def __str__(self) -> str:
        if not self.private:
            why = self.caveat or "the model was trained without differential privacy"
            return (
                f"{self.learner}: not private. {why[0].upper()}{why[1:]} (epsilon = inf); it may "
                "reveal any of its training records."
            )
        parts = [*self._claim(), *self._protection(), self.describe_ledger()]
        if self.calibration == PUBLISHED:
            parts.append(f"Calibration: {PUBLISHED} (the noise is as the paper prints it).")
        elif self.status == DERIVED:
            parts.append(OF_RULES)
        elif self.calibration is not None and self.status == PROVED:
            parts.append(f"Calibration: {PROVED} (docs/privacy.md says what is proved where).")
        if self.sealed:
            parts.append(SEALED)
        shown = self._public_parts().replace("its", "each record's")
        assumed = (*self.assumptions, shown) if shown else self.assumptions
        if assumed:
            parts.append(f"Assumed public: {_join_words(assumed)}.")
        if self.exclusions:
            parts.append(f"Not covered: {'; '.join(self.exclusions)}.")
        return " ".join(parts)

    def _claim(self) -> list[str]:
        """Return the sentences on ε, δ and status: the claim, a caveat, the claim's meaning."""
        level = f"epsilon = {self.epsilon:g}"
        level += f" and delta = {self.delta:g}" if self.delta > 0 else " (pure: delta = 0)"
        if self.status in KNOWN:
            return [f"{self.learner}: differentially private with {level}."]
        parts = [
            f"{self.learner}: claimed to be differentially private with {level}. "
            f"This is {'not proved' if self.status == CLAIMED else self.status}: {self.caveat}."
        ]
        if self.proved_epsilon is not None:
            finite = math.isfinite(self.proved_epsilon)
            proved = f"epsilon = {self.proved_epsilon:.4g}" if finite else "no finite epsilon"
            parts.append(f"Proved instead is {proved}.")
        return [*parts, "What the claim would mean:"]

    def _protection(self) -> list[str]:
        what, shown = relation(self.neighbours), self._public_parts()
        whom, differs, change = "single record", "any one record", what.change
        if self.at_most is not None:
            train = "record trains" if self.at_most == 1 else "records train"
            whom = f"single person, of whom at most {self.at_most} {train} the model"
            differs, change = "all records of any one person", what.of_person
            shown = shown.replace("its", "each record's")
        whose = f"Protected is each {whom}"
        if self.neighbours == PRIVATE_COLUMNS:
            all_but = f" (all but {self._public_column_names()})" if self.public_columns else ""
            label = "" if self.public_label else " and the label"
            if self.at_most is None:
                change += "" if self.public_label else " or another label"
            whose = f"Protected are the private columns{all_but}{label} of each {whom}"
        parts = [
            f"{whose}: had {differs} been {change}, every event would have been about as "
            f"likely, {_bound(self.epsilon)}"
            + (f", give or take a probability of {self.delta:g}." if self.delta > 0 else ".")
        ]
        if self.at_most is not None:
            each, delta = budget_within_group(self.epsilon, self.delta, self.at_most)
            level = f"epsilon = {each:.6g}" + (f" and delta = {delta:.3g}" if delta else "")
            parts.append(
                f"(Each single record has {level}, from which this follows by group privacy; the "
                "steps of the ledger are charged for one record.)"
            )
        if shown:
            parts.append(f"Not protected: {shown}, which the model may show exactly.")
        return parts

    def _public_parts(self) -> str:
        """Return the words for a record's unprotected parts; empty unless ``private-columns``."""
        public = [f"its public {self._public_column_names()}"] if self.public_columns else []
        return _join_words([*public, "its label"] if self.public_label else public)

    def _public_column_names(self) -> str:
        several = "columns" if len(self.public_columns) > 1 else "column"
        return f"{several} {_join_words([str(column) for column in self.public_columns])}"

    def describe_ledger(self) -> str:
        """Return a sentence on the calls of the ledger and the composition of their costs."""
        if not self.ledger:
            return "The model is made of no use of the data."
        calls: Counter[tuple[str, float]] = Counter()
        for entry in self.ledger:
            calls[entry.mechanism, entry.sampled] += entry.calls
        made = _join_words(
            [
                _count_words(name, number) + _batch_words(rate)
                for (name, rate), number in calls.items()
            ]
        )
        steps = f"{len(self.ledger):,} step{'s' if len(self.ledger) > 1 else ''}"
        parallel = _join_words(list(dict.fromkeys(e.parallel for e in self.ledger if e.parallel)))
        if parallel:
            steps += f" (what one step releases is charged together, in parallel over {parallel})"
        added = accountants.accountant(self.composition).description
        return f"The model is made of {made}, in {steps}; the costs of steps add up by {added}."


# Statements of learners --------------------------------------------------------------------


def state(
    learner: str,
    *,
    epsilon: float,
    delta: float,
    calibration: str,
    composition: str,
    ledger: Sequence[LedgerEntry],
    status: str,
    neighbours: str = REPLACE_ONE,
    public: Sequence[int] | None = None,
    assumptions: Sequence[str] = (),
    exclusions: Sequence[str] = (),
    caveat: str = "",
    proved_epsilon: float | None = None,
) -> PrivacyStatement:
    """Return the statement of a learner; its relation is ``private-columns`` if `public` is given.

    Parameters
    ----------
    learner, epsilon, delta, calibration, composition, ledger, status, caveat, proved_epsilon
        See :class:`PrivacyStatement`. At ε = ∞ the result is the statement of a method
        without privacy.
    neighbours : str
        The neighbouring relation, if `public` is None.
    public : sequence of int or None
        Positions of the columns that are read without noise, in addition to the label; None if
        neither columns nor labels are read without noise.
    assumptions, exclusions : sequence of str
        Assumptions and exclusions in addition to the usual ones. The additional exclusions precede
        the usual ones.
    """
    if not is_private(epsilon):
        return PrivacyStatement.not_private(learner)
    statement = PrivacyStatement(
        learner=learner,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        calibration=calibration,
        composition=composition,
        ledger=tuple(ledger),
        assumptions=(*assumptions_for(neighbours), *assumptions),
        exclusions=(*exclusions, *NOT_COVERED),
        status=status,
        caveat=caveat,
        proved_epsilon=proved_epsilon,
    )
    return statement if public is None else with_public(statement, public)


def assumptions_for(neighbours: str) -> tuple[str, ...]:
    """Return the facts that a fit assumes public; under add-remove, not the number of records."""
    return tuple(fact for fact in ASSUMED if fact != ASSUMED_N or neighbours != ADD_REMOVE)


def state_public(learner: str, public: Sequence[int]) -> PrivacyStatement:
    """Return the statement of a learner that reads only public columns and labels: ε = 0."""
    nothing: Any = (REPLACE_ONE, None, accountants.BASIC, ())
    return with_public(PrivacyStatement(learner, 0.0, 0.0, *nothing, status=PROVED), public)


def with_public(statement: PrivacyStatement, public: Sequence[int]) -> PrivacyStatement:
    """Convert a replace-one statement to the statement of a learner with a public start.

    The guarantee remains valid: neighbours under ``private-columns`` are neighbours under
    ``replace-one``, and a start from public columns and labels is the same for both neighbours.
    """
    if not statement.private:
        return statement
    return replace(
        statement,
        neighbours=PRIVATE_COLUMNS,
        public_columns=tuple(public),
        public_label=True,
        exclusions=(*statement.exclusions, NOT_IMPLIED),
    )


# Words and sums --------------------------------------------------------------------------


def _count_words(name: str, number: int) -> str:
    """Write the number of calls of a mechanism, such as "3 choices by permute-and-flip"."""
    if name not in MECHANISMS:
        return f"{number:,} call{'s' if number > 1 else ''} of {name}"
    mechanism = MECHANISMS[name]
    return f"{number:,} {mechanism.unit}{'s' if number > 1 else ''} {mechanism.words}"


def _batch_words(rate: float) -> str:
    """Write the sampling rate of a call on batches; empty for a call on all records."""
    if rate == 1:
        return ""
    return f", each of a batch that has each record with a chance of {100 * rate:.4g} %"


def _bound(epsilon: float) -> str:
    """Write e^ε, which bounds the ratio of an event's probabilities, as a factor or in percent."""
    if epsilon < 0.01:
        return f"differing by at most {round_up(100 * arithmetic.expm1(epsilon))} %"
    factor = round_up(exp(epsilon)) if epsilon < 20 else f"exp({epsilon:g})"
    return f"within a factor of {factor}"


def _join_words(items: Sequence[str]) -> str:
    return "".join(items) if len(items) < 2 else ", ".join(items[:-1]) + " and " + items[-1]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


# The fields that contain floats: JSON stores their infinite values as words.
_NUMBERS = {
    field.name
    for field in (*fields(LedgerEntry), *fields(PrivacyStatement))
    if str(field.type).startswith("float")
}


def _floats(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the stored fields of `_NUMBERS` to floats (``"inf"`` to infinity)."""
    return {
        key: float(value) if key in _NUMBERS and value is not None else value
        for key, value in row.items()
    }
