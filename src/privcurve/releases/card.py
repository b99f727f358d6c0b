"""The card of a released model: what it is, what it guarantees, and what is not covered.

All on it is public, or paid for: it may leave with the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from privcurve import __version__
from privcurve.datasets.columns import NUMERIC, Column, spelt
from privcurve.learners import registry
from privcurve.learners.tuning import candidates_of
from privcurve.privacy import budget as words
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.seeds import OF_CHACHA, SecretSeed
from privcurve.releases.asked import Released, plain
from privcurve.releases.before import deltas
from privcurve.releases.choice import is_choice, titles
from privcurve.releases.decision import decides
from privcurve.releases.page import Block, Heading, Page, Points, Rows, Text
from privcurve.releases.prices import Price, claim, level

ABOUT = "made by privcurve release; its card, beside it, says what it guarantees and what not"

# Longer ones end in the model's file.
MOST_STEPS = 40
MOST_CATEGORIES = 8

BEFORE = (
    "Whatever was looked at before: a comparison of learners or settings on the same records, if "
    "the choice of this learner was made by it, and a description (bounds, categories) that was "
    "written after a look at the records."
)
COMPARED = (
    "A comparison that is not private was made on these records before. Its numbers are exact "
    "statistics of them: neither what it showed is covered, nor the choice of this learner, if it "
    "was made by it."
)
CONVERTED = (
    "Each line counts all releases. One for add-remove neighbours counts twice its epsilon for "
    "replace-one neighbours, since to replace a record is to leave one out and to add one; one for "
    "replace-one neighbours guarantees nothing for add-remove ones, who differ in their number."
)
POPULATION = (
    "What holds of people in general. The guarantee is about what the model shows of one record's "
    "being there or being so; what it has learned of many, it is there to show."
)


def card(released: Released) -> Page:
    """Return the card of a release.

    Parameters
    ----------
    released : Released

    Returns
    -------
    Page
    """
    title = released.description.title or released.asked.dataset
    learner = registry.entry(released.learner_name).title
    blocks: list[Block] = [
        *_what(released),
        Heading("What it guarantees"),
        *_guarantee(released),
        Heading("How good it is"),
        Text(_accuracy(released)),
        Heading("How it decides"),
        *decides(released),
        Heading("What it was made of"),
        *_steps(released.statement, released.learner.privacy_),
        Heading("What adds up"),
        *_adds_up(released),
        Heading("What is not covered"),
        Points(tuple(_not_covered(released))),
        Heading("What was taken to be public"),
        Text(
            "Columns, their bins and categories, and the names of the classes come from the "
            "dataset's description, not from the records."
        ),
        Rows(
            ("column", "kind", "codes", "values", "source"),
            [_fact(column, released) for column in released.domain.columns],
        ),
    ]
    return Page(f"{learner}: {title}", tuple(blocks))


def _what(released: Released) -> Iterator[Block]:
    asked, label = released.asked, released.domain.label
    name = released.learner_name
    known = registry.entry(name)
    names = ", ".join(label.names)
    if released.domain.n_classes == 2:
        names = f"{label.positive} (positive) or {label.negative} (negative)"
    setting = known.whole(released.setting)
    given = [f"{key} = {plain(value)}" for key, value in setting.items()]
    rows = [
        ("predicts", f"{label.column}: {names}"),
        ("from", f"{len(released.domain.columns)} columns (below)"),
        ("learner", f"{known.title} ({name}, version {known.version})"),
        ("settings", "; ".join(given) or "none"),
        *_chosen(released),
        ("trained on", _trained_on(released)),
        ("privacy", _level(released)),
        ("neighbours", words.relation(asked.relation).description),
        ("made with", f"privcurve {__version__}"),
        ("files", "model.json (JSON; nothing in it is a program), this card"),
    ]
    yield Rows(("", "this model"), rows)


def _chosen(released: Released) -> Iterator[tuple[str, str]]:
    """Say what a choice was made from; nothing of how it went but what was kept."""
    asked = released.asked
    if not is_choice(asked.learner):
        return
    whole = registry.entry(asked.learner).whole(asked.parameters)
    each = titles(candidates_of(whole["learner"], whole["settings"]))
    yield (
        "chosen",
        f"on the records, by private selection from {len(each)}: {'; '.join(each)}. The privacy "
        "below is that of the choice and of the training together",
    )


def _level(released: Released) -> str:
    pure = ", pure" if released.statement.private and not released.asked.delta else ""
    paid = released.asked.accuracy
    return level(released.price) + pure + (f", {paid:g} of it for the accuracy" if paid else "")


def _trained_on(released: Released) -> str:
    if released.asked.relation == words.ADD_REMOVE:
        return "all training records; their number is not public, and stands nowhere here"
    return f"all {released.description.n_rows:,} training records; their number is public"


def _guarantee(released: Released) -> Iterator[Block]:
    if not released.statement.private:
        yield Text(
            f"ε = ∞ for whoever knows the seed, {released.seed}: it is a public number, and with "
            "it the noise can be drawn again. This is right for public benchmarks, whose records "
            "are no secret, and for nothing else.",
            warning=True,
        )
        yield Text(
            "With a secret seed it would be: " + str(released.learner.privacy_.drawn_by(OF_CHACHA)),
        )
        return
    yield Text(str(released.statement))
    for sentence, large in deltas(released):
        yield Text(sentence, warning=large)


def _accuracy(released: Released) -> str:
    found = released.accuracy
    if found is not None:
        said = (
            f"Accuracy {found.value:.4f} (± {found.error:.4f}) on the "
            f"{released.description.n_test:,} records of the dataset's test part, which it was not "
            "trained on"
        )
        if not found.epsilon:
            return f"{said} and which are public."
        return (
            f"{said}. The number has noise (discrete Laplace) and has cost epsilon = "
            f"{found.epsilon:g}, on top of that of the model."
        )
    return (
        "No accuracy is stated. A number measured on the records would be a release of its own and "
        "cost ε, or would be measured on records that trained the model. Measure it where the "
        "model is used, on new records of people who agreed to that; or keep records apart in a "
        "test part, and pay for a noisy accuracy on them (privcurve release --accuracy)."
    )


def _steps(statement: PrivacyStatement, made: PrivacyStatement) -> Iterator[Block]:
    """Return the ledger: of a model whose seed is known, that of its noise."""
    alike: dict[Any, list[LedgerEntry]] = {}
    for entry in made.ledger:
        alike.setdefault(replace(entry, what="", calls=1), []).append(entry)
    groups = list(alike.values())
    rows = [_step(group) for group in groups[:MOST_STEPS]]
    yield Rows(("released", "mechanism", "noise rate", "sensitivity", "cost", "proof"), rows)
    left = len(groups) - MOST_STEPS
    if left > 0:
        where = " (all of them are in model.json)" if statement.ledger else ""
        yield Text(f"… and {left} lines more{where}.")


def _step(group: Sequence[LedgerEntry]) -> tuple[str, ...]:
    first = group[0]
    what = first.what if len(group) == 1 else f"{len(group)} ×: {first.what}, …, {group[-1].what}"
    known = MECHANISMS.get(first.mechanism)
    cost = f"ε = {first.epsilon:.4g}" if first.rho is None else f"ρ = {first.rho:.4g}"
    if first.mechanism == "gaussian":
        # It has no pure ε: what adds up, as squares, is μ = sensitivity/σ.
        cost = f"μ = {first.sensitivity * first.noise_rate:.4g}"
    elif first.bounded_range is not None:
        cost = f"range {first.bounded_range:.4g}"
    return (
        what,
        known.words if known is not None else first.mechanism,
        f"{first.noise_rate:.4g}",
        f"{first.sensitivity:.4g}",
        cost + (" each" if len(group) > 1 else ""),
        first.source,
    )


def _adds_up(released: Released) -> Iterator[Block]:
    number = released.release.number
    yield Text(
        f"This is release {number} of these records. Whoever has several of them knows more than "
        "one of them tells: their epsilons add up, and so do their deltas."
    )
    together = released.together
    yield Points(
        tuple(f"Together, for {one.neighbours} neighbours: {claim(one)}." for one in together)
    )
    if len(together) > 1:
        yield Text(CONVERTED)
    if released.budget.limited:
        total = released.budget.total(released.prices)
        limit = Price(released.budget.epsilon, released.budget.delta, released.budget.neighbours)
        yield Text(
            f"The holder's budget for all releases is {level(limit)} ({limit.neighbours} "
            f"neighbours); {level(total)} of it is spent."
        )
    elif not released.description.public_benchmark:
        yield Text("The holder has set no budget for all releases together.")


def _not_covered(released: Released) -> Iterator[str]:
    statement = released.learner.privacy_
    for text in statement.exclusions:
        yield text[0].upper() + text[1:] + "."
    if isinstance(released.seed, SecretSeed):
        yield (
            "The seed is a secret of the holder's, and used for this release alone: a random word "
            "of the release is part of what the noise follows from."
        )
    if released.release.n_comparisons:
        yield COMPARED
    yield BEFORE
    yield POPULATION


def _fact(column: Column, released: Released) -> tuple[str, ...]:
    source = released.description.bound_sources.get(column.name, "")
    if column.kind == NUMERIC:
        low, high = (spelt(end, column.dates) for end in column.edges[:: column.bins])
        kind = "date" if column.dates else "numeric"
        return column.name, kind, str(column.n_bins), f"{low} to {high}", source
    titles = column.titles
    shown = ", ".join(titles[:MOST_CATEGORIES])
    more = f", … ({len(titles)})" if len(titles) > MOST_CATEGORIES else ""
    return column.name, "categorical", str(column.n_bins), shown + more, source
