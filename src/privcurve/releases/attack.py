"""Attack releases of a table: guess one record's secret from thousands of fits.

As the guarantee assumes, the attacker knows everything except one secret about one record, the
canary: its label (replace-one) or its presence (add-remove). Each fit trains on a copy of the table
with the canary: half of the fits with one value of the secret, half with the other value. The
success of an attack on a real table depends on the exact records, so only their owner may see it.
The success on a made-up table of the same schema and size is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve import extras
from privcurve.audit.fits import fits
from privcurve.coding import Codes, Floats, Records, class_labels, code_type
from privcurve.datasets import Dataset, Description, Domain
from privcurve.privacy import budget as words
from privcurve.releases.cited import Cited
from privcurve.releases.errors import ReleaseError
from privcurve.releases.request import ESTIMATE, MADE_UP, Request, check_parts, make_estimator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Number of fits for each canary and each value of its secret, to choose a canary and a threshold.
TRIED = 200
# Number of fits for each value of the secret of the chosen canary, to measure the attack.
FITS = 1_000
# Smallest allowed number of fits for each value of the secret. With fewer fits, the standard error
# of the share of right guesses could exceed 5 percentage points.
LEAST = 50
# Number of fits between two reports of progress.
AT_ONCE = 25


@dataclass(frozen=True)
class Attack:
    """The result of an attack.

    `negative` has a statistic (:func:`_statistics`) of each fit with the first value of the secret,
    `positive` of each fit with the second value. The attack guesses the second value if the
    statistic of a fit is at least `threshold`.
    """

    canary: str
    negative: Floats
    positive: Floats
    threshold: float
    epsilon: float
    delta: float

    @property
    def right(self) -> float:
        """The share of right guesses, if both values of the secret are equally likely."""
        right = (self.positive >= self.threshold).mean() + (self.negative < self.threshold).mean()
        return float(right) / 2

    @property
    def error(self) -> float:
        """The standard error of `right`."""
        n = len(self.negative) + len(self.positive)
        return math.sqrt(max(self.right * (1 - self.right), 0.0) / n)

    @property
    def most(self) -> float:
        """The largest share of right guesses that the guarantee allows."""
        return words.most_right_guesses(self.epsilon, self.delta)

    @property
    def refutes(self) -> bool:
        """Whether `right` exceeds `most` by five standard errors: chance alone hardly does this."""
        return self.right - 5 * self.error > self.most

    def curve(self) -> tuple[Floats, Floats]:
        """Return the false-positive rate and the true-positive rate at each threshold."""
        cuts = np.unique(np.r_[self.negative, self.positive])[::-1]
        false, true = (
            1 - np.searchsorted(np.sort(side), cuts) / len(side)
            for side in (self.negative, self.positive)
        )
        return np.r_[0.0, false, 1.0], np.r_[0.0, true, 1.0]

    @property
    def cited(self) -> Cited:
        """The numbers of the attack that a model card may cite."""
        n_fits = len(self.negative) + len(self.positive)
        return Cited(self.right, self.error, self.most, n_fits)

    def sentence(self) -> str:
        """Return a sentence that states the success of the attack."""
        return self.cited.sentence()


def attack(
    request: Request,
    description: Description,
    data: Dataset | None,
    n_fits: int = FITS,
    progress: Callable[[float], None] | None = None,
) -> Attack:
    """Attack fits with the learner and budget of a release: guess a record's secret from each fit.

    Parameters
    ----------
    request : Request
        ε, δ, learner, hyperparameters and neighbouring relation.
    description : Description
        The description of the dataset.
    data : Dataset or None
        The dataset; None to attack fits on a made-up table (:func:`make_table`).
    n_fits : int
        Number of fits for each value of the chosen canary's secret; at least ``LEAST``.
    progress : callable, optional
        Called with the finished share of the fits, from 0 to 1.

    Raises
    ------
    ReleaseError
        If the learner can't be released, the neighbours are private-columns, or `n_fits` is too
        small.
    """
    if request.relation == words.PRIVATE_COLUMNS:
        raise ReleaseError(
            f"neighbours must be {words.REPLACE_ONE} or {words.ADD_REMOVE} for an attack; got "
            f"{request.relation}. Give --neighbours, or another learner"
        )
    if n_fits < LEAST:
        raise ReleaseError(f"fits must be at least {LEAST}; got {n_fits}. Fewer show nothing")
    check_parts(request, description)
    estimator = make_estimator(request, description.domain)
    table = (
        make_table(description, request)
        if data is None
        else _make_records(data.domain, data.X, data.y)
    )
    copies = request.at_most or 1
    canaries = _canaries(table)
    tried = min(TRIED, n_fits)
    total = 2 * (tried * len(canaries) + n_fits)
    done = 0

    def run(codes: Codes, n: int, seed: int) -> tuple[Floats, Floats]:
        nonlocal done
        sides = []
        for place, side in enumerate(_sides(table, codes, copies, request.relation)):
            values = []
            rng = np.random.default_rng([seed, place])
            for value in _statistics(estimator, side, codes, n, rng):
                values.append(value)
                done += 1
                if progress is not None and done % AT_ONCE == 0:
                    progress(done / total)
            sides.append(np.array(values))
        return sides[0], sides[1]

    best = None
    for k, (name, codes) in enumerate(canaries.items()):
        one, other = run(codes, tried, k)
        threshold, share = _choose(one, other)
        if best is None or share > best[0]:
            best = share, name, codes, threshold
    assert best is not None
    _, name, codes, threshold = best
    negative, positive = run(codes, n_fits, len(canaries))
    if progress is not None:
        progress(1.0)
    return Attack(name, negative, positive, threshold, request.epsilon, request.delta)


def make_table(description: Description, request: Request) -> Records:
    """Return random records with the public facts of a description; labels depend on bins.

    The number of records is in the description or, for add-remove neighbours, in the request's
    parameter `n_estimate`.
    """
    domain, n = description.domain, description.n_rows
    if request.relation == words.ADD_REMOVE:
        n = int(request.parameters.get(ESTIMATE) or MADE_UP)
    rng = np.random.default_rng(0)
    n_bins = np.array(domain.n_bins)
    # Values in the middle of the bounds are frequent, values at the ends are rare.
    shares = rng.beta(3, 3, (n, len(n_bins)))
    codes = np.minimum(shares * n_bins, n_bins - 1).astype(code_type(n_bins))
    scores = (shares - 0.5) @ (2 * rng.random(len(n_bins)) - 1) * 4
    ranks = np.argsort(np.argsort(scores + 2 * rng.random(n)))
    places = ranks * domain.n_classes // n
    return _make_records(domain, codes, np.array(class_labels(domain.n_classes))[places])


def _make_records(domain: Domain, codes: Codes, labels: Any) -> Records:
    kind = np.int8 if domain.n_classes == 2 else np.int64
    ones = np.ones(len(labels), dtype=np.int64)
    return Records(codes, labels.astype(kind), ones, np.array(domain.n_bins))


def _canaries(table: Records) -> dict[str, Codes]:
    """Return two canaries: one in the rarest bin of each column, one in the most frequent."""
    counts = [
        np.bincount(table.codes[:, j], minlength=width)
        for j, width in enumerate(table.n_bins.tolist())
    ]
    kinds = {"the rarest values": np.argmin, "the most frequent values": np.argmax}
    return {
        name: np.array([choose(own) for own in counts]).astype(table.codes.dtype)
        for name, choose in kinds.items()
    }


def _sides(table: Records, codes: Codes, copies: int, relation: str) -> Iterator[Records]:
    """Yield two tables: one for each value of the secret.

    In both tables, `copies` copies of the canary replace the first records of `table`. The copies
    have the first label in the first table, and the second label in the second table. For
    add-remove, the first table has no copies.
    """
    rows = np.tile(codes, (copies, 1))
    rest = table._replace(
        codes=table.codes[copies:], labels=table.labels[copies:], counts=table.counts[copies:]
    )
    present = []
    for label in class_labels(2 if table.labels.dtype == np.int8 else 3)[:2]:
        labels = np.full(copies, label, dtype=table.labels.dtype)
        present.append(
            rest._replace(
                codes=np.concatenate([rows, rest.codes]),
                labels=np.concatenate([labels, rest.labels]),
                counts=np.ones(copies + len(rest.labels), dtype=np.int64),
            )
        )
    yield from (rest, present[1]) if relation == words.ADD_REMOVE else present


def _statistics(
    estimator: Any, side: Records, codes: Codes, n: int, rng: np.random.Generator
) -> Iterator[float]:
    """Yield a statistic of each of `n` fits.

    The statistic is the score that the fitted model gives to the canary for the second label.
    """
    for model in fits(estimator, side, n, rng):
        score = model.score_codes(codes[None])[0]
        yield float(score if np.ndim(score) == 0 else score[1] - score[0])


def _choose(negative: Floats, positive: Floats) -> tuple[float, float]:
    """Return the threshold with the most right guesses, and the share of right guesses."""
    cuts = np.unique(np.r_[negative, positive])
    shares = [((positive >= cut).mean() + (negative < cut).mean()) / 2 for cut in cuts]
    place = int(np.argmax(shares))
    return float(cuts[place]), float(shares[place])


def draw(result: Attack) -> Figure:
    """Draw the attack's curve of true against false positives, and the guarantee's limit on it."""
    extras.check("matplotlib", "a picture of an attack")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4.2), layout="constrained")
    axes = figure.subplots()
    false = np.linspace(0, 1, 201)
    most = guaranteed(false, result.epsilon, result.delta)
    axes.fill_between(false, most, 1, color="0.92", linewidth=0)
    axes.plot(false, most, color="0.3", label="the most that the guarantee allows")
    axes.plot(*result.curve(), color="C0", label="the attack")
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="dashed", label="a coin toss")
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_xlabel("false positives: says yes where it is no")
    axes.set_ylabel("true positives: says yes where it is yes")
    axes.legend(loc="lower right", fontsize="small", frameon=False)
    return figure


def guaranteed(false: Floats, epsilon: float, delta: float) -> Floats:
    """Return the largest rate of true positives that (ε, δ) allows at each rate `false`."""
    odds = words.exp(min(epsilon, 700.0))
    return np.minimum(np.minimum(odds * false + delta, 1 - (1 - delta - false) / odds), 1.0)
