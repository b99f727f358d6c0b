"""Release a model: check the request, reserve its price, train, and write model and card."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privcurve import datasets, models
from privcurve.datasets import Dataset, Description, PartedDataset
from privcurve.datasets.reading import RawTable
from privcurve.experiments import canonical
from privcurve.experiments.curves import CODED
from privcurve.experiments.splits import distinct_records
from privcurve.files import WriteError, check_room, replace_text
from privcurve.privacy import seeds
from privcurve.privacy.accountants.compose import NONE
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import KNOWN, REFUTED, PrivacyStatement
from privcurve.privacy.parts import DASK, LOCAL, Engine, PartedRecords, PartError, open_engine
from privcurve.privacy.seeds import SecretSeed, Seed
from privcurve.releases import budget_ledger, card, holdout
from privcurve.releases.budget_ledger import RELEASES, BudgetLedger
from privcurve.releases.choice import choice, is_choice
from privcurve.releases.errors import ReleaseError
from privcurve.releases.guard import guard
from privcurve.releases.judgement import NO, YES, Judgement
from privcurve.releases.released import CARD, MODEL, PAGE, Accuracy, Released
from privcurve.releases.request import Request, check, rehearse
from privcurve.stored import STORED

# Free bytes that the disk must have before a release begins; most models with cards need less.
ROOM = 2**20

ANOTHER_TRY = "Another try is another release; --resume finishes this one, at no further price"

KNOWN_SEED = (
    "its noise was drawn from a public seed, so that whoever knows the seed can draw it again"
)


def release(
    request: Request,
    *,
    seed: int | str | None = None,
    output: Path | None = None,
    large_delta: bool = False,
    resume: bool = False,
    engine: str = "",
    scheduler: str | None = None,
    watch: Callable[[RawTable], None] | None = None,
    progress: Callable[[float], None] | None = None,
    tell: Callable[[str], None] | None = None,
    confirm: Callable[[str], bool] | None = None,
) -> Released:
    """Train a model on the training records of a dataset, and write its model file and card.

    Test records of the dataset and the hold-out do not train the model. The function
    writes the price into the ledger before training. From then on ε is spent even if training
    fails; a finished model is charged the δ of its statement, which may be smaller than the
    reserved δ.

    Parameters
    ----------
    request : Request
        With the learner ``choose``, a part of ε pays for a private selection of the learner.
    seed : int or str, optional
        A file ``….seed``, which replaces the secret seed of the dataset. For a public benchmark,
        it may be a number; the statement then says that ε is infinite for everyone who knows it.
    output : Path, optional
        Folder for the model and its card; by default a numbered folder in ``releases/``.
    large_delta : bool
        Whether to allow a δ of at least 1 / (number of records), and deltas of all releases that
        add up to 1 or more.
    resume : bool
        Whether to finish the last release of the same request that began and did not end, with
        the same noise and at no additional price.
    engine : str
        The engine that computes sums over partitioned records: ``local``, the default, or ``dask``
        (:mod:`privcurve.privacy.parts`). Records that are not partitioned train in this process.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; by default, Dask starts
        workers on this machine.
    watch : callable, optional
        Called with the tables of the records while they are read.
    progress : callable, optional
        Called with the finished share of the training, from 0 to 1, if that share is public or
        released. The number of trainings of a private choice is neither.
    tell : callable, optional
        Called, before anything is spent, with each note on the records (such as a column with many
        clipped values) and on the request. The notes are for the owner only.
    confirm : callable, optional
        Called with a warning before a model is written that does not beat the base rate on the
        hold-out. If it returns False, nothing is written, and the price stays spent.

    Returns
    -------
    Released

    Raises
    ------
    DatasetError, SeedError, ReleaseError
        If the dataset can't be read, the seed does not suit it, the request is not possible, or the
        budget can't pay. Then nothing is trained, and nothing is spent. Also ReleaseError if
        training fails; then the price is spent.
    WriteError
        If the disk has no room for the ledger or the model. Then nothing is trained, and nothing
        is spent.
    KeyboardInterrupt
        If the user stops the release. The message says whether the price is spent.
    """
    # Checks that cost nothing: request, budget, folders and data.
    description = datasets.describe(request.dataset)
    request = request.of(description)
    if is_choice(request.learner):
        request = choice(request, description).request
    estimator = check(request, description, large_delta)
    holdout.check(request, description)
    records = description.records_name
    place = _check_seed(seed, description)
    budget = budget_ledger.budget_of(records)
    price = request.price(secret=isinstance(place, Path))
    home = RELEASES / records
    ledger = BudgetLedger(home)
    unfinished = None
    if resume:
        unfinished = ledger.find_unfinished(request.learner, request.parameters, price)
    else:
        ledger.check(budget, price, large_delta)
    _check_output(output, home)
    open_parts = _check_engine(description, engine, scheduler)
    data = _load_data(description, watch)
    if tell is not None:
        for note in datasets.data_notes({**vars(data), "domain": data.domain.to_dict()}):
            tell(note)
    digests = {data.checksum, *data.sources.values()}
    places = holdout.read_places(data, description, watch) if request.holdout else None
    parts = None
    if places is not None and request.relation != ADD_REMOVE:
        parts = holdout.split(places, request)
    n_train = data.n_rows if parts is None else len(parts.train)
    remark = rehearse(request, description, estimator, n_train)
    facts = _collect_facts(request, data)

    token = secrets.token_hex(32) if isinstance(place, Path) else ""
    if unfinished is not None:
        token = unfinished.facts["token"]
    entry = None
    try:
        # Reserve the price: from here on it is spent.
        with guard(ledger, description, digests, output):
            if unfinished is None:
                ledger.check(budget, price, large_delta)
            # Make a new seed only after these checks: a refused release must leave no file.
            run_seed = place if isinstance(place, int) else seeds.read_or_make(place)
            facts |= {"seed": seeds.public_name(run_seed), "token": token}
            if tell is not None and remark:
                tell(remark)
            if unfinished is None:
                entry = ledger.reserve(budget, price, facts, large_delta)
            else:
                entry = ledger.resume(unfinished, facts)
        # Always make the numbered folder: if the ledger is lost, it shows that a release began.
        (home / str(entry.number)).mkdir(mode=0o700, exist_ok=True)
        # Read the ledger only now: if this release is resumed, others may have begun since its
        # first attempt.
        others = tuple(past.price for past in ledger.releases() if past.number != entry.number)

        identity = (request, data.checksum, run_seed, entry.number, token)
        streams = {use: _make_stream(use, *identity) for use in ("release", "split", "hold-out")}
        curator = Curator(streams["release"], watch=progress)
        curator.report(0.0)
        if places is not None and parts is None:
            parts = holdout.split(places, request, streams["split"])
        learner = _train(estimator, data, parts, curator, open_parts)
        stated = learner.privacy_.of_persons(request.at_most)
        _check_statement(request, stated)
        statement = stated if isinstance(run_seed, SecretSeed) else known_seed_statement(stated)
        accuracy = judgement = None
        if description.public_benchmark and data.y_test is not None:
            share = float((learner.predict(data.X_test) == data.y_test).mean())
            accuracy = Accuracy(share, math.sqrt(share * (1 - share) / len(data.y_test)))
        if parts is not None:
            held = data.rows(parts.held)
            judgement = holdout.ask(learner, *held, request, Curator(streams["hold-out"]))
            _check_worth(judgement, tell, confirm)
        # Take the label from the description: data that an earlier version encoded lack the
        # spellings of the classes.
        domain = dataclasses.replace(data.domain, label=description.domain.label)
        learner, domain = learner._on_groups(domain)
        folder = output or home / str(entry.number)
        released = Released(
            request,
            description,
            domain,
            dataclasses.replace(entry, price=dataclasses.replace(entry.price, delta=stated.delta)),
            others,
            budget,
            learner,
            statement,
            run_seed,
            accuracy,
            judgement,
            n_train,
            data.n_rows - n_train,
            folder,
            ledger.path,
        )
        with budget_ledger.lock_releases(RELEASES):
            # Another release may have written to the same folder since the first check.
            _check_free(output, home)
            end = {"folder": str(folder), "model": _write(released), "delta": stated.delta}
        if is_choice(request.learner):
            end["kept"] = released.learner_name
    except BaseException as error:
        if entry is not None:
            # The price stays spent: the failure may depend on a record, and others may see the
            # failure.
            # If the ledger can't be written now, the release stays `reserved`, and so also spent.
            with contextlib.suppress(WriteError):
                ledger.close(entry, budget_ledger.FAILED, {"error": type(error).__name__})
        if entry is None and not ledger.has_token(token):
            raise
        spent = _explain_spent(error, request.learner, ledger.path)
        if spent is None:
            raise
        raise spent from error
    try:
        ledger.close(entry, budget_ledger.DONE, end)
    except (WriteError, KeyboardInterrupt) as error:
        kind = ReleaseError if isinstance(error, WriteError) else KeyboardInterrupt
        raise kind(
            f"{str(error) or 'stopped.'} (The ledger, {ledger.path}, counts this release as spent "
            f"since it began. Its model and card are complete, in {released.folder}; another try "
            "would be another release.)"
        ) from error
    return released


def _explain_spent(error: BaseException, learner: str, ledger: Path) -> BaseException | None:
    """Return an error like `error` whose message adds that the price is spent.

    Returns None if `error` is of an unexpected type.
    """
    counts = f"The ledger, {ledger}, counts this release as spent"
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt(f"stopped. {counts}: it had begun. {ANOTHER_TRY}")
    if isinstance(error, (PartError, ReleaseError, OSError)):
        return ReleaseError(f"{error} ({counts}: it had begun. {ANOTHER_TRY}.)")
    if isinstance(error, (ValueError, ArithmeticError, models.ModelError)):
        return ReleaseError(
            f"{learner} could not be trained: {error} ({counts}, as the failure may depend on the "
            "records.)"
        )
    return None


# Checks at no cost -----------------------------------------------------------------


def _check_seed(seed: int | str | None, description: Description) -> int | Path:
    """Check a seed; return a public seed as a number, or the path of a secret one.

    The file of a secret seed may not exist yet.
    """
    place = seeds.path_of(description.records_name) if seed is None else seeds.place_of(seed)
    if isinstance(place, int):
        seeds.check(place, description.name, description.public_benchmark)
    else:
        seeds.check_secret(place)
    return place


def _check_output(output: Path | None, home: Path) -> None:
    """Raise ReleaseError or WriteError if model and card can't be written without overwriting."""
    folder = output if output is not None else home
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"the folder {folder} can't be made: {error.strerror}") from None
    check_room(folder, ROOM)
    _check_free(output, home)


def _check_free(output: Path | None, home: Path) -> None:
    """Raise ReleaseError if the folder `output` already has the files of a release."""
    paths = [output / name for name in (MODEL, CARD, PAGE)] if output else []
    for path in filter(Path.exists, paths):
        raise ReleaseError(
            f"{path} exists already, from an earlier release: name another folder "
            f"(--output), or leave it out for a new one below {home}"
        )


def _check_engine(
    description: Description, engine: str, scheduler: str | None
) -> Callable[[], AbstractContextManager[Engine]]:
    """Try to open the engine for partitioned records; return a function that opens it again.

    Without partitioned records, the engine is the local one. Raises ReleaseError if the engine
    can't be opened.
    """
    if not description.part_rows:
        engine, scheduler = LOCAL, None
    open_parts = partial(open_engine, engine or (DASK if scheduler else LOCAL), scheduler)
    try:
        with open_parts():
            return open_parts
    except PartError as error:
        raise ReleaseError(f"{error}. Nothing was trained") from None


def _load_data(
    description: Description, watch: Callable[[RawTable], None] | None
) -> Dataset | PartedDataset:
    """Read the encoded data if they are current; encode the raw data otherwise."""
    folder = CODED / description.name
    if datasets.is_current(folder):
        return datasets.read_coded(folder)
    if description.part_rows:
        return datasets.prepare(description.name, folder, watch)
    return datasets.load(description.name, watch=watch)


# Training --------------------------------------------------------------------------


def _collect_facts(request: Request, data: Dataset | PartedDataset) -> dict[str, Any]:
    """Return what the ledger stores about a release, apart from its price, seed and token."""
    return {
        "dataset": request.dataset,
        "learner": request.learner,
        "version": request.entry.run_version,
        "parameters": dict(request.parameters),
        **({} if request.unit is None else {"at_most": request.unit.at_most}),
        # Store the ε of the model, too: the ε of the price is infinite if the seed is public.
        "model_epsilon": request.epsilon,
        "holdout": {"share": request.holdout, "query": holdout.WHAT} if request.holdout else None,
        "checksum": data.checksum,
        "sources": dict(data.sources),
    }


def _make_stream(
    use: str, request: Request, checksum: str, seed: Seed, number: int, token: str
) -> np.random.Generator:
    """Return a random stream of a release for a use, such as ``release`` or ``split``.

    Two models with the same noise and different ε would reveal records, so no two releases may use
    the same stream, even if a ledger is lost. The stream therefore depends on the complete request,
    the checksum of the data, the number of the release, the seed and a random token.
    """
    key = {
        "for": use,
        "release": number,
        "token": token,
        "dataset": request.dataset,
        "checksum": checksum,
        "learner": request.learner,
        "version": request.entry.run_version,
        "parameters": {**request.estimator_parameters, "calibration": STORED},
        "neighbours": request.relation,
        "seed": seeds.public_name(seed),
    }
    return seeds.generator(seed, canonical.digest(key))


def _train(
    estimator: Any,
    data: Dataset | PartedDataset,
    parts: holdout.Parts | None,
    curator: Curator,
    open_parts: Callable[[], AbstractContextManager[Engine]],
) -> Any:
    """Train on all records, or on all except the hold-out; return the fitted learner."""
    if isinstance(data, PartedDataset):
        with open_parts() as engine:
            records = PartedRecords(data.parts, np.array(data.domain.n_bins))
            if parts is not None:
                records = data.select(parts.train)
            records = dataclasses.replace(records, engine=engine)
            return estimator.fit_records(records, [{}], [curator])[0]
    X, y = (data.X, data.y) if parts is None else data.rows(parts.train)
    return estimator.fit_records(distinct_records(data.domain, X, y), [{}], [curator])[0]


def _check_worth(
    judgement: Judgement,
    tell: Callable[[str], None] | None,
    confirm: Callable[[str], bool] | None,
) -> None:
    """Warn if the hold-out does not show that the model is better than the base rate.

    Raises ReleaseError if `confirm` declines the model, which is not written yet.
    """
    if judgement.better == YES:
        return
    warning = (
        "the hold-out shows that the model is worse than the base rate, which says the same of all"
        if judgement.better == NO
        else "whether the model is better than the base rate, which says the same of all, cannot "
        "be told from the hold-out"
    )
    if tell is not None:
        tell(warning)
    if confirm is not None and not confirm(warning):
        raise ReleaseError("declined: no model was written")


# Writing ---------------------------------------------------------------------------


def _check_statement(request: Request, statement: PrivacyStatement) -> None:
    """Raise ReleaseError if a statement guarantees less than the request, or is not proved."""
    slack = 1 + budget_ledger.TOLERANCE
    if (
        statement.epsilon > request.epsilon * slack
        or statement.delta > request.delta * slack
        or statement.neighbours != request.relation
        or statement.status not in KNOWN
    ):
        raise ReleaseError(
            f"the guarantee of {request.learner} must be the requested one; got: {statement}"
        )


def known_seed_statement(statement: PrivacyStatement) -> PrivacyStatement:
    """Return the statement that the model has if its seed is public: ε is infinite."""
    return dataclasses.replace(
        PrivacyStatement.not_private(statement.learner),
        neighbours=statement.neighbours,
        calibration=statement.calibration,
        composition=NONE,
        status=REFUTED,
        caveat=KNOWN_SEED,
        proved_epsilon=math.inf,
    )


def _write(released: Released) -> str:
    """Write model and card; return the SHA-256 of the model file, in hex."""
    path = released.path(MODEL)
    models.save(
        path,
        released.learner,
        released.domain,
        parser=released.description.parser,
        statement=released.statement,
        dataset=released.description.title or released.request.dataset,
        notes={"release": released.release.number, "about": card.ABOUT},
    )
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    page = card.card(released, checksum)
    replace_text(released.path(CARD), page.markdown())
    replace_text(released.path(PAGE), page.html())
    return checksum
