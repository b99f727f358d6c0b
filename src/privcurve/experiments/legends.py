"""Refuse studies whose curves readers cannot tell apart: titles and names must be unique."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from privcurve.experiments import canonical, kinds
from privcurve.experiments.methods import Method

# Longest name of a curve. Names of folders and files contain it, and these may have 255 bytes.
MOST_LETTERS = 200


def check_curves(methods: Sequence[Method], before: Sequence[Method], *, selected: bool) -> None:
    """Raise ValueError if curves in `methods` have the title or the name of a curve in `before`.

    `methods` are the curves of one entry of the study's learners, `before` the curves of earlier
    entries. `selected` is as in :func:`.kinds.kind`.
    """
    legends = {_describe_legend(method, selected): method for method in before}
    names = {method.name.casefold(): method for method in before}
    epsilons = {epsilon for method in (*before, *methods) for epsilon in method.epsilons}
    canonical.check_distinct("epsilon", epsilons)
    for method in methods:
        if len(method.name) > MOST_LETTERS:
            raise ValueError(
                f"{method.name[:MOST_LETTERS]}… must have at most {MOST_LETTERS} letters, as it "
                "names a folder: shorten it"
            )
        twin = legends.get(_describe_legend(method, selected))
        if twin is not None and not (_is_named_by_learner(method) and _is_named_by_learner(twin)):
            raise ValueError(
                f"title must be unique; {method.title!r} is also the title of {twin.name}. "
                "Give one of them another title"
            )
        twin = names.get(method.name.casefold())
        if twin is not None:
            raise ValueError(
                f"name must differ from {twin.name} in more than case; choose another name"
            )


def notes_on_titles(methods: Iterable[Method], *, selected: bool) -> Iterator[str]:
    """Yield a note for each group of curves that a legend cannot distinguish.

    These curves have the default title of their learner: :func:`check_curves` refuses all other
    equal titles.
    """
    together: dict[Hashable, list[Method]] = {}
    for method in methods:
        together.setdefault(_describe_legend(method, selected), []).append(method)
    for alike in together.values():
        if len(alike) > 1:
            names = ", ".join(method.name for method in alike)
            yield f"{names}: all have the title {alike[0].title!r}; give each a title of its own"


def _is_named_by_learner(method: Method) -> bool:
    return method.base_title == canonical.title(method.entry.title)


def _describe_legend(method: Method, selected: bool) -> Hashable:
    """Return what a legend shows about a curve; equal results mean indistinguishable curves."""
    kind = kinds.kind(method, selected=selected)
    return method.title.casefold(), method.calibration, method.delta, kind
