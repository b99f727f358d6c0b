"""What a fitted learner says of its privacy: a statement and the ledger behind it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from privcurve.privacy.accountants import compose as accountants
from privcurve.privacy.accountants.cost import (
    BOUNDED_RANGE_KIND,
    GAUSSIAN_KIND,
    LAPLACE_KIND,
    PURE_KIND,
    ZCDP_KIND,
    Cost,
)
from privcurve.privacy.budget import (
    ADD_REMOVE,
    CERTIFIED,
    PRIVATE_COLUMNS,
    PUBLISHED,
    REPLACE_ONE,
)

ASSUMED_N = "the number of records"
ASSUMED_BINS = "the bins of each column"
ASSUMED_LABELS = "the two labels"
ASSUMED_BOTH = "that both labels occur among the records (classes was not given)"
NOT_SEED = (
    "knowledge of the random seed (random_state; in a study: the base seed, or the id of a cell)"
)
NOT_FLOATS = "attacks on floating-point arithmetic (the proofs are in real numbers)"
NOT_SELECTION = "the choice of settings, unless that choice was itself private"

_CHANGES = {
    REPLACE_ONE: "replaced by another",
    ADD_REMOVE: "added or left out",
    PRIVATE_COLUMNS: "given other values in its private columns",
}

_NAMES = {
    "exponential": "the exponential mechanism",
    "permute_and_flip": "permute-and-flip",
    "report_noisy_max": "report-noisy-max",
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "noisy_label": "randomised labels",
    "objective_perturbation": "objective perturbation",
    "box_perturbation": "objective perturbation in the largest-entry norm",
}


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One mechanism call.

    Attributes
    ----------
    mechanism : str
        ``exponential``, ``permute_and_flip``, ``laplace``, ``gaussian``, ``noisy_label``,
        ``objective_perturbation``, …
    what : str
        What the call released, e.g. ``round 3: choice of a 1-rule``.
    noise_rate : float
        η (exponential, permute-and-flip), 1/scale (Laplace), 1/σ (Gaussian).
    sensitivity : float
        Of the score or value, in the unit that `noise_rate` multiplies.
    epsilon : float
        Pure ε of this call; infinite if it has none.
    bounded_range : float, optional
        η · range of the score's change, when the mechanism is bounded-range.
    rho : float, optional
        ρ of zero-concentrated differential privacy, when known directly.
    source : str
        Where the guarantee is proved: a section of PRIVACY.md or a theorem of a paper.
    """

    mechanism: str
    what: str
    noise_rate: float
    sensitivity: float
    epsilon: float
    bounded_range: float | None = None
    rho: float | None = None
    source: str = ""


@dataclass(frozen=True)
class PrivacyStatement:
    """What a fitted learner guarantees.

    Attributes
    ----------
    learner : str
        Its name in the registry.
    epsilon, delta : float
        The guarantee; ε is infinite for a method without privacy.
    neighbours : str
        ``replace-one``: any one record may change, their number may not; or
        ``add-remove``, the claim of other libraries.
    calibration : str or None
        ``published`` (noise as the paper prints it) or ``certified`` (as proved).
    composition : str
        Name of the accountant that adds up the ledger (see ``accountants.compose.ACCOUNTANTS``).
    ledger : tuple of LedgerEntry
    assumptions : tuple of str
        What is assumed public.
    exclusions : tuple of str
        What the guarantee does not cover.
    """

    learner: str
    epsilon: float
    delta: float
    neighbours: str
    calibration: str | None
    composition: str
    ledger: tuple[LedgerEntry, ...]
    assumptions: tuple[str, ...] = ()
    exclusions: tuple[str, ...] = ()

    @classmethod
    def not_private(cls, learner: str) -> Self:
        """Give the statement of a method without privacy: ε = ∞, an empty ledger."""
        return cls(learner, math.inf, 0.0, REPLACE_ONE, None, accountants.NONE, ())

    @property
    def private(self) -> bool:
        """Whether ε is finite."""
        return math.isfinite(self.epsilon)

    @property
    def epsilon_spent(self) -> float:
        """ε of the ledger under the statement's accountant and δ.

        Equal to `epsilon` up to 1e-9 of it; infinite for a method without privacy.
        """
        if not self.private:
            return math.inf
        return epsilon_of_ledger(self.composition, self.ledger, self.delta, near=self.epsilon)

    def to_json(self) -> str:
        """Write the statement as JSON; an infinite number is the string ``"inf"``."""
        document = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "ledger"}
        document["ledger"] = [
            {f.name: getattr(entry, f.name) for f in fields(LedgerEntry)} for entry in self.ledger
        ]
        return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If the text is not JSON, or a field is missing or unknown.
        """
        document = json.loads(text)
        try:
            ledger = tuple(_entry(row) for row in document.pop("ledger"))
            for name in ("assumptions", "exclusions"):
                document[name] = tuple(document[name])
            for name in ("epsilon", "delta"):
                document[name] = float(document[name])
            return cls(**document, ledger=ledger)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a privacy statement: {error}") from error

    def __str__(self) -> str:
        if not self.private:
            return (
                f"{self.learner}: not private. The model was trained without differential "
                "privacy (epsilon = inf); it may reveal any of its training records."
            )
        level = f"epsilon = {self.epsilon:g}"
        level += f" and delta = {self.delta:g}" if self.delta > 0 else " (pure: delta = 0)"
        calls = Counter(_NAMES.get(e.mechanism, e.mechanism) for e in self.ledger)
        made_of = " and ".join(
            f"{number} use{'s' if number > 1 else ''} of {name}" for name, number in calls.items()
        )
        parts = [
            f"{self.learner}: differentially private with {level}.",
            "Protected is each single record: had any one record been "
            f"{_CHANGES[self.neighbours]}, every "
            f"outcome would have been about as likely, within a factor of {_factor(self.epsilon)}"
            + (f", but for a probability of {self.delta:g}." if self.delta > 0 else "."),
            f"The model is made of {made_of or 'no use of the data'}; the costs add up by "
            f"{accountants.accountant(self.composition).description}.",
        ]
        if self.calibration is not None:
            meaning = {
                PUBLISHED: "the noise is as the paper prints it",
                CERTIFIED: "the noise is as proved in docs/privacy.md",
            }
            words = meaning.get(self.calibration, "see docs/privacy.md")
            parts.append(f"Calibration: {self.calibration} ({words}).")
        if self.assumptions:
            parts.append(f"Assumed public: {_listed(self.assumptions)}.")
        if self.exclusions:
            parts.append(f"Not covered: {_listed(self.exclusions)}.")
        return " ".join(parts)


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 20 else f"exp({epsilon:g})"


def _listed(items: tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


_NUMBERS = ("noise_rate", "sensitivity", "epsilon", "bounded_range", "rho")


def _entry(row: Mapping[str, Any]) -> LedgerEntry:
    values = dict(row)
    for name in _NUMBERS:
        if values.get(name) is not None:
            values[name] = float(values[name])
    return LedgerEntry(**values)


def epsilon_of_ledger(
    accountant: str, ledger: Sequence[LedgerEntry], delta: float, near: float | None = None
) -> float:
    """Compose a ledger.

    Accountants of pure privacy use the entries' ε; the others use the sharpest guarantee
    that an entry carries.

    Parameters
    ----------
    accountant : str
    ledger : sequence of LedgerEntry
    delta : float
    near : float, optional
        A guess of ε.

    Returns
    -------
    float
    """
    chosen = accountants.accountant(accountant)
    if not chosen.needs_delta:
        return math.fsum(entry.epsilon for entry in ledger)
    groups = Counter(_kind_and_amount(entry, chosen.pure) for entry in ledger)
    costs = [Cost(kind, amount, count) for (kind, amount), count in groups.items()]
    return accountants.compose(accountant, costs, delta, near)


def _kind_and_amount(entry: LedgerEntry, pure: bool) -> tuple[str, float]:
    if pure:
        return PURE_KIND, entry.epsilon
    if entry.bounded_range is not None:
        return BOUNDED_RANGE_KIND, entry.bounded_range
    if entry.mechanism == "gaussian":
        return GAUSSIAN_KIND, entry.noise_rate * entry.sensitivity
    if entry.mechanism == "laplace":
        return LAPLACE_KIND, entry.epsilon
    if entry.rho is not None:
        return ZCDP_KIND, math.sqrt(2 * entry.rho)
    return PURE_KIND, entry.epsilon
