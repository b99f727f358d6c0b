"""What outputs of the thesis need of a study."""

from __future__ import annotations

from privcurve.experiments.methods import Method
from privcurve.outputs.base import OutputRequest


def check_curves(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` names several curves of one calibration.

    Tables and figures of the thesis tell curves apart by calibration alone.
    """
    curves: dict[str | None, str] = {}
    for method in request.methods_of(request.options["learner"]):
        if (other := curves.setdefault(method.calibration, method.name)) != method.name:
            raise ValueError(
                f"{other} and {method.name} would be mixed up: it tells curves apart by "
                "calibration alone; name a learner with one curve of each"
            )


def check_votes(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` has votes that are added to a public start."""
    check_curves(request)
    for method in request.methods_of(request.options["learner"]):
        if any(setting.get("start") == "public" for setting in method.settings):
            raise ValueError(
                f"{method.name} adds its votes to a public start, and this output is about votes "
                "alone"
            )


def boosts_rules(method: Method) -> bool:
    """Return whether a method is LazyBB with 1-rules."""
    weak = {setting.get("weak_learner", "one_rule") for setting in method.settings}
    return method.learner == "lazybb" and weak == {"one_rule"}


def check_one_rules(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` names anything but LazyBB with 1-rules."""
    check_votes(request)
    for method in request.methods_of(request.options["learner"]):
        if not boosts_rules(method):
            raise ValueError(
                f"{method.name} is not LazyBB with 1-rules, and this output is about them alone"
            )
