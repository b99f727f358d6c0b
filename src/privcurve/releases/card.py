"""The card of a released model: what it is, what it guarantees, and what is not covered.

All on it is public, or paid for: it may leave with the model.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privcurve import __version__, models
from privcurve.datasets import Domain
from privcurve.datasets.columns import NUMERIC, Column, spelt
from privcurve.figures.page import Block, Code, Heading, Page, Part, Points, Rows, Text
from privcurve.learners import registry
from privcurve.learners.shared.tuning import candidates_of
from privcurve.numerals import in_brackets
from privcurve.privacy import budget as words
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.seeds import OF_CHACHA, SecretSeed
from privcurve.releases import shares
from privcurve.releases.budget_ledger import Price, claim, level
from privcurve.releases.choice import is_choice, titles
from privcurve.releases.released import MODEL, Released
from privcurve.releases.request import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privcurve.learners.additive.class_model import ClassModel
    from privcurve.learners.additive.model import PairShape

ABOUT = "made by privcurve release; its card, beside it, says what it guarantees and what not"

# Longer ones end in the model's file.
MOST_STEPS = 40
MOST_LINES = 120
MOST_CATEGORIES = 8

# Of a description's `about`, and what each stands under.
ABOUT_WHOM = {
    "owner": "who",
    "contact": "contact",
    "purpose": "what for",
    "legal_basis": "legal basis",
    "retention": "kept for",
}
NOT_SAID = "not said (about, in the description)"
SICK = "with an illness, say, or without it"

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
    """Return the card of a release."""
    title = released.description.title or released.request.dataset
    learner = registry.entry(released.learner_name).title
    decision = list(decides(released))
    warnings = [block for block in decision if isinstance(block, Text) and block.warning]
    in_full: list[Block] = [
        Heading("What it is", 3),
        *_what(released),
        Heading("What it guarantees", 3),
        *_guarantee(released),
        Heading("How it decides", 3),
        *(block for block in decision if block not in warnings),
        Heading("What it was made of", 3),
        *_steps(released),
        Heading("What adds up", 3),
        *_adds_up(released),
        Heading("What was taken to be public", 3),
        Text(
            "Columns, their bins and categories, and the names of the classes come from the "
            "dataset's description, not from the records."
        ),
        Rows(
            ("column", "kind", "codes", "values", "source"),
            [_fact(column, released) for column in released.domain.columns],
        ),
    ]
    blocks = [
        _front(released),
        Heading("How private it is"),
        *_meaning(released),
        Heading("How good it is"),
        *warnings,
        Text(_accuracy(released)),
        Heading("What is not covered"),
        Points(tuple(_not_covered(released))),
        Part("In full", tuple(in_full)),
    ]
    return Page(f"{learner}: {title}", tuple(blocks))


def _front(released: Released) -> Rows:
    """Return who released what, when and what for."""
    about, label = released.description.about, released.domain.label
    day = released.release.facts["at"].partition("T")[0]
    names = ", ".join(label.names)
    if released.domain.n_classes == 2:
        names = f"{label.positive} (positive) or {label.negative} (negative)"
    rows = [
        *((title, about.get(key, NOT_SAID)) for key, title in ABOUT_WHOM.items()),
        ("released", f"{day}; release {released.release.number} of these records"),
        ("predicts", f"{label.column}: {names}"),
        ("from", f"{len(released.domain.columns)} columns: {_listed(released.domain.names)}"),
        ("trained on", _trained_on(released)),
        ("privacy", _level(released)),
    ]
    return Rows(("", "this model"), rows)


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)})" if len(names) > MOST_CATEGORIES else ""
    return ", ".join(names[:MOST_CATEGORIES]) + more


def _what(released: Released) -> Iterator[Block]:
    name = released.learner_name
    entry = registry.entry(name)
    settings = [f"{k} = {plain(v)}" for k, v in entry.completed(released.setting).items()]
    rows = [
        ("learner", f"{entry.title} ({name}, version {entry.version})"),
        ("settings", "; ".join(settings) or "none"),
        *_chosen(released),
        ("neighbours", _neighbours(released)),
        ("made with", f"privcurve {__version__}"),
        ("files", "model.json (JSON; nothing in it is a program), this card"),
    ]
    yield Rows(("", "in full"), rows)


def _neighbours(released: Released) -> str:
    relation, unit = words.relation(released.request.relation), released.request.unit
    if unit is None:
        return relation.description
    fact = "the number of records of each person is public"
    if relation.name == words.ADD_REMOVE:
        fact = "the number of persons and of their records is not public"
    return (
        f"persons: all records of any one {unit.column} are {relation.of_person}; {fact}. Which "
        "ones train does not depend on what they hold"
    )


def _chosen(released: Released) -> Iterator[tuple[str, str]]:
    """Say how the learner was chosen; nothing of how a private choice went but what was kept."""
    request = released.request
    if not is_choice(request.learner):
        return
    parameters = registry.entry(request.learner).completed(request.parameters)
    each = titles(candidates_of(parameters["learner"], parameters["settings"]))
    yield (
        "chosen",
        f"on the records, by private selection from {len(each)}: {'; '.join(each)}. The privacy "
        "stated is that of the choice and of the training together",
    )


def _level(released: Released) -> str:
    pure = ", pure" if released.statement.private and not released.price.delta else ""
    paid = released.request.accuracy
    return level(released.price) + pure + (f", {paid:g} of it for the accuracy" if paid else "")


def _trained_on(released: Released) -> str:
    unit = released.request.unit
    of_each = "" if unit is None else f", at most {unit.at_most} of each {unit.column}"
    if released.request.relation == words.ADD_REMOVE:
        return f"all training records{of_each}; their number is not public, and stands nowhere here"
    n = released.description.n_rows
    return f"all {n:,} training records{of_each}; their number is public"


def _meaning(released: Released) -> Iterator[Block]:
    """Say what ε and δ mean, with an example, and warn where they mean little."""
    if not released.statement.private:
        yield Text(
            f"ε = ∞ for whoever knows the seed, {released.seed}: it is a public number, and with "
            "it the noise can be drawn again. This is right for public benchmarks, whose records "
            "are no secret, and for nothing else.",
            warning=True,
        )
        return
    price = released.price
    yield Text(f"{in_words(price)} That is what {level(price)} mean{'' if price.delta else 's'}.")
    (together,) = [one for one in released.together if one.neighbours == price.neighbours]
    if together != price:
        yield Text(
            "With this model and the earlier releases of these records together, they guess right "
            f"{_guesses(together)}."
        )
    for sentence, large in released.deltas():
        yield Text(sentence, warning=large)


def in_words(price: Price) -> str:
    """Say what a guarantee means to someone who has never heard of ε: what a guess can gain."""
    whose = f"those of one {price.unit}" if price.unit else "one, say yours"
    them, are = ("them", "those are") if price.unit else ("it", "it is")
    doubt = {
        words.REPLACE_ONE: f"Of {them} they know two possibilities, each as likely: {SICK}.",
        words.PRIVATE_COLUMNS: (
            f"Of what is private in {them} they know two possibilities, each as likely."
        ),
        words.ADD_REMOVE: f"Whether {are} among those that trained the model is as likely as not.",
    }[price.neighbours]
    return (
        f"An example. Someone knows all of these records but {whose}. {doubt} By a coin toss they "
        "guess right 50 times in 100; with this model, whatever they do with it, "
        f"{_guesses(price)}. With perfect privacy that would be 50, without any 100."
    )


def _guesses(price: Price) -> str:
    most = math.ceil(100 * words.most_right(price.epsilon, price.delta) - 1e-9)
    if most < 100:
        return f"at most {most} times in 100"
    return "perhaps more than 99 times in 100: so large an epsilon promises next to nothing"


def _guarantee(released: Released) -> Iterator[Block]:
    if released.statement.private:
        yield Text(str(released.statement))
    else:
        yield Text(f"With a secret seed it would be: {released.made.drawn_by(OF_CHACHA)}")


def _accuracy(released: Released) -> str:
    accuracy = released.accuracy
    if accuracy is not None:
        measured = (
            f"Accuracy {accuracy.value:.3f} (± {accuracy.error:.3f}) on the "
            f"{released.description.n_test:,} records of the dataset's test part, which it was not "
            "trained on"
        )
        if not accuracy.epsilon:
            return f"{measured} and which are public."
        return (
            f"{measured}. The number has noise (discrete Laplace) and has cost epsilon = "
            f"{accuracy.epsilon:g}, on top of that of the model."
        )
    return (
        "No accuracy is stated. A number measured on the records would be a release of its own and "
        "cost ε, or would be measured on records that trained the model. Measure it where the "
        "model is used, on new records of people who agreed to that; or keep records apart in a "
        "test part, and pay for a noisy accuracy on them (privcurve release --accuracy)."
    )


def decides(released: Released) -> Iterator[Block]:
    """Yield how a model decides: a table a column where its score is a sum, its words otherwise."""
    model: Any = getattr(released.learner, "model_", None)
    domain = released.domain
    if hasattr(model, "intercept_error"):
        constant = f"{model.intercept:+.3f}{in_brackets(model.intercept_error, '.3f')}"
        # Stumps are no estimates.
        errors = model.errors if model.intercept_error > 0 else ()
        yield from _sum(domain, model.intercept, constant, ".3f", model.shapes, errors, model.pairs)
    elif hasattr(model, "class_shapes"):
        yield from _class_sums(domain, model)
    elif (added := shares.of(released.learner, domain)) is not None:
        yield from _sum(domain, added.constant, f"{added.constant:+.3g}", ".3g", added.values)
    else:
        yield Code(_words(released))


def _sum(
    domain: Domain,
    constant: float,
    constant_words: str,
    form: str,
    values: Sequence[NDArray[np.float64]],
    errors: Sequence[NDArray[np.float64]] = (),
    pairs: Sequence[PairShape] = (),
) -> Iterator[Block]:
    """Yield what each value, and each pair of values, adds to a score; columns by their span."""
    label = domain.label
    if not (pairs or any(each.any() for each in values)):
        answer = label.positive if constant > 0 else label.negative
        yield _constant(label.column, answer)
        return
    yield Text(
        f"A score is added up: {constant_words}, and to that the value of each column's bin. "
        f"Above 0 the model says that {label.column} is {label.positive}."
        + (
            " After ± stand standard errors, of noise and of the spread of records (approximate)."
            if errors
            else ""
        )
    )
    used = [j for j in range(len(values)) if values[j].any()]
    for j in sorted(used, key=lambda j: float(values[j].min() - values[j].max())):
        header = (domain.names[j], "value", *(["error"] if errors else []))
        numbers = np.array([values[j], errors[j]] if errors else [values[j]])
        column, codes = merged(domain.columns[j], numbers)
        cells = [column.bin_names, [f"{value:+{form}}" for value in values[j][codes]]]
        if errors:
            cells.append([f"± {error:{form}}" for error in errors[j][codes]])
        yield Rows(header, list(zip(*cells, strict=True)))
    for pair in pairs:
        yield from _pair(pair, domain)
    used += [j for pair in pairs for j in pair.columns]
    unused = [name for j, name in enumerate(domain.names) if j not in used]
    if unused:
        yield Text(f"Without effect: {', '.join(unused)}.")
    yield from always(constant, [*values, *(pair.values for pair in pairs)], domain)


def merged(column: Column, numbers: NDArray[np.float64]) -> tuple[Column, list[int]]:
    """Merge neighbouring bins with the same numbers; return the column and a code of each bin."""
    if column.kind != NUMERIC:
        return column, list(range(column.n_bins))
    is_new = (numbers[:, 1:] != numbers[:, :-1]).any(axis=0)
    groups = np.concatenate(([0], np.cumsum(is_new)))
    starts = [k for k in range(column.bins) if k == 0 or groups[k] != groups[k - 1]]
    return column.in_groups(groups.tolist()), [*starts, *range(column.bins, column.n_bins)]


def _constant(column: str, answer: str) -> Text:
    return Text(f"It always says that {column} is {answer}: no column counts.", warning=True)


def _class_sums(domain: Domain, model: ClassModel) -> Iterator[Block]:
    """Yield what each value adds to the score of each class; columns by their span."""
    label, names = domain.label, domain.label.names
    starts = list(zip(names, model.intercepts, model.intercept_errors, strict=True))
    if not model.n_used:
        answer = names[int(model.intercepts.argmax())]
        yield _constant(label.column, answer)
        return
    yield Text(
        f"Each {label.column} has a score: a start, and to that the value of each column's bin. "
        "The model says the one with the largest. After ± stand standard errors, of noise and of "
        "the spread of records (approximate); those of the values are in model.json."
    )
    yield Rows(
        (label.column, "start", "error"),
        [(name, f"{value:+.3f}", f"± {error:.3f}") for name, value, error in starts],
    )
    spans = [float(np.ptp(values)) for values in model.class_shapes]
    for j in sorted(range(len(spans)), key=lambda j: -spans[j]):
        values = model.class_shapes[j]
        if values.any():
            rows = [
                (name, *(f"{value:+.2f}" for value in column))
                for name, column in zip(domain.columns[j].bin_names, values.T, strict=True)
            ]
            yield Rows((domain.names[j], *names), rows)
    unused = [name for name, span in zip(domain.names, spans, strict=True) if not span]
    if unused:
        yield Text(f"Without effect: {', '.join(unused)}.")


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


def _pair(pair: PairShape, domain: Domain) -> Iterator[Block]:
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
    header = (f"{first}, beside its own", f"and {second}", "value", "error")
    yield Rows(header, rows)


def _grouped(bin_names: Sequence[str], groups: Sequence[int]) -> list[str]:
    """Name groups of codes: by their only one, or by the first and the last."""
    names: dict[int, list[str]] = {}
    for name, group in zip(bin_names, groups, strict=True):
        names.setdefault(group, []).append(name)
    return [
        each[0] if len(each) == 1 else f"{each[0]} … {each[-1]}"
        for _, each in sorted(names.items())
    ]


def _words(released: Released) -> str:
    """Write a model as a person reads it, as its file does; the end of a long one is left out."""
    words = models.load(released.path(MODEL)).describe()
    if words == released.learner_name:
        title = registry.entry(released.learner_name).title
        return f"{title}: its numbers stand in {MODEL}, under the key model."
    lines = words.splitlines()
    left = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], *([f"… and {left} lines more"] if left > 0 else [])])


def _steps(released: Released) -> Iterator[Block]:
    """Yield the mechanism calls: of a model with a public seed, those of its noise."""
    alike: dict[Any, list[LedgerEntry]] = {}
    for entry in released.made.ledger:
        entry = replace(entry, what=with_names(entry.what, released.domain.names))
        alike.setdefault(replace(entry, what="", calls=1), []).append(entry)
    groups = list(alike.values())
    rows = [_step(group) for group in groups[:MOST_STEPS]]
    yield Rows(("released", "mechanism", "noise rate", "sensitivity", "cost", "proof"), rows)
    left = len(groups) - MOST_STEPS
    if left > 0:
        where = " (all of them are in model.json)" if released.statement.ledger else ""
        yield Text(f"… and {left} lines more{where}.")


def with_names(what: str, names: Sequence[str]) -> str:
    """Name the columns of a ledger's line, which has their places: a learner knows no names."""

    def named(match: re.Match[str]) -> str:
        return match[1] + re.sub(r"\d+", lambda place: names[int(place[0])], match[2])

    return re.sub(r"\b(columns? )(\d+(?: and \d+)?)\b", named, what)


def _step(group: Sequence[LedgerEntry]) -> tuple[str, ...]:
    first = group[0]
    what = first.what if len(group) == 1 else f"{len(group)} ×: {first.what}, …, {group[-1].what}"
    mechanism = MECHANISMS.get(first.mechanism)
    cost = f"ε = {first.epsilon:.4g}" if first.rho is None else f"ρ = {first.rho:.4g}"
    if first.mechanism == "gaussian":
        # It has no pure ε: what adds up, as squares, is μ = sensitivity/σ.
        cost = f"μ = {first.sensitivity * first.noise_rate:.4g}"
    elif first.bounded_range is not None:
        cost = f"range {first.bounded_range:.4g}"
    return (
        what,
        mechanism.words if mechanism is not None else first.mechanism,
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
    yield Points(tuple(f"Together, for {one.whom}: {claim(one)}." for one in together))
    if len(together) > 1:
        yield Text(CONVERTED)
    if released.budget.limited:
        budget = released.budget
        yield Text(
            f"The data owner's budget for all releases is {level(budget)} ({budget.whom}); "
            f"{level(budget.total(released.prices))} of it is spent."
        )
    elif not released.description.public_benchmark:
        yield Text("The data owner has set no budget for all releases together.")


def _not_covered(released: Released) -> Iterator[str]:
    statement = released.made
    for text in statement.exclusions:
        yield text[0].upper() + text[1:] + "."
    if isinstance(released.seed, SecretSeed):
        yield (
            "The seed is the data owner's secret, used for this release alone: a random word "
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
    return column.name, "categorical", str(column.n_bins), _listed(column.titles), source
