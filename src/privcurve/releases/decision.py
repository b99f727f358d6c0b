"""What a card says of how a model decides: its scores by column, or its words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from privcurve.datasets import Domain
from privcurve.learners import registry
from privcurve.releases import shares
from privcurve.releases.asked import MODEL, Released
from privcurve.releases.page import Block, Code, Rows, Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privcurve.learners.additive.model import PairShape

# Longer ones end in the model's file.
MOST_LINES = 120


def decides(released: Released) -> Iterator[Block]:
    """Yield how a model decides: a table a column where its score is a sum, its words otherwise."""
    model: Any = getattr(released.learner, "model_", None)
    domain = released.domain
    if not hasattr(model, "shapes") or not hasattr(model, "intercept_error"):
        added = shares.of(released.learner, domain)
        if added is None:
            yield Code(_cut(_words(released)))
        else:
            yield from _added(added, domain)
        return
    if not (model.pairs or any(values.any() for values in model.shapes)):
        yield _constant(model.intercept, domain)
        return
    positive = f"{domain.label.column} is {domain.label.positive}"
    yield Text(
        f"A score is added up: {model.intercept:+.3f} (± {model.intercept_error:.3f}), and to that "
        f"the value of each column's bin. Above 0 the model says that {positive}. After ± stand "
        "standard errors, of noise and of the spread of records (approximate)."
    )
    largest = max(float(abs(values).max()) for values in model.shapes)
    spans = [float(values.max() - values.min()) for values in model.shapes]
    for j in sorted(range(len(spans)), key=lambda j: -spans[j]):
        if not model.shapes[j].any():
            continue
        values, errors = model.shapes[j].tolist(), model.errors[j].tolist()
        rows = [
            (name, f"{value:+.3f}", f"± {error:.3f}")
            for name, value, error in zip(domain.columns[j].bin_names, values, errors, strict=True)
        ]
        yield Rows((domain.names[j], "value", "error"), rows, values, largest)
    for pair in model.pairs:
        yield from _pair(pair, domain, largest)
    in_pairs = {j for pair in model.pairs for j in pair.columns}
    unused = [
        name
        for j, name in enumerate(domain.names)
        if j not in in_pairs and not model.shapes[j].any()
    ]
    if unused:
        yield Text(f"Without effect: {', '.join(unused)}.")
    parts = [*model.shapes, *(pair.values for pair in model.pairs)]
    yield from always(model.intercept, parts, domain)


def always(constant: float, parts: Sequence[NDArray[np.float64]], domain: Domain) -> Iterator[Text]:
    """Say so where a sum has the same sign whatever the values are: its labels tell nothing."""
    label = domain.label
    for end, said, never in (
        (constant + sum(float(part.max()) for part in parts) <= 0, label.negative, "above"),
        (constant + sum(float(part.min()) for part in parts) > 0, label.positive, "down to"),
    ):
        if end:
            yield Text(
                f"No record gets {never} 0, so that the label it gives is always {said}. Scores, "
                "and the probabilities made of them, still tell records apart.",
                warning=True,
            )


def _added(added: shares.Shares, domain: Domain) -> Iterator[Block]:
    """Return what each value adds to a score that is a sum over columns."""
    positive = f"{domain.label.column} is {domain.label.positive}"
    used = [j for j in added.by_span if added.values[j].any()]
    if not used:
        yield _constant(added.constant, domain)
        return
    yield Text(
        f"A score is added up: {added.constant:+.3g}, and to that the value of each column's bin. "
        f"Above 0 the model says that {positive}."
    )
    largest = max(float(abs(values).max()) for values in added.values)
    for j in used:
        values = added.values[j].tolist()
        names = domain.columns[j].bin_names
        rows = [(name, f"{value:+.3g}") for name, value in zip(names, values, strict=True)]
        yield Rows((domain.names[j], "value"), rows, values, largest)
    unused = [name for j, name in enumerate(domain.names) if j not in used]
    if unused:
        yield Text(f"Without effect: {', '.join(unused)}.")
    yield from always(added.constant, added.values, domain)


def _constant(score: float, domain: Domain) -> Text:
    always = domain.label.positive if score > 0 else domain.label.negative
    return Text(f"It always says that {domain.label.column} is {always}: no column counts.")


def _pair(pair: PairShape, domain: Domain, largest: float) -> Iterator[Block]:
    """Return what a pair of columns adds beside what each of them does: a row a pair of groups."""
    names = [
        _grouped(domain.columns[j].bin_names, groups.tolist())
        for j, groups in zip(pair.columns, pair.groups, strict=True)
    ]
    cells = list(itertools.product(*(range(len(each)) for each in names)))
    values = [float(pair.values[cell]) for cell in cells]
    rows = [
        (names[0][a], names[1][b], f"{value:+.3f}", f"± {float(pair.errors[a, b]):.3f}")
        for (a, b), value in zip(cells, values, strict=True)
    ]
    first, second = (domain.names[j] for j in pair.columns)
    yield Rows(
        (f"{first}, beside its own", f"and {second}", "value", "error"), rows, values, largest
    )


def _grouped(bin_names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Name groups of codes: by their only one, or by the first and the last."""
    found: dict[int, list[str]] = {}
    for name, group in zip(bin_names, groups, strict=True):
        found.setdefault(group, []).append(name)
    return [
        each[0] if len(each) == 1 else f"{each[0]} … {each[-1]}"
        for _, each in sorted(found.items())
    ]


def _words(released: Released) -> str:
    """Write a model as a person reads it, as its file does."""
    from privcurve import models

    found: str = models.load(released.path(MODEL)).describe()
    if found != released.learner_name:
        return found
    title = registry.entry(released.learner_name).title
    return f"{title}: its numbers stand in {MODEL}, under the key model."


def _cut(text: str) -> str:
    lines = text.splitlines()
    left = len(lines) - MOST_LINES
    shown = [*lines[:MOST_LINES], *([f"… and {left} lines more"] if left > 0 else [])]
    return "\n".join(shown)
