"""Handle the key `tune` of a study, with which each training selects its setting privately.

The selection uses the training records, and its cost is part of the ε of the training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from privcurve.experiments import canonical
from privcurve.learners import registry
from privcurve.learners.entry import LearnerEntry
from privcurve.learners.shared import tuning
from privcurve.privacy.budget import PROVED

# Keys under `tune` that set parameters of the learner `tuned`, which makes the selection.
_PARAMETERS = ("eta", "expected_runs", "score_share")


def check(spec: Mapping[str, Any]) -> None:
    """Raise ValueError if an entry of a study's learners contradicts its key `tune`."""
    if "grid" in spec:
        raise ValueError(
            "'grid' and 'tune' exclude each other: settings of 'grid' are tuned outside the "
            "budget, settings of 'tune' inside. Keep one, or make two entries"
        )
    if not spec["tune"].get("grid"):
        raise ValueError("'tune' needs a 'grid' of candidate settings")
    tuning.base_entry(spec["learner"])
    unproved = [c for c in spec.get("calibrations", []) if c != PROVED]
    if unproved:
        raise ValueError(
            f"calibration must be {PROVED!r} for private selection; got {unproved[0]!r}, for "
            "which the cost of the selection is not proved"
        )


def setting(
    entry: LearnerEntry, fixed: Mapping[str, Any], tune: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the only setting of the learner `tuned`: the learner to tune, and its grid.

    `entry` is the registry's entry of the learner to tune, `fixed` its fixed parameters, and `tune`
    the content of the key `tune`.
    """
    axes = {**{name: [value] for name, value in fixed.items()}, **tune["grid"]}
    parameters = {word: tune[word] for word in _PARAMETERS if word in tune}
    content = {"learner": entry.name, "settings": axes, **parameters}
    try:
        registry.entry(tuning.NAME).check_parameters(content)
    except ValueError as error:
        raise ValueError(f"tune: {error}") from None
    tuning.candidates_of(entry.name, axes)
    return content


def price(chosen: Mapping[str, Any], epsilons: Iterable[float], delta: float) -> str:
    """Return a sentence on the part of each ε that private selection leaves for a training.

    `chosen` is the result of :func:`setting`. Raises ValueError if nothing is left.
    """
    parameters = registry.entry(tuning.NAME).complete(chosen)
    shape = [parameters[word] for word in _PARAMETERS]
    finite = [epsilon for epsilon in epsilons if math.isfinite(epsilon)]
    budgets = [tuning.budget_of([chosen["learner"]], epsilon, delta, *shape) for epsilon in finite]
    rest = ", ".join(f"{budget.training_epsilon:.2g}" for budget in budgets)
    return (
        f"of epsilon = {', '.join(map(canonical.number, finite))} private selection leaves {rest} "
        f"for a training ({parameters['expected_runs']:g} runs expected)"
    )
