"""Release a model: train one on all records, with a secret seed, within the dataset's budget."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privcurve import datasets
from privcurve.datasets import Dataset, Description, Domain
from privcurve.experiments import canonical
from privcurve.experiments.curves import CODED
from privcurve.files import WriteError
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.privacy import budget as words
from privcurve.privacy import seeds
from privcurve.privacy.accountants.compose import NONE
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import PROVED, REFUTED, PrivacyStatement
from privcurve.privacy.seeds import SecretSeed, Seed
from privcurve.releases import card
from privcurve.releases.accuracy import Accuracy, measured
from privcurve.releases.asked import (
    CARD,
    MODEL,
    PAGE,
    RELEASES,
    Asked,
    Released,
    check_accuracy,
    check_sample,
)
from privcurve.releases.before import check_delta, check_numbers, check_output, rehearse
from privcurve.releases.book import DONE, FAILED, Book, alone
from privcurve.releases.choice import choice, is_choice
from privcurve.releases.errors import ReleaseError, spent
from privcurve.releases.prices import Budget
from privcurve.releases.traces import Traces, the_same

if TYPE_CHECKING:
    import numpy as np

KNOWN_SEED = (
    "its noise was drawn from a public seed, so that whoever knows the seed can draw it again"
)


def release(
    asked: Asked,
    *,
    seed: int | str | None = None,
    output: Path | None = None,
    releases: Path = RELEASES,
    large_delta: bool = False,
    other_records: bool = False,
) -> Released:
    """Train a model on all training records of a dataset, and write what may leave.

    The test part of the dataset, where it has one, is not trained on. The ledger is written
    before training: whatever happens then, ε is spent.

    Parameters
    ----------
    asked : Asked
        Of the learner ``choose`` the learner too is chosen on the records, and paid for.
    seed : int or str, optional
        A file ``….seed`` in place of the dataset's own secret; or, for a public benchmark alone, a
        number. Then the statement says that ε is infinite for whoever knows it.
    output : Path, optional
        Folder for the model and its card; by default one below `releases`.
    releases : Path
        Folder of the ledgers.
    large_delta : bool
        Whether δ may be one over the number of records or more, and the deltas of all releases 1.
    other_records : bool
        Whether records that are mostly those of another ledger are other people's nevertheless.

    Returns
    -------
    Released

    Raises
    ------
    DatasetError, SeedError, ReleaseError
        If the dataset can't be had, the seed is not for it, what is asked for is not possible, or
        the budget does not allow it: nothing is trained, and nothing spent. ReleaseError too if the
        training fails, which is spent.
    WriteError
        If there is no room for the ledger, or for the model: then nothing is trained, and nothing
        spent.
    KeyboardInterrupt
        If it is stopped; with a message if that is spent.
    """
    description = datasets.describe(asked.dataset)
    if is_choice(asked.learner):
        asked = choice(asked, description).asked
    check(asked, description.domain)
    check_sample(asked, description)
    check_accuracy(asked, description)
    if not large_delta:
        check_delta(asked, description)
    records = description.of_records
    place = _seed_place(seed, description)
    budget = Budget.of(datasets.describe(records).budget)
    price = asked.price(secret=isinstance(place, Path))
    home = releases / records
    book = Book(home)
    book.check(budget, price, large_delta)
    check_output(output, home)
    traces = Traces(book, description)
    data = _data(asked.dataset, traces)
    template = _template(asked, data.domain)
    rehearse(asked, description, template)

    token = secrets.token_hex(32) if isinstance(place, Path) else ""
    begun = None
    try:
        with alone(releases):
            check_numbers(home, book, output)
            _check_other_ledgers(releases, records, data)
            book.check(budget, price, large_delta)
            with traces.alone():
                others = traces.check(other_records)
                traces.prepare()
                # Made no earlier: what is refused leaves nothing.
                chosen = place if isinstance(place, int) else seeds.read_or_make(place)
                facts = _facts(asked, data, chosen, token, others)
                begun = book.reserve(budget, price, facts, large_delta)
                traces.keep()
        # Wherever the model goes: by its number a release is missed if the ledger is lost.
        (home / str(begun.number)).mkdir(mode=0o700, exist_ok=True)
        before = tuple(one.price for one in book.releases()[: begun.number - 1])
        rng = _stream("release", asked, data, chosen, begun.number, token)
        learner = _trained(template, data, rng)
        statement = _statement(asked, learner, chosen)
        released = Released(
            asked,
            description,
            data.domain,
            begun,
            before,
            budget,
            learner,
            statement,
            chosen,
            _accuracy(asked, description, learner, data, chosen, begun.number, token),
            output or home / str(begun.number),
            book.path,
        )
        model = _write(released)
        kept = {"kept": released.learner_name} if is_choice(asked.learner) else {}
    except BaseException as error:
        if begun is not None:
            # Interrupted, or failed because of a record: that may be known from outside, so it
            # counts. The line that reserved it counts, where no other can be written.
            with contextlib.suppress(WriteError):
                book.close(begun, FAILED, {"error": type(error).__name__})
        if begun is None and not _reserved(book, token):
            raise
        told = spent(error, asked.learner, book.path)
        if told is error:
            raise
        raise told from error
    try:
        book.close(begun, DONE, {"folder": str(released.folder), "model": model, **kept})
    except WriteError as error:
        raise ReleaseError(
            f"{error} (The ledger counts this release as spent since it began, and its model and "
            f"card are whole, in {released.folder}: another try would be another release.)"
        ) from error
    return released


def _reserved(book: Book, token: str) -> bool:
    """Whether a release stands in the ledger that was stopped while it was written there."""
    return bool(token) and any(one.facts.get("token") == token for one in book.releases())


def check(asked: Asked, domain: Domain) -> None:
    """Refuse what can't be released, before anything is read or spent.

    Raises
    ------
    ReleaseError
    """
    try:
        known = registry.entry(asked.learner)
        registry.check_parameters(asked.learner, asked.parameters)
        registry.check_proved(asked.learner, asked.parameters)
        words.check_budget(asked.epsilon, asked.delta, asked.learner)
        missing = registry.missing_package(asked.learner)
    except ValueError as error:
        raise ReleaseError(str(error)) from None
    if asked.learner not in LEARNERS or not known.certified:
        certified = [name for name, one in LEARNERS.items() if one.certified and not one.requires]
        raise ReleaseError(
            f"{asked.learner} has no certified guarantee of this project: its models may be "
            f"compared, but not released. There are: {', '.join(certified)}."
        )
    if missing:
        raise ReleaseError(missing)
    kind = registry.estimator_class(asked.learner)
    if not (kind._released or is_choice(asked.learner)):
        raise ReleaseError(f"{asked.learner} can't be handed over: {kind._kept_back}")
    if math.isinf(asked.epsilon):
        raise ReleaseError("epsilon = inf is a model without privacy: give a finite epsilon")
    if why := known.refuses(delta=asked.delta, neighbours=asked.relation):
        raise ReleaseError(why)
    _template(asked, domain)


def _template(asked: Asked, domain: Domain) -> Any:
    """Return the learner, not fitted, with all that can be checked of it."""
    try:
        made = registry.make(asked.learner, domain, asked.estimator_parameters, asked.relation)
        made._check_parameters()
        made.check_classes(domain.n_classes)
    except (ValueError, ImportError) as error:
        raise ReleaseError(str(error)) from None
    return made


def _seed_place(given: int | str | None, description: Description) -> int | Path:
    """Return the public number, or the file of the secret, which is made when it is needed."""
    place = seeds.path_of(description.of_records) if given is None else seeds.place_of(given)
    if isinstance(place, int):
        seeds.check(place, description.name, description.public_benchmark)
    else:
        seeds.check_secret(place)
    return place


def _data(name: str, traces: Traces) -> Dataset:
    """Take the data as they are coded, if they are; code them otherwise."""
    folder = CODED / name
    if datasets.is_current(folder):
        data = datasets.read(folder)
    else:
        data = datasets.load(name, watch=traces.watch)
    traces.take(data)
    return data


def _check_other_ledgers(releases: Path, records: str, data: Dataset) -> None:
    """Refuse records that have a ledger under another name: budgets would not add up."""
    mine = set(data.sources.values())
    for path in sorted(releases.glob("*/")):
        if path.name == records:
            continue
        for one in Book(path).releases():
            # A file that was saved again has other bytes, and mostly the same codes.
            alike = one.facts.get("checksum") == data.checksum
            if alike or mine & set(one.facts.get("sources", {}).values()):
                raise ReleaseError(the_same(records, data.name, path.name, Book(path).path))


def _facts(
    asked: Asked, data: Dataset, seed: Seed, token: str, others: list[str]
) -> dict[str, Any]:
    """Return what the ledger holds of a release beside its price; for the holder."""
    return {
        "dataset": asked.dataset,
        "learner": asked.learner,
        "version": registry.entry(asked.learner).version,
        "parameters": dict(asked.parameters),
        "accuracy": asked.accuracy,
        "checksum": data.checksum,
        "sources": dict(data.sources),
        "seed": seeds.named(seed),
        "token": token,
        # What the holder says are other records, though most are the same.
        **({"other_records_than": others} if others else {}),
    }


def _stream(
    what: str, asked: Asked, data: Dataset, seed: Seed, number: int, token: str
) -> np.random.Generator:
    """Return a stream of one release: it is used once, though a ledger were lost.

    Two models of equal noise and unequal ε would give away both. So the stream follows from all
    that is asked, the release's number, and a random token.
    """
    key = {
        "for": what,
        "release": number,
        "token": token,
        "dataset": asked.dataset,
        "checksum": data.checksum,
        "learner": asked.learner,
        "version": registry.entry(asked.learner).version,
        "parameters": asked.estimator_parameters,
        "neighbours": asked.relation,
        "seed": seeds.named(seed),
    }
    return seeds.generator(seed, canonical.digest(key))


def _trained(template: Any, data: Dataset, rng: np.random.Generator) -> Any:
    X, y, counts = datasets.distinct(data.X, data.y)
    (learner,) = template.fit_many(X, y, [{}], [rng], counts)
    return learner


def _statement(asked: Asked, learner: Any, seed: Seed) -> PrivacyStatement:
    """Return the statement of the model as it leaves; refuse one that is not what was reserved."""
    said: PrivacyStatement = learner.privacy_
    slack = 1 + 1e-9
    if (
        said.epsilon > asked.epsilon * slack
        or said.delta > asked.delta * slack
        or said.neighbours != asked.relation
        or said.status != PROVED
    ):
        raise ReleaseError(f"what {asked.learner} guarantees is not what was asked for: {said}")
    return said if isinstance(seed, SecretSeed) else with_known_seed(said)


def with_known_seed(statement: PrivacyStatement) -> PrivacyStatement:
    """Return the statement of a model whose seed is known: ε is infinite."""
    return dataclasses.replace(
        PrivacyStatement.not_private(statement.learner),
        neighbours=statement.neighbours,
        calibration=statement.calibration,
        composition=NONE,
        status=REFUTED,
        caveat=KNOWN_SEED,
        proved_epsilon=math.inf,
    )


def _accuracy(
    asked: Asked,
    description: Description,
    learner: Any,
    data: Dataset,
    seed: Seed,
    number: int,
    token: str,
) -> Accuracy | None:
    if description.public_benchmark and data.X_test is not None:
        return measured(learner, data, 0.0, None)
    if not asked.accuracy:
        return None
    rng = _stream("accuracy", asked, data, seed, number, token)
    return measured(learner, data, asked.accuracy, Curator(rng))


def _write(released: Released) -> str:
    """Write model and card; give the checksum of the model's file."""
    from privcurve import models
    from privcurve.files import replace_text

    path = released.path(MODEL)
    notes = {"release": released.release.number, "about": card.ABOUT}
    title = released.description.title or released.asked.dataset
    models.save(
        path,
        released.learner,
        released.domain,
        statement=released.statement,
        dataset=title,
        notes=notes,
    )
    found = card.card(released)
    replace_text(released.path(CARD), found.markdown())
    replace_text(released.path(PAGE), found.html())
    return hashlib.sha256(path.read_bytes()).hexdigest()
