"""Refuse curves that readers of a study could not tell apart: equal titles or names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from privcurve.experiments import canonical, kinds
from privcurve.experiments.methods import Method

# Longest name of a curve: file systems allow 255 bytes, and file names contain the name.
MOST_LETTERS = 200


def check_curves(methods: Sequence[Method], before: Sequence[Method], *, selected: bool) -> None:
    """Check that a learner's curves differ in name and legend from earlier learners' curves."""
    legends = {_describe_legend(method, selected): method for method in before}
    names = {method.name.casefold(): method for method in before}
    epsilons = {epsilon for method in (*before, *methods) for epsilon in method.epsilons}
    canonical.check_distinct("epsilon", epsilons)
    for method in methods:
        if len(method.name) > MOST_LETTERS:
            raise ValueError(
                f"{method.name[:MOST_LETTERS]}… is too long for the name of a folder: shorten it "
                f"to {MOST_LETTERS} letters"
            )
        twin = legends.get(_describe_legend(method, selected))
        if twin is not None and not (_is_named_by_learner(method) and _is_named_by_learner(twin)):
            raise ValueError(
                f"its title, {method.title!r}, is also the title of {twin.name}; give one of them "
                "another title"
            )
        twin = names.get(method.name.casefold())
        if twin is not None:
            raise ValueError(f"{twin.name} differs from it in case alone; give it another name")


def notes_on_titles(methods: Iterable[Method], *, selected: bool) -> Iterator[str]:
    """Yield a note for curves that share their learner's title, having none of their own."""
    together: dict[Hashable, list[Method]] = {}
    for method in methods:
        together.setdefault(_describe_legend(method, selected), []).append(method)
    for alike in together.values():
        if len(alike) > 1:
            names = ", ".join(method.name for method in alike)
            yield f"{names}: all are called {alike[0].title!r}; give each a title of its own"


def _is_named_by_learner(method: Method) -> bool:
    return method.base_title == canonical.title(method.entry.title)


def _describe_legend(method: Method, selected: bool) -> Hashable:
    """Return all that a legend shows about a curve."""
    kind = kinds.kind(method, selected=selected)
    return method.title.casefold(), method.calibration, method.delta, kind
