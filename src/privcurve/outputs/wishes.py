"""Find the ε needed for a wanted score, by interpolation between the compared ε."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privcurve.analysis.measures import LOSSES, MEASURES
from privcurve.experiments.methods import TRAIN_SHARE
from privcurve.learners.entries import by_rule
from privcurve.outputs.answers import LEVEL, Ranking
from privcurve.outputs.base import metric_name

# Measures that a wanted score can be about. All of them are between 0 and 1, except losses.
METRICS = tuple(MEASURES)
_WISH = re.compile(r"\s*([a-z_ 0-9]+?)\s*(>=|≥|<=|≤|within)\s*([0-9.eE+-]+)\s*", re.IGNORECASE)
WITHIN = "within"


class Wish(NamedTuple):
    """A wanted score: at least `number` or, if `within`, relative to the score without privacy.

    Without `within`, the score must be at least `number` (for a loss, at most `number`). With
    `within`, the score must be at most `number` worse than the score without privacy.
    """

    metric: str
    number: float
    within: bool

    @classmethod
    def parse(cls, text: str) -> Wish:
        """Parse a text such as ``auc >= 0.9``, ``log_loss <= 0.2`` or ``auc within 0.02``.

        Raises ValueError if the text has another form.
        """
        match = _WISH.fullmatch(text)
        if match is None:
            raise ValueError(f"a wanted score must be like auc>=0.9; got {text!r}")
        metric, sign, written = match[1].lower().replace(" ", "_"), match[2], match[3]
        if metric not in METRICS:
            raise ValueError(
                f"{text!r}: the measure must be one of: {', '.join(METRICS)}; got {match[1]!r}"
            )
        try:
            number = float(written)
        except ValueError:
            raise ValueError(f"{text!r}: the limit must be a number; got {written!r}") from None
        is_loss, within = metric in LOSSES, sign.lower() == WITHIN
        if not within and is_loss != (sign in ("<=", "≤")):
            better, right = ("smaller", "<=") if is_loss else ("larger", ">=")
            raise ValueError(f"{text!r}: a {better} {match[1]} is better: write {right} for {sign}")
        if not 0 < number < (math.inf if is_loss else 1):
            what = "above 0" if is_loss else "between 0 and 1, as a share is"
            raise ValueError(f"{text!r}: the limit must be {what}; got {written}")
        return cls(metric, number, within)

    @property
    def sign(self) -> int:
        """1 if a higher score is better; −1 for a loss."""
        return -1 if self.metric in LOSSES else 1

    def __str__(self) -> str:
        relation = WITHIN if self.within else ">=" if self.sign > 0 else "<="
        return f"{self.metric} {relation} {self.number:g}"

    @property
    def words(self) -> str:
        """The wanted score as a phrase for a sentence, such as "an AUC of 0.9"."""
        name = metric_name(self.metric)
        article = "an" if name[0] in "aA" else "a"
        how = f"within {self.number:g} of no privacy" if self.within else f"of {self.number:g}"
        return f"{article} {name} {how}"


class Needed(NamedTuple):
    """The ε at which a learner reaches a wanted score, with the range from `low` to `high`.

    The range comes from the standard errors of the scores.
    """

    target: float  # the wanted score, as a number
    epsilon: float  # 0 if the smallest compared ε suffices, infinite if no compared ε does
    low: float  # `epsilon` if all scores were two standard errors better
    high: float  # `epsilon` if all scores were two standard errors worse
    sentence: str


def needed_epsilon(places: Sequence[Ranking], wish: Wish) -> Needed | None:
    """Return the ε at which the default learner of a release reaches a wanted score.

    Mean scores are made monotone in ε, as only noise can make the score at a larger ε worse. Then
    they are interpolated linearly in log ε. If the learner has several methods, the method that is
    trained at the most values of ε is used: to choose the method with the best scores would be
    optimistic. Methods that train on a share of the records are used only if there is no other
    method. The result is None if no method of the learner is eligible, or if `wish` needs scores
    without privacy and these are missing.
    """
    rows = [
        (place, row)
        for place in sorted(places, key=lambda place: place.epsilon)
        for _, row in place.eligible.iterrows()
        if row["learner"] == by_rule.DEFAULT
    ]
    # The learner has several methods if its entry in the study has several δ, varied values or
    # shares.
    counts = Counter(row["method"] for _, row in rows)
    names = [name for name in places[0].titles if counts[name]]
    method = min(names, key=lambda name: (TRAIN_SHARE in name, -counts[name]), default=None)
    curve = [(place, row) for place, row in rows if row["method"] == method]
    if not curve or (wish.within and curve[0][0].coded_models.empty):
        return None
    epsilons = [place.epsilon for place, _ in curve]
    # A loss is negated, so that more is better.
    means = wish.sign * np.array([float(row[wish.metric]) for _, row in curve])
    errors = np.array([float(row["error"]) for _, row in curve])
    target, last = wish.sign * wish.number, curve[-1]
    if wish.within:
        free = last[0].coded_models.iloc[0]
        target = wish.sign * float(free[wish.metric]) - wish.number
        errors = np.hypot(errors, float(free["error"]))
    # A score from a single repeat has no standard error. The sentence then names no range of ε.
    is_sure = not np.isnan(errors).any()
    from sklearn.isotonic import isotonic_regression

    reach = LEVEL * np.nan_to_num(errors)
    curves = [isotonic_regression(means + side * reach) for side in (0, 1, -1)]
    epsilon, low, high = (_find_crossing(epsilons, scores.tolist(), target) for scores in curves)
    name = last[0].name(last[1])
    most = f"above {epsilons[-1]:g}" if math.isinf(high) else f"{high:.2g}"
    reached = f"{name} has {last[0].score(last[1])} there"
    if math.isinf(epsilon):
        start = f"ε ≈ {low:.2g}" if low else f"ε = {epsilons[0]:g}"
        perhaps = "" if math.isinf(low) else f", within two standard errors from {start} on"
        sentence = f"{wish.words} is not reachable up to ε = {epsilons[-1]:g}: {reached}{perhaps}"
    elif epsilon == 0:
        sentence = f"for {wish.words} ε = {epsilons[0]:g} is enough, the smallest that was compared"
        sentence += f", or {most} if its score is two standard errors worse" if high else ""
    else:
        least = f"below {epsilons[0]:g}" if low == 0 else f"{low:.2g}"
        between = f" ({least} to {most})" if is_sure else ""
        sentence = f"for {wish.words} you need ε ≈ {epsilon:.2g}{between} with {name}"
    return Needed(wish.sign * target, epsilon, low, high, sentence)


def _find_crossing(epsilons: Sequence[float], means: Sequence[float], target: float) -> float:
    """Return the ε at which a non-decreasing curve of scores `means` reaches `target`.

    The result is 0 if the first score reaches the target, and ∞ if no score does. Between two ε the
    curve is linear in log ε.
    """
    if means[0] >= target:
        return 0.0
    for k in range(1, len(means)):
        if means[k] >= target:
            share = (target - means[k - 1]) / (means[k] - means[k - 1])
            return float(epsilons[k - 1] * (epsilons[k] / epsilons[k - 1]) ** share)
    return math.inf
