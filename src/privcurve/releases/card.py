"""The card of a released model: its origin, its guarantee, and the limits of the guarantee.

The card contains only public facts and released numbers, so it may leave with the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from privcurve import __version__, models
from privcurve.datasets.domain import NUMERIC, Column
from privcurve.figures.page import Block, Code, Folded, Heading, Page, Picture, Points, Rows, Text
from privcurve.learners import registry
from privcurve.learners.shared.tuning import candidates_of
from privcurve.models.explain import Explanation, explain, table_of
from privcurve.privacy import budget as words
from privcurve.privacy.ledger import LedgerEntry
from privcurve.privacy.mechanisms import MECHANISMS
from privcurve.privacy.seeds import OF_CHACHA, SecretSeed
from privcurve.releases import cited
from privcurve.releases.budget_ledger import Price, total
from privcurve.releases.card_shapes import draw_shape
from privcurve.releases.choice import is_choice, titles
from privcurve.releases.judgement import YES, Judgement, Measure, places_of
from privcurve.releases.released import MODEL, Released
from privcurve.releases.request import format_parameter

ABOUT = "made by privcurve release; its card, beside it, says what it guarantees and what not"

# Maximum numbers of mechanism calls, of lines of a model, and of names in a list on a card, to keep
# it readable. The file of the model has all of them.
MOST_STEPS = 40
MOST_LINES = 120
MOST_CATEGORIES = 8
# A card draws only this many shapes (the effects of columns on the score), the most important ones.
MOST_SHAPES = 5

# The keys of the entry `about` of a description, each with its title on the card.
ABOUT_WHOM = {
    "owner": "who",
    "contact": "contact",
    "purpose": "what for",
    "legal_basis": "legal basis",
    "retention": "kept for",
}
NOT_SAID = "not said (about: in the description)"
SICK = "with an illness, say, or without it"

FOR_THE_DPO = (
    "For a data protection officer: docs/for_your_dpo.md says what this means for singling out, "
    "linking and inference, and what the law asks."
)
BEFORE = (
    "Whatever was looked at before: a comparison of learners or settings on the same records, if "
    "it led to this learner, and a description (bounds, categories) that was written after a look "
    "at the records."
)
COMPARED = (
    "A comparison that is not private was made on these records before. Its numbers are exact "
    "statistics of them: what it showed is not covered, nor is the choice of this learner, if that "
    "comparison led to it."
)
CONVERTED = (
    "Each line counts all releases. One for add-remove neighbours counts twice its epsilon for "
    "replace-one neighbours, since to replace a record is to leave one out and to add one; one for "
    "replace-one neighbours guarantees nothing for add-remove ones, who differ in their number."
)
POPULATION = (
    "Patterns that many people share. They are not secret: the model is meant to learn them. The "
    "guarantee is about what it shows of any one record, or person."
)


def card(released: Released, checksum: str) -> Page:
    """Return the card of a release; `checksum` is the SHA-256 of the model's file."""
    title = released.description.title or released.request.dataset
    learner = registry.entry(released.learner_name).title
    explanation = explain(released.learner, released.domain)
    in_full: list[Block] = [
        Heading("What it is", 3),
        *_list_settings(released),
        Heading("What it guarantees", 3),
        *_state_guarantee(released),
        Heading("What it was made of", 3),
        *_list_calls(released),
        Heading("What adds up", 3),
        *_list_totals(released),
        Heading("What was taken to be public", 3),
        Text(
            "Columns, their bins and categories, and the names of the classes come from the "
            "dataset's description; training reads none of them from the records."
        ),
        Rows(
            ("column", "kind", "codes", "values", "source"),
            [_describe_column(column, released) for column in released.domain.columns],
        ),
    ]
    blocks = [
        _summarise(released, checksum),
        Heading("How private it is"),
        *_explain_budget(released),
        Heading("How good it is"),
        *_warn_if_constant(explanation),
        *_state_quality(released),
        Heading("What is not covered"),
        Points(tuple(_list_exclusions(released))),
        Heading("What it makes of each column"),
        *_rank_columns(explanation),
        *_compare_tests(released, explanation),
        *_draw_columns(explanation),
        Folded("Every column in numbers", tuple(_list_effects(explanation, released))),
        Folded("In full", tuple(in_full)),
    ]
    return Page(f"{learner}: {title}", tuple(blocks))


def _summarise(released: Released, checksum: str) -> Rows:
    """Return the table at the top of the card: owner, date, label, columns, records and price."""
    about, label = released.description.about, released.domain.label
    missing = [title for key, title in ABOUT_WHOM.items() if key not in about]
    day = released.release.facts["at"].partition("T")[0]
    names = ", ".join(label.names)
    if released.domain.n_classes == 2:
        names = f"{label.positive} (positive) or {label.negative} (negative)"
    pure = ", pure" if released.statement.private and not released.price.delta else ""
    rows = [
        *((title, about[key]) for key, title in ABOUT_WHOM.items() if key in about),
        *([(NOT_SAID, ", ".join(missing))] if missing else []),
        ("released", f"{day}; release {released.release.number} of these records"),
        ("predicts", f"{label.column}: {names}"),
        ("from", f"{len(released.domain.columns)} columns: {_list_names(released.domain.names)}"),
        ("trained on", _describe_records(released)),
        ("privacy", f"{released.price}{pure}"),
        ("file", f"{MODEL}, SHA-256 {checksum}"),
    ]
    return Rows(("", "this model"), rows)


def _list_names(names: Sequence[str]) -> str:
    more = f", … ({len(names)})" if len(names) > MOST_CATEGORIES else ""
    return ", ".join(names[:MOST_CATEGORIES]) + more


def _list_settings(released: Released) -> Iterator[Block]:
    name = released.learner_name
    entry = registry.entry(name)
    files = "model.json (JSON; nothing in it is a program), card.md (one page), card.html (all)"
    settings = [f"{k} = {format_parameter(v)}" for k, v in entry.complete(released.setting).items()]
    rows = [
        ("learner", f"{entry.title} ({name}, version {entry.version})"),
        ("settings", "; ".join(settings) or "none"),
        *_describe_choice(released),
        ("neighbours", _describe_neighbours(released)),
        ("made with", f"privcurve {__version__}"),
        ("files", files),
    ]
    yield Rows(("", "in full"), rows)


def _describe_neighbours(released: Released) -> str:
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


def _describe_choice(released: Released) -> Iterator[tuple[str, str]]:
    """Yield a row that names the candidates of a private choice; no row without such a choice."""
    request = released.request
    if not is_choice(request.learner):
        return
    parameters = registry.entry(request.learner).complete(request.parameters)
    candidates = titles(candidates_of(parameters["learner"], parameters["settings"]))
    yield (
        "chosen",
        f"on the records, by private selection from {len(candidates)}: {'; '.join(candidates)}. "
        "The stated ε and δ are for the choice and the training together",
    )


def _describe_records(released: Released) -> str:
    unit = released.request.unit
    at_most = "" if unit is None else f", at most {unit.at_most} of each {unit.column}"
    if released.request.relation == words.ADD_REMOVE:
        which = "all training records"
        if share := released.request.holdout:
            which = f"a share of {1 - share:g} of the records, by secret coins"
        return f"{which}{at_most}; their number is not public, and is nowhere on this card"
    if released.request.holdout:
        held, n = released.n_held, released.n_train
        return f"{n:,} records{at_most}; {held:,} others are held out; these numbers are public"
    return f"all {released.n_train:,} training records{at_most}; their number is public"


def _explain_budget(released: Released) -> Iterator[Block]:
    """Explain ε and δ by an example, and warn if they guarantee little."""
    if not released.statement.private:
        yield Text(
            f"ε = ∞ for whoever knows the seed, {released.seed}: it is a public number, and with "
            "it the noise can be drawn again. This is right for public benchmarks, whose records "
            "are no secret, and for nothing else.",
            warning=True,
        )
        return
    price = released.price
    means = "mean" if price.delta else "means"
    yield Text(f"{explain_price(price)} That is what {price} {means}.")
    (together,) = [sums for sums in released.totals if sums.neighbours == price.neighbours]
    if together != price:
        yield Text(
            "With this model and the earlier releases of these records together, they guess right "
            f"{_format_guess(together)}."
        )
    if released.judgement is not None and not released.request.person:
        both = Price(price.epsilon + released.judgement.epsilon, price.delta, price.neighbours)
        yield Text(
            "A record either trained the model or was held out to measure it, so each costs that "
            "once. Of a person with one record in each part the two add up: for them they guess "
            f"right {_format_guess(both)}."
        )
    yield Text(name_pages(FOR_THE_DPO))
    attacked = cited.read(released.request, released.description)
    if attacked is not None:
        yield Text(
            "On a made-up table of the same columns and size, attacked with "
            f"{attacked.n_fits:,} models like this one, {attacked.sentence()}. (± is a standard "
            "error. An attack can refute a guarantee, never prove it.)"
        )
    for sentence, large in released.delta_remarks():
        yield Text(sentence, warning=large)


def explain_price(price: Price) -> str:
    """Explain a guarantee by how often a guess can be right, for readers who do not know ε."""
    whose = f"those of one {price.unit}" if price.unit else "one, say yours"
    them, are = ("them", "those are") if price.unit else ("it", "it is")
    doubt = {
        words.REPLACE_ONE: f"Of {them} they know two possibilities, each as likely: {SICK}.",
        words.PRIVATE_COLUMNS: (
            f"Of what is private in {them} they know two possibilities, each as likely."
        ),
        # Do not write "trained the model": the guarantee covers held-out records, too, as the query
        # on the hold-out depends on them.
        words.ADD_REMOVE: f"Whether {are} among the records at all is as likely as not.",
    }[price.neighbours]
    return (
        f"An example. Someone knows all of these records but {whose}. {doubt} By a coin toss they "
        "guess right 50 times in 100; with this model, whatever they do with it, "
        f"{_format_guess(price)}. Perfect privacy keeps it at 50; no privacy makes it 100."
    )


def _format_guess(price: Price) -> str:
    most = math.ceil(100 * words.most_right_guesses(price.epsilon, price.delta) - 1e-9)
    if most < 100:
        return f"at most {most} times in 100"
    return "perhaps more than 99 times in 100: so large an epsilon promises next to nothing"


def _state_guarantee(released: Released) -> Iterator[Block]:
    private, names = released.statement.private, released.domain.names
    stated = released.statement if private else released.fit_statement.of_fit(OF_CHACHA)
    public = tuple(names[j] if isinstance(j, int) else j for j in stated.public_columns)
    text = name_pages(str(replace(stated, public_columns=public)))
    yield Text(text if private else f"With a secret seed it would be: {text}")


def name_pages(text: str) -> str:
    """Replace paths of documentation pages by titles, as readers of a card may lack the files."""
    return re.sub(r"\b(?:docs|papers)/([\w/]+)\.md", r"“\1” in privcurve's documentation", text)


def _state_quality(released: Released) -> Iterator[Block]:
    """State the quality on held-out or public test records; or say that it was not measured."""
    if released.judgement is not None:
        yield from _state_judgement(released, released.judgement)
    elif released.accuracy is not None:
        accuracy = released.accuracy
        yield Text(
            f"Accuracy {accuracy.value:.3f} (standard error {accuracy.error:.3f}) on the "
            f"{released.description.n_test:,} records of the dataset's test part, which it was not "
            "trained on and which are public."
        )
    else:
        yield Text(
            "Not measured: whether this model is better than the base rate, which says the same of "
            "everyone, is not known. A hold-out measures it at no additional price for each record "
            "(privcurve release --holdout 0.2). Or measure it where the model is used, on new "
            "records of people who agreed to that."
        )


def _state_judgement(released: Released, judged: Judgement) -> Iterator[Block]:
    """State the quality on the hold-out. All numbers are computed from its noisy counts."""
    area = f"AUC {judged.auc}; better" if judged.auc is not None else "Better"
    yield Text(
        f"{area} than the base rate, which says the same of everyone: {judged.better}.",
        warning=judged.better != YES,
    )
    rows = []
    if judged.auc is not None:
        rows.append(("AUC", str(judged.auc), "0.5 is a coin toss, 1 is perfect"))
    if judged.gain is not None and judged.measured_by != "AUC":
        # Show a digit more than needed: rounding must not make the gain look equal to its margin.
        digits = min(places_of(judged.gain.margin, 3) + 1, 4)
        if judged.loss is not None:
            base = f"smaller is better; the base rate has {judged.base_loss:.{digits}f}"
            rows.append(("log-loss", judged.loss.to_digits(digits), base))
        what = f"{judged.measured_by}: better than the base rate by"
        rows.append((what, judged.gain.to_digits(digits), "0 is no better"))
    if judged.actual is not None:
        actual = _format_share(judged.actual)
        meaning = f"actual share of {released.domain.label.positive}: {actual}"
        rows.append(("mean probability", f"{_percent(judged.predicted)} %", meaning))
    if rows:
        yield Rows(("on the hold-out", "value", "meaning"), rows)
    if judged.groups:
        header = ("of records with a similar probability, the model says", "actual")
        pairs = [(f"{_percent(g.predicted)} %", _format_share(g.actual)) for g in judged.groups]
        yield Rows(header, pairs)
    yield Text(" ".join(_explain_holdout(released, judged)))


def _explain_holdout(released: Released, judged: Judgement) -> Iterator[str]:
    unit, request = released.request.unit, released.request
    whose = "record" if unit is None else f"{unit.column}, with all records,"
    how = (
        f"each {whose} by a secret coin of its own"
        if request.relation == words.ADD_REMOVE
        else f"each {whose} by its place in the file alone"
    )
    yield (
        f"Measured on the hold-out: a share of {judged.share:g} of the records, about "
        f"{max(round(judged.n, -1), 0):,.0f}, set aside before anything else, {how}. They did not "
        "train the model."
    )
    yield (
        "They answered one query, counts by label and score with noise (discrete Laplace), at ε = "
        f"{judged.epsilon:g}; all numbers here follow from it. Each ± is a 95 % margin: of the "
        "spread of records, the noise, and what bins of the score hide."
    )
    if unit is not None and unit.at_most > 1:
        yield (
            f"Margins are wider in truth where the records of each {unit.column}, up to "
            f"{unit.at_most}, are alike."
        )
    if released.release.n_comparisons:
        yield (
            "A comparison of learners saw the records of the hold-out too: if it led to this "
            "learner or these settings, these numbers are a little too good."
        )


def _format_share(measure: Measure) -> str:
    """Write a share and its margin in percent."""
    margin = 100 * measure.margin
    digits = 1 if margin < 10 else 0
    return f"{100 * max(measure.value, 0.0):.{digits}f} ± {margin:.{digits}f} %"


def _percent(share: float) -> str:
    """Write a share in percent, with two or three digits."""
    return f"{100 * share:.{1 if share < 0.995 else 0}f}"


# The effect of each column -------------------------------------------------------------


def _rank_columns(explanation: Explanation) -> Iterator[Block]:
    """Explain how the model computes scores, and which columns change them most."""
    yield Text(" ".join(explanation.sentences()))
    if explanation.used:
        most = "" if len(explanation.used) <= MOST_SHAPES else f" (the first {MOST_SHAPES})"
        rows = [(s.column.name, s.importance_text) for s in explanation.used[:MOST_SHAPES]]
        yield Rows((f"column{most}", "importance"), rows)


def _compare_tests(released: Released, explanation: Explanation) -> Iterator[Text]:
    """Explain how the hold-out can favour a model in which no column has a significant effect."""
    judged = released.judgement
    if judged is not None and judged.better == YES and explanation.is_like_constant:
        yield Text(
            "The hold-out shows that the model is better than the base rate all the same: it tests "
            "all columns together, and the tests of evidence each column alone."
        )


def _draw_columns(explanation: Explanation) -> Iterator[Block]:
    """Draw what the most important columns add to the score; nothing for more than two classes."""
    if len(explanation.outputs) > 1:
        return
    shapes = [shape.drawn for shape in explanation.used[:MOST_SHAPES]]
    reach = max((shape.reach for shape in shapes), default=1.0)
    if any(shape.people is not None for shape in shapes):
        yield Text(
            "The grey area under a shape shows how many people have these values, with their "
            "number; brackets hold the number of people of one value. Counts have noise. Values "
            "that nobody has are left out: the model guesses there by its neighbours."
        )
    for shape in shapes:
        yield Picture(draw_shape(shape, (-reach, reach)), title=shape.column.name)


def _list_effects(explanation: Explanation, released: Released) -> Iterator[Block]:
    """Yield, for each column, a table of what each value of the column adds to the score.

    If the model is not a sum over columns, a description of the model precedes the tables.
    """
    if not explanation.is_sum:
        yield Code(_describe_model(released))
    for shape in explanation.used:
        yield Rows(*table_of(shape.merge(), explanation.outputs))
    if explanation.without_effect:
        yield Text(explanation.without_effect_text())


def _warn_if_constant(explanation: Explanation) -> Iterator[Text]:
    """Warn if a model gives the same label to every record."""
    if not explanation.is_sum:
        return
    if not explanation.used:
        yield Text(next(iter(explanation.sentences())), warning=True)
        return
    if len(explanation.outputs) > 1:
        return
    parts = [shape.values for shape in explanation.shapes]
    label, constant = explanation.label, float(explanation.constant[0])
    for is_constant, answer, never in (
        (constant + sum(float(part.max()) for part in parts) <= 0, label.negative, "above"),
        (constant + sum(float(part.min()) for part in parts) > 0, label.positive, "down to"),
    ):
        if is_constant:
            yield Text(
                f"No record gets {never} 0, so that the model always answers {answer}. Scores, "
                "and the probabilities computed from them, still differ between records.",
                warning=True,
            )


def _describe_model(released: Released) -> str:
    """Return the model as text, at most `MOST_LINES` lines of it."""
    text = models.load(released.path(MODEL)).describe()
    if text == released.learner_name:
        title = registry.entry(released.learner_name).title
        return f"{title}: its numbers are in {MODEL}, under the key model."
    lines = text.splitlines()
    n_left = len(lines) - MOST_LINES
    rest = [f"… and {n_left} lines more"] if n_left > 0 else []
    return "\n".join([*lines[:MOST_LINES], *rest])


def _list_calls(released: Released) -> Iterator[Block]:
    """Yield a table of the fit's mechanism calls; calls that differ only in name share a row."""
    alike: dict[Any, list[LedgerEntry]] = {}
    for entry in released.fit_statement.ledger:
        entry = replace(entry, what=name_columns(entry.what, released.domain.names))
        alike.setdefault(replace(entry, what="", calls=1), []).append(entry)
    groups = list(alike.values())
    rows = [_describe_calls(group) for group in groups[:MOST_STEPS]]
    yield Rows(("released", "mechanism", "noise rate", "sensitivity", "cost", "proof"), rows)
    n_left = len(groups) - MOST_STEPS
    if n_left > 0:
        where = " (all of them are in model.json)" if released.statement.ledger else ""
        yield Text(f"… and {n_left} lines more{where}.")


def name_columns(what: str, names: Sequence[str]) -> str:
    """Replace the positions of columns in a mechanism call by their names."""

    def replace_places(match: re.Match[str]) -> str:
        return match[1] + re.sub(r"\d+", lambda place: names[int(place[0])], match[2])

    # "choice of column 3" is the third choice, not the column at position 3.
    return re.sub(r"(?<!choice of )\b(columns? )(\d+(?: and \d+)?)\b", replace_places, what)


def _describe_calls(group: Sequence[LedgerEntry]) -> tuple[str, ...]:
    first = group[0]
    what = first.what if len(group) == 1 else f"{len(group)} ×: {first.what}, …, {group[-1].what}"
    mechanism = MECHANISMS.get(first.mechanism)
    cost = f"ε = {first.epsilon:.4g}" if first.rho is None else f"ρ = {first.rho:.4g}"
    if first.mechanism == "gaussian":
        # A Gaussian call has no pure ε. Its cost is μ = sensitivity/σ: the squared costs of several
        # calls add up to the squared μ of all calls.
        cost = f"μ = {first.sensitivity * first.noise_rate:.4g}"
        if first.sampled < 1:
            cost += f" on a batch of {100 * first.sampled:.4g} %"
    elif first.bounded_range is not None:
        cost = f"range {first.bounded_range:.4g}"
    return (
        what,
        mechanism.words if mechanism is not None else first.mechanism,
        f"{first.noise_rate:.4g}",
        f"{first.sensitivity:.4g}",
        cost + (" each" if len(group) > 1 else ""),
        name_pages(first.source),
    )


def _list_totals(released: Released) -> Iterator[Block]:
    number = released.release.number
    yield Text(
        f"This is release {number} of these records. Several releases together reveal more than "
        "one: their epsilons add up, and so do their deltas."
    )
    together = released.totals
    claims = [f"Together, for {sums.neighbours_text}: {sums.claim}." for sums in together]
    yield Points(tuple(claims))
    if len(together) > 1:
        yield Text(CONVERTED)
    if released.budget.is_limited:
        budget = released.budget
        spent = total(released.prices, budget.neighbours)
        yield Text(
            f"The data owner's budget for all releases is {budget} "
            f"({budget.neighbours_text}); {spent} of it is spent."
        )
    elif not released.description.public_benchmark:
        yield Text("The data owner has set no budget for all releases together.")


def _list_exclusions(released: Released) -> Iterator[str]:
    if released.request.relation == words.PRIVATE_COLUMNS:
        shown = ", ".join(released.request.public)
        yield f"The public values of each record ({shown}): the model may show them exactly."
    statement = released.fit_statement
    for text in map(name_pages, statement.exclusions):
        yield text[0].upper() + text[1:] + "."
    if isinstance(released.seed, SecretSeed):
        yield (
            "The seed is the data owner's secret. The noise follows from it and from a random word "
            "that this release alone has."
        )
    if released.release.n_comparisons:
        yield COMPARED
    yield BEFORE
    yield POPULATION


def _describe_column(column: Column, released: Released) -> tuple[str, ...]:
    source = released.description.bound_sources.get(column.name, "")
    if column.kind == NUMERIC:
        kind, values = "date" if column.dates else "numeric", " to ".join(column.format_bounds())
        return column.name, kind, str(column.n_bins), values, source
    return column.name, "categorical", str(column.n_bins), _list_names(column.titles), source
