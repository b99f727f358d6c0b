"""What readers of a study could not tell apart: curves of one title or name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from privcurve.analysis import kinds
from privcurve.experiments import alike
from privcurve.experiments.arms import Arm

# Of the name of a curve: folders may have 255, and files in it are named after it.
MOST_LETTERS = 200


def check_curves(arms: Sequence[Arm], before: Iterable[Arm], *, selected: bool) -> None:
    """Check that the curves of a learner can be told from those of the learners before it."""
    legends = {_legend(arm, selected): arm for arm in before}
    names = {arm.name.casefold(): arm for arm in before}
    epsilons = {epsilon for arm in before for epsilon in arm.epsilons}
    for arm in arms:
        if len(arm.name) > MOST_LETTERS:
            raise ValueError(
                f"{arm.name[:MOST_LETTERS]}… is too long for the name of a folder: shorten it to "
                f"{MOST_LETTERS} letters"
            )
        twin = legends.get(_legend(arm, selected))
        if twin is not None and not (_is_named_by_learner(arm) and _is_named_by_learner(twin)):
            raise ValueError(
                f"its title, {arm.title!r}, is that of {twin.name} too; give one of them another "
                "title"
            )
        twin = names.get(arm.name.casefold())
        if twin is not None:
            raise ValueError(f"{twin.name} differs from it in case alone; give it another name")
        for epsilon in arm.epsilons:
            for other in epsilons:
                if epsilon != other and alike.is_rounding(epsilon, other):
                    raise ValueError(
                        alike.but_for_rounding("epsilon", other, epsilon) + "; write one for both"
                    )


def untitled(arms: Iterable[Arm], *, selected: bool) -> Iterator[str]:
    """Name curves that have no title of their own, and so the one of their learner together."""
    together: dict[Hashable, list[Arm]] = {}
    for arm in arms:
        together.setdefault(_legend(arm, selected), []).append(arm)
    for some in together.values():
        if len(some) > 1:
            names = ", ".join(arm.name for arm in some)
            yield f"{names}: all are called {some[0].title!r}; give each a title of its own"


def _is_named_by_learner(arm: Arm) -> bool:
    return arm.base_title == alike.one_line(arm.method.title)


def _legend(arm: Arm, selected: bool) -> Hashable:
    """Return what a legend says of a curve."""
    return arm.title.casefold(), arm.calibration, arm.delta, kinds.kind(arm, selected=selected)
