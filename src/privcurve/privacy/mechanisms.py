"""Define the randomised mechanisms: the sampler, the probabilities and the cost of each.

`MECHANISMS` lists them by name: learners draw noise by these names, and ledgers contain them.
All except the vectors of objective perturbation are *noise added to a number*: a choice takes the
candidate with the largest rate · score + noise, a label is the sign of rate · margin + noise, a
release is value + noise/rate. Higher scores are better.

The cost of a choice depends on the *range* of the scores' change between neighbours, max δ − min δ
over candidates (docs/proofs.md, 'Choices'): see :func:`score_range`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from privcurve.coding import Floats, Ints
from privcurve.lazy import arithmetic
from privcurve.privacy.accountants.cost import (
    BOUNDED_RANGE_KIND,
    GAUSSIAN_KIND,
    LAPLACE_KIND,
    PURE_KIND,
)
from privcurve.privacy.budget import PROVED

EXPONENTIAL = "exponential"
PERMUTE_AND_FLIP = "permute_and_flip"
LAPLACE = "laplace"
TWO_LAPLACE = "two_laplace"
LOGISTIC = "logistic"
NOISY_LABEL = "noisy_label"
GAUSSIAN = "gaussian"
OBJECTIVE_PERTURBATION = "objective_perturbation"
BOX_PERTURBATION = "box_perturbation"

# The value of a learner's `mechanism` that leaves the choice to the calibration: see `resolve`.
AUTO = "auto"

# The largest noise scale of the exact samplers (`privacy.discrete`): the products that the samplers
# compute with it fit in a random word of 64 bits. It is defined here, because importing the
# samplers loads the compiler, and a budget can be refused without the compiler.
LARGEST_SCALE = 2**46

# `draw_piece` chooses one of this number of grid points of an interval.
POINTS = 2**40

# A generator of noise. Only objective perturbation may draw from NumPy's old generator
# (RandomState), to reproduce diffprivlib's numbers.
Source = np.random.Generator | np.random.RandomState
Shape = int | tuple[int, ...]


class Draw(Protocol):
    """A function that draws a mechanism's noise."""

    def __call__(self, rng: Source, size: Shape, scale: float = 1.0) -> Floats:
        """Draw noise with a shape and scale."""


@dataclass(frozen=True)
class Mechanism:
    """One mechanism, with its name in ledgers and in `MECHANISMS`."""

    name: str
    # The noun for an answer in a statement, such as "choice" in "3 choices by permute-and-flip".
    unit: str
    words: str
    # The kind of a call's cost; ``accountants.cost.Cost`` explains the kinds.
    kind: str
    # The sampler of the noise; for a vector `size` is its dimension.
    draw: Draw
    # probabilities(scores, rate) returns the probability of each candidate of a choice, or of the
    # label + for each margin; None for mechanisms that release numbers only.
    probabilities: Callable[[ArrayLike, float], Floats] | None = None

    def bounded_range(self, epsilon: float) -> float | None:
        """Return the bounded range of an ε-DP call; None if the mechanism is not bounded-range.

        For a choice, ε is the rate times the range of the scores' change. For labels, it is the
        rate times the L1 sensitivity of all margins together.
        """
        return epsilon if self.kind == BOUNDED_RANGE_KIND else None


# Noise ---------------------------------------------------------------------------------


def _law(name: str) -> Draw:
    """Return the sampler `name` of ``privacy.draws``, which is imported at the first draw."""

    def draw(rng: Source, size: Shape, scale: float = 1.0) -> Floats:
        from privcurve.privacy import draws

        return np.asarray(getattr(draws, name)(rng, size, scale))

    return draw


def _two_laplace(rng: Source, size: Shape, scale: float = 1.0) -> Floats:
    draw = _law("laplace")
    return draw(rng, size, scale) - draw(rng, size, scale)


def _mirrored_logistic(rng: Source, size: Shape, scale: float = 1.0) -> Floats:
    """Draw logistic noise times −1, so that a uniform draw below P(+) gives the label +."""
    return -_law("logistic")(rng, size, scale)


def _norm_vector(rng: Source, size: Shape, scale: float = 1.0) -> Floats:
    """Draw a vector with density ∝ e^{−‖b‖/scale}: a uniform direction times a Gamma(d) norm.

    The norm and each entry of the direction are sums of four draws, which is diffprivlib's defence
    against attacks on floating-point noise. A sum has the same distribution as a single draw.
    """
    from privcurve.privacy.draws import old_gamma, old_normals

    size = int(size)  # type: ignore[arg-type]
    normals = old_normals(rng)
    direction = np.array([sum(next(normals) for _ in range(4)) for _ in range(size)]) / 2
    norm = sum(scale * old_gamma(rng, normals, size / 4) for _ in range(4))
    return np.asarray(direction / arithmetic.norm(direction) * norm)


def _box_vector(rng: Source, size: Shape, scale: float = 1.0) -> Floats:
    """Draw a vector with density ∝ e^{−‖b‖_∞/scale}.

    It is a Gamma(k + 1) number times a uniform point of the cube [−1, 1]^k. The largest entry of
    the point has the density k·u^{k−1}, so ‖b‖_∞ is Gamma(k) (docs/proofs.md, 'Box noise').
    """
    from privcurve.privacy.draws import gamma

    size = int(size)  # type: ignore[arg-type]
    length = scale * float(gamma(rng, 1, size + 1)[0])  # type: ignore[arg-type]
    return np.asarray(length * (2.0 * rng.random(size) - 1.0))


# Probabilities -------------------------------------------------------------------------


def exponential_probabilities(scores: ArrayLike, rate: float) -> Floats:
    """Return the exponential mechanism's probabilities, P(r) ∝ exp(η s_r), η the rate.

    With an infinite rate, the choice is uniform among the candidates with the largest score.
    """
    weights = _flip_chances(scores, rate)
    return weights / weights.sum()


def permute_and_flip_probabilities(scores: ArrayLike, rate: float) -> Floats:
    """Return permute-and-flip's probabilities, exactly.

    With qᵢ = exp(η(sᵢ − max s)), P(r) = q_r ∫₀¹ Π_{i≠r} (1 − qᵢu) du. The integrand is a
    polynomial, so Gauss–Legendre quadrature of the right order has only rounding errors, and all
    its terms are positive. Parameters and result are as in :func:`exponential_probabilities`.
    """
    chances = _flip_chances(scores, rate)
    nodes, weights = _quadrature((chances.size + 1) // 2)
    u, weights = (nodes + 1) / 2, weights / 2
    survive = 1.0 - chances[:, None] * u[None, :]
    logs = arithmetic.logs(survive)
    others = arithmetic.exps(logs.sum(axis=0)[None, :] - logs)
    return chances * arithmetic.times(others, weights)


@lru_cache(maxsize=64)
def _quadrature(n_nodes: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss–Legendre quadrature on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return nodes, weights


def _flip_chances(scores: ArrayLike, rate: float) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError("scores must be a non-empty one-dimensional array")
    gaps = values - values.max()
    if math.isinf(rate):
        return (gaps == 0).astype(np.float64)
    return arithmetic.exps(rate * gaps)


def _label_probabilities(wrong: Callable[[Floats], Floats]) -> Callable[[ArrayLike, float], Floats]:
    """Return a mechanism's function `probabilities` for labels, from P(noise > x) for x ≥ 0.

    The noise must be symmetric; the probability of + is P(rate · margin + noise > 0).
    """

    def probabilities(margins: ArrayLike, rate: float) -> Floats:
        x = rate * np.asarray(margins, dtype=np.float64)
        missed = wrong(np.abs(x))
        return np.where(x < 0, missed, 1.0 - missed)

    return probabilities


_laplace_labels = _label_probabilities(lambda x: arithmetic.exps(-x) / 2)
_two_laplace_labels = _label_probabilities(lambda x: arithmetic.exps(-x) * (1 + x / 2) / 2)
_logistic_labels = _label_probabilities(lambda x: 1 / (1 + arithmetic.exps(x)))

# The table -----------------------------------------------------------------------------

_TABLE = (
    # A choice is η·range-DP and η·range-bounded-range, where range is the range of the scores'
    # change: docs/proofs.md, 'Choices'.
    Mechanism(
        EXPONENTIAL,
        "choice",
        "by the exponential mechanism",
        BOUNDED_RANGE_KIND,
        _law("gumbel"),
        exponential_probabilities,
    ),
    # A choice is η·range-DP, and never worse than by the exponential mechanism; but the interval of
    # its privacy loss may have a length of nearly 2η·range: docs/proofs.md, 'Choices'.
    Mechanism(
        PERMUTE_AND_FLIP,
        "choice",
        "by permute-and-flip",
        PURE_KIND,
        _law("exponential"),
        permute_and_flip_probabilities,
    ),
    # The release is Δ/scale-DP, where Δ is the L1 sensitivity of all numbers together.
    Mechanism(
        LAPLACE, "number", "with Laplace noise", LAPLACE_KIND, _law("laplace"), _laplace_labels
    ),
    # Each of two labels has a weight with Laplace noise, so the difference of the weights has two
    # draws of noise. The leaves of trees in the thesis have this noise.
    Mechanism(
        TWO_LAPLACE,
        "number",
        "with two numbers of Laplace noise",
        LAPLACE_KIND,
        _two_laplace,
        _two_laplace_labels,
    ),
    # P(+) = σ(rate · margin): an exponential mechanism of two candidates.
    Mechanism(
        LOGISTIC, "label", "drawn at random", BOUNDED_RANGE_KIND, _law("logistic"), _logistic_labels
    ),
    Mechanism(
        NOISY_LABEL,
        "label",
        "drawn at random",
        BOUNDED_RANGE_KIND,
        _mirrored_logistic,
        _logistic_labels,
    ),
    # The release is (Δ/σ)²/2-zCDP, where Δ is the L2 sensitivity; it has no pure ε.
    Mechanism(GAUSSIAN, "vector", "with Gaussian noise", GAUSSIAN_KIND, _law("normal")),
    # The release of a vector is Δ/scale-DP, where Δ is the L2 sensitivity; the minimum of an
    # objective with this term costs more: calibration/objective.py.
    Mechanism(
        OBJECTIVE_PERTURBATION, "objective", "with a random linear term", PURE_KIND, _norm_vector
    ),
    # The cost is as for objective perturbation, but Δ is the L∞ sensitivity (docs/proofs.md, 'Box
    # noise').
    Mechanism(
        BOX_PERTURBATION,
        "objective",
        "of objective perturbation in the largest-entry norm",
        PURE_KIND,
        _box_vector,
    ),
)
MECHANISMS: Mapping[str, Mechanism] = MappingProxyType({one.name: one for one in _TABLE})

# Mechanisms that choose a candidate by its score.
SELECTIONS = (EXPONENTIAL, PERMUTE_AND_FLIP)

# NUMBERS: mechanisms that pay for noisy numbers, and so for a choice or for labels that are
# computed from these numbers. LABELS: mechanisms that pay for labels, the signs of noisy margins.
NUMBERS = (LAPLACE, GAUSSIAN)
LABELS = (*NUMBERS, TWO_LAPLACE, LOGISTIC, NOISY_LABEL)

# Mechanisms that add a random linear term to an objective.
OBJECTIVES = (OBJECTIVE_PERTURBATION, BOX_PERTURBATION)


def resolve(mechanism: str, delta: float, calibration: str) -> str:
    """Return the mechanism of choices for a learner's parameter `mechanism`.

    The name of a mechanism is returned unchanged.

    ``auto`` is permute-and-flip if the calibration is proved and δ = 0, else the exponential
    mechanism.

    Raises ValueError if permute-and-flip is requested with δ > 0.
    """
    if mechanism == AUTO:
        pure = calibration == PROVED and delta == 0
        return PERMUTE_AND_FLIP if pure else EXPONENTIAL
    if mechanism == PERMUTE_AND_FLIP and delta > 0:
        raise ValueError(
            "mechanism must be 'exponential' for delta > 0; got permute-and-flip, which is not "
            "bounded-range and so gains nothing from delta"
        )
    return mechanism


def draw_piece(ends: ArrayLike, scores: ArrayLike, rate: float, rng: np.random.Generator) -> float:
    """Sample the exponential mechanism on an interval with a piecewise constant score.

    `ends` are the ends of the pieces, in order; the first and the last, and so the interval, are
    public. `scores` has one score per piece. The probability of a point x is ∝ exp(η s(x)), η the
    rate, on a public grid of `POINTS` points. The grid hides where exactly the score jumps, which
    depends on records.
    """
    ends, scores = np.asarray(ends, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    low, width = float(ends[0]), float(ends[-1] - ends[0])
    if not width > 0:
        return low
    # The first grid point of each piece.
    places = np.ceil((ends - low) / width * POINTS).astype(np.int64)
    sizes = np.diff(places)
    best = scores[sizes > 0].max()
    with np.errstate(invalid="ignore"):
        chances = np.where(
            scores == best, 1.0, arithmetic.exps(rate * np.minimum(scores - best, 0.0))
        )
    total = np.cumsum(sizes * np.nan_to_num(chances))
    piece = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
    point = int(places[piece]) + int(rng.integers(int(sizes[piece])))
    return low + width * (point / POINTS)


def draw_share(
    mechanism: str, rng: np.random.Generator, shape: tuple[int, ...], scale: float, parts: int
) -> Ints:
    """Draw integer shares of noise for `shape[0]` messages.

    `parts` shares add up to noise with the scale `scale`.

    Each of m Gaussian shares has a variance of σ²/m and is rounded to the nearest integer; it is
    drawn exactly. A share of Laplace noise is the difference of two Gamma(1/m) numbers: m shares
    add up to a Laplace distribution. If m > 1, these are drawn in floating point.
    """
    from privcurve.privacy.discrete import discrete_laplace, rounded_gaussian

    size = math.prod(shape)
    if mechanism == GAUSSIAN:
        # ⌊(⌊2Z⌋ + 1)/2⌋ is the integer nearest to Z.
        doubled: Ints = rounded_gaussian(rng, math.ceil(2 * scale / math.sqrt(parts)), size)
        return (doubled + 1 >> 1).reshape(shape)
    if parts == 1:
        drawn: Ints = discrete_laplace(rng, math.ceil(scale), size)
        return drawn.reshape(shape)
    from privcurve.privacy.draws import gamma

    halves = gamma(rng, (shape[0], 2, *shape[1:]), 1 / parts)
    return np.rint((halves[:, 0] - halves[:, 1]) * scale).astype(np.int64)
