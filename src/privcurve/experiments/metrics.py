"""Score a fitted learner on records, which are given as distinct rows with counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from privcurve.analysis.measures import CHANCES, MEASURES, RANKS, SCORES, right_answers
from privcurve.coding import Records
from privcurve.experiments import canonical
from privcurve.privacy.budget import implies
from privcurve.privacy.parts import PartedRecords, Totals

# Number of rows that are scored at once, which limits the memory of the scores.
AT_ONCE = 65_536


class RightRows:
    """Counts the records that a fitted learner classifies correctly."""

    def __init__(self, records: Records, learner: Any) -> None:
        self._records, self._learner = records, learner

    def n_right(self) -> int:
        """Return the number of correctly classified records; rows are scored in batches."""
        codes, labels, counts, _ = self._records
        total = 0
        for start in range(0, len(labels), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            scores = self._learner.score_codes(np.ascontiguousarray(codes[some]))
            total += int(counts[some][right_answers(scores, labels[some])].sum())
        return total


def fits_log_odds(learner: Any) -> bool:
    """Return whether a learner fits its probabilities to labels, so that a log loss is meaningful.

    The result is False for a learner that only scales votes to numbers from 0 to 1.
    """
    from_votes = getattr(learner, "chances_by_link", False)
    return hasattr(learner, "predict_proba") and not from_votes


def failure(error: Exception) -> dict[str, Any]:
    """Return the result of a run that `error` ended: the columns ``status`` and ``error``."""
    return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def measures(learner: Any) -> str | None:
    """Return a fitted learner's attribute ``measures_`` as JSON; None if it has none.

    The attribute maps names to numbers, such as numbers of nodes or rounds; NaN becomes null.
    """
    numbers = {name: float(v) for name, v in (getattr(learner, "measures_", None) or {}).items()}
    if not numbers:
        return None
    return canonical.text({name: None if math.isnan(v) else v for name, v in numbers.items()})


def measure_all(given: Mapping[str, Any], labels: Any, counts: Any) -> dict[str, float | None]:
    """Return the value of each measure in `MEASURES`; None if the learner lacks the needed output.

    `given` has the learner's outputs on the records under the keys `SCORES`, `RANKS` and `CHANCES`.
    """
    return {
        name: None
        if (needed := given[measure.needs]) is None
        else measure.compute(needed, labels, counts)
        for name, measure in MEASURES.items()
    }


def _is_within(epsilon: float, delta: float, budget: tuple[float, float]) -> bool:
    # The tolerance covers the search for the noise scale, which may exceed ε by a tiny part.
    return epsilon <= budget[0] * (1 + 1e-6) and delta <= budget[1] * (1 + 1e-6)


def score(
    learner: Any,
    train: Records | PartedRecords,
    scored: Records,
    seconds: float,
    relation: str | None = None,
    budget: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """Return the result of a run as plain JSON: scores and facts about the fit.

    Scores are computed on the records `scored`, and the accuracy also on `train`. `seconds` is the
    duration of the fit. The result is a failure if the scores are not finite, if the statement of a
    private fit does not imply the neighbouring relation `relation`, or if the statement or its
    ledger exceeds `budget` (ε, δ).
    """
    values = learner.score_codes(scored.codes)
    if not np.isfinite(values).all():
        return failure(FloatingPointError("the model's scores must be finite; they are not"))
    given = {SCORES: values, RANKS: values, CHANCES: None}
    # RANKS must be comparable between records. With several classes, probabilities are comparable;
    # other scores of a class may not be.
    by_chance = values.ndim == 2 and hasattr(learner, "predict_proba")
    if by_chance or fits_log_odds(learner):
        if hasattr(learner, "chances"):
            chances = learner.chances(values)
        else:
            chances = learner.predict_proba(scored.codes)
        given[RANKS] = chances if by_chance else values
        given[CHANCES] = chances if fits_log_odds(learner) else None
    # If a learner's predictions cost privacy, its fit has paid for the scored records only, so that
    # it cannot predict the training records.
    train_accuracy = None
    if not getattr(learner, "scores_cost_answers", False):
        train_accuracy = Totals(train, partial(RightRows, learner=learner)).ask("n_right") / train.n
    statement = learner.privacy_
    if relation and statement.private and not implies(statement.neighbours, relation):
        why = f"the statement must be for {relation!r}; it is for {statement.neighbours!r}"
        return failure(ValueError(why))
    spent = float(statement.epsilon_spent)
    charged = max(spent, statement.epsilon)
    if budget is not None and not _is_within(charged, statement.delta, budget):
        why = (
            f"the statement must be for at most epsilon = {budget[0]:g} and delta = "
            f"{budget[1]:g}; it is for epsilon = {statement.epsilon:g} and delta = "
            f"{statement.delta:g}, and its ledger adds up to epsilon = {spent:g}"
        )
        return failure(ValueError(why))
    measured = measures(learner)
    return {
        "neighbours": statement.neighbours,
        "epsilon_spent": spent,
        **measure_all(given, scored.labels, scored.counts),
        "train_accuracy": train_accuracy,
        "n_train": train.n,
        "n_features_used": int(learner.n_features_used_),
        "fit_seconds": round(seconds, 6),
        "status": "ok",
        "error": None,
        **({} if measured is None else {"measures": measured}),
    }
