"""What outputs of the thesis need of a study."""

from __future__ import annotations

from privcurve.outputs.base import OutputRequest


def check_one_rules(request: OutputRequest) -> None:
    """Raise ValueError if the option `learner` names anything but LazyBB with 1-rules."""
    for method in request.methods_of(request.options["learner"]):
        weak = {setting.get("weak_learner", "one_rule") for setting in method.settings}
        if method.learner != "lazybb" or weak != {"one_rule"}:
            raise ValueError(
                f"{method.name} is not LazyBB with 1-rules, and this output is about them alone"
            )
