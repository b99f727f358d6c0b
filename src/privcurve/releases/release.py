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
from privcurve.experiments.jobs import CODED
from privcurve.files import WriteError, check_room
from privcurve.learners import registry
from privcurve.learners.entries import LEARNERS
from privcurve.privacy import budget as words
from privcurve.privacy import seeds
from privcurve.privacy.accountants.compose import NONE
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
from privcurve.releases.book import DONE, FAILED, Book, Budget, alone
from privcurve.releases.choice import choice, is_choice
from privcurve.releases.errors import ReleaseError

if TYPE_CHECKING:
    import numpy as np

# In bytes: more than most models and their cards take.
ROOM = 2**20

KNOWN_SEED = (
    "its noise was drawn from a public seed, so that whoever knows the seed can draw it again"
)


def release(
    asked: Asked,
    *,
    seed: int | str | None = None,
    output: Path | None = None,
    releases: Path = RELEASES,
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
    """
    description = datasets.describe(asked.dataset)
    if is_choice(asked.learner):
        asked = choice(asked, description).asked
    check(asked, description.domain)
    check_sample(asked, description)
    check_accuracy(asked, description)
    records = description.of_records
    chosen = _seed(seed, description)
    budget = Budget.of(datasets.describe(records).budget)
    book = Book(releases / records)
    book.check(budget, asked.price(chosen))
    data = _data(asked.dataset)
    template = _template(asked, data.domain)

    token = secrets.token_hex(32) if isinstance(chosen, SecretSeed) else ""
    with alone(releases):
        _check_other_ledgers(releases, records, data)
        folder = _folder(output, releases / records, book)
        begun = book.reserve(budget, asked.price(chosen), _facts(asked, data, chosen, token))
    before = tuple(one.price for one in book.releases()[: begun.number - 1])
    try:
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
            folder or releases / records / str(begun.number),
            book.path,
        )
        model = _write(released)
    except BaseException as error:
        # Interrupted, or failed because of a record: that may be known from outside, so it counts.
        # The line that reserved it counts, where no other can be written.
        with contextlib.suppress(WriteError):
            book.close(begun, FAILED, {"error": type(error).__name__})
        if isinstance(error, OSError):
            raise ReleaseError(
                f"{error} (The ledger, {book.path}, counts this release as spent: its model was "
                "trained. Another try is another release.)"
            ) from error
        if isinstance(error, (ValueError, ArithmeticError)):
            raise ReleaseError(
                f"{asked.learner} could not be trained: {error} (The ledger, {book.path}, counts "
                "this release as spent: that it failed may tell something of the records.)"
            ) from error
        raise
    kept = {"kept": released.learner_name} if is_choice(asked.learner) else {}
    try:
        book.close(begun, DONE, {"folder": str(released.folder), "model": model, **kept})
    except WriteError as error:
        raise ReleaseError(
            f"{error} (The ledger counts this release as spent since it began, and its model and "
            f"card are whole, in {released.folder}: another try would be another release.)"
        ) from error
    return released


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
    if asked.delta and not known.approximate:
        raise ReleaseError(f"{asked.learner} offers delta = 0 alone: leave out --delta")
    if not asked.delta and not known.pure:
        raise ReleaseError(f"{asked.learner} needs delta > 0: give --delta, such as 1e-6")
    if asked.relation not in known.neighbours:
        raise ReleaseError(
            f"{asked.learner} offers neighbours: {', '.join(known.neighbours)}, not "
            f"{asked.relation!r}"
        )
    _template(asked, domain)


def _template(asked: Asked, domain: Domain) -> Any:
    """Give the learner, not fitted, with all that can be checked of it."""
    try:
        made = registry.make(asked.learner, domain, asked.estimator_parameters, asked.relation)
        made._check_parameters()
        made.check_classes(domain.n_classes)
    except (ValueError, ImportError) as error:
        raise ReleaseError(str(error)) from None
    return made


def _seed(given: int | str | None, description: Description) -> Seed:
    if given is None:
        return seeds.read_or_make(seeds.path_of(description.of_records))
    chosen = seeds.resolve(given, make=True)
    seeds.check(chosen, description.name, description.public_benchmark)
    return chosen


def _data(name: str) -> Dataset:
    """Take the data as they are coded, if they are; code them otherwise."""
    folder = CODED / name
    return datasets.read(folder) if datasets.is_current(folder) else datasets.load(name)


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
                raise ReleaseError(
                    f"the file of {records!r} is that of {path.name!r} too, whose ledger, "
                    f"{Book(path).path}, has releases of it: what they spent would not add up. "
                    f"Describe {data.name!r} as a variant (based_on: {path.name}), or release "
                    f"{path.name!r}."
                )


def _folder(output: Path | None, home: Path, book: Book) -> Path | None:
    """Check, before anything is spent, that the files can be written; None for the default."""
    folder = output if output is not None else home
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"the folder {folder} can't be made: {error.strerror}") from None
    check_room(folder, ROOM)
    taken = [name for name in (MODEL, CARD, PAGE) if output and (output / name).exists()]
    if taken:
        raise ReleaseError(
            f"{folder / taken[0]} is there already, of an earlier release: name another folder "
            f"(--output), or leave it out for one of its own below {book.path.parent}"
        )
    following = home / str(len(book.releases()) + 1) / MODEL
    if following.exists():
        raise ReleaseError(
            f"{following} is there, but the ledger, {book.path}, does not know of it: restore the "
            "ledger, without which what is spent can't be known"
        )
    return output


def _facts(asked: Asked, data: Dataset, seed: Seed, token: str) -> dict[str, Any]:
    """Give what the ledger holds of a release beside its price; for the holder."""
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
    }


def _stream(
    what: str, asked: Asked, data: Dataset, seed: Seed, number: int, token: str
) -> np.random.Generator:
    """Give a stream of one release: it is used once, though a ledger were lost.

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
    """Give the statement of the model as it leaves; refuse one that is not what was reserved."""
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
    """Give the statement of a model whose seed is known: ε is infinite.

    Parameters
    ----------
    statement : PrivacyStatement
        What would hold if it were not.

    Returns
    -------
    PrivacyStatement
    """
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
    return measured(learner, data, asked.accuracy, rng)


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
