"""What readers of a study could not tell apart: numbers but for rounding, curves of one title."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from privcurve.analysis import kinds
from privcurve.experiments import canonical

if TYPE_CHECKING:
    from privcurve.experiments.arms import Arm

# Numbers that differ by less differ in rounding alone: 0.3 and 0.1 + 0.2.
_ROUNDING = 1e-9
# Of the name of a curve: folders may have 255, and files in it are named after it.
MOST_LETTERS = 200


def check_numbers(what: str, values: Sequence[float]) -> None:
    """Refuse a number that stands twice among others, or differs from one in rounding alone."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{what} = {canonical.number(value)} stands twice; keep one")
    check_rounding(what, values)


def check_rounding(what: str, values: Iterable[object]) -> None:
    """Check that no two of some values are one number but for rounding."""
    given = [value for value in values if isinstance(value, (int, float)) and value == value]
    try:
        numbers = sorted(set(map(canonical.real, given)))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    for one, other in itertools.pairwise(numbers):
        if _rounded(one, other):
            raise ValueError(_but_for_rounding(what, one, other) + "; keep one")


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
                if epsilon != other and _rounded(epsilon, other):
                    raise ValueError(
                        _but_for_rounding("epsilon", other, epsilon) + "; write one for both"
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
    return arm.base_title == one_line(arm.method.title)


def one_line(title: str) -> str:
    """Write a title in its one form: in one line, and in one form of Unicode."""
    return " ".join(unicodedata.normalize("NFC", title).split())


def _legend(arm: Arm, selected: bool) -> Hashable:
    """Return what a legend says of a curve."""
    return arm.title.casefold(), arm.calibration, arm.delta, kinds.kind(arm, selected=selected)


def _rounded(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_ROUNDING)


def _but_for_rounding(what: str, one: float, other: float) -> str:
    texts = " and ".join(map(canonical.number, sorted((one, other))))
    return f"{what} = {texts} are one number but for rounding"
