"""Check that a request for an output of the thesis fits its study."""

from __future__ import annotations

from privcurve.experiments.methods import Method
from privcurve.outputs.base import OutputRequest


def check_curves(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` selects several curves of one calibration.

    A curve is a method at all its ε. Tables and figures of the thesis label a curve only by its
    calibration, so two curves of one calibration would get the same label.
    """
    curves: dict[str | None, str] = {}
    for method in request.methods_of(request.options["learner"]):
        if (other := curves.setdefault(method.calibration, method.name)) != method.name:
            raise ValueError(
                "learner must have one curve for each calibration; got "
                f"{other} and {method.name}: name a learner with one curve per calibration"
            )


def check_votes(request: OutputRequest) -> None:
    """Raise ValueError if models of the option `learner` start from a public classifier.

    Outputs that list the votes of a model cannot show the score of a public classifier.
    """
    check_curves(request)
    for method in request.methods_of(request.options["learner"]):
        if any(setting.get("start") == "public" for setting in method.settings):
            raise ValueError(
                f"learner must not have a public start; got {method.name}: this output shows only "
                "votes, not the scores of a public start"
            )


def boosts_rules(method: Method) -> bool:
    """Return whether all settings of a method are LazyBB with 1-rules."""
    weak = {setting.get("weak_learner", "one_rule") for setting in method.settings}
    return method.learner == "lazybb" and weak == {"one_rule"}


def check_one_rules(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` selects a method other than LazyBB with 1-rules."""
    check_votes(request)
    for method in request.methods_of(request.options["learner"]):
        if not boosts_rules(method):
            raise ValueError(f"learner must be LazyBB with 1-rules; got {method.name}")
