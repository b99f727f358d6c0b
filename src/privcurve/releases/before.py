"""What is found out before anything is spent: δ in records, room and folders, a rehearsal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from privcurve.coding import class_labels, code_type
from privcurve.datasets import Description, Domain
from privcurve.files import check_room
from privcurve.models.document import document
from privcurve.models.errors import ModelError
from privcurve.privacy import budget as words
from privcurve.releases.asked import CARD, MODEL, PAGE, Asked, Released
from privcurve.releases.book import Book
from privcurve.releases.errors import ReleaseError
from privcurve.releases.prices import TOLERANCE

# In bytes: more than most models and their cards take.
ROOM = 2**20

# A delta of less than this share of one over the number of records calls for no warning.
SMALL_SHARE = 0.1

# Distinct records that are made up for a rehearsal, and how many it has at most.
MADE_UP = 64
MOST_MADE_UP = 100_000


# δ ---------------------------------------------------------------------------------


def public_number(asked: Asked, description: Description) -> int | None:
    """Return how many records there are, as far as that is public; None if nothing is known.

    For ``add-remove`` neighbours the number is not public, and a refusal that went by it would
    tell of it: the estimate stands for it that such a learner is given.
    """
    if asked.relation != words.ADD_REMOVE:
        return description.n_rows
    estimate = asked.parameters.get("n_estimate")
    return None if estimate is None else int(estimate)


def check_delta(asked: Asked, description: Description) -> None:
    """Refuse a δ by which a mechanism may show whole records: one over their number, or more.

    Where no number of records is public two are assumed, the fewest that there can be.
    """
    n = public_number(asked, description)
    if asked.delta * (n or 2) >= 1:
        raise ReleaseError(
            f"{in_records(asked.delta, n, asked.relation)}. Give a delta below "
            f"{SMALL_SHARE / (n or 2):.2g}; or, if that is meant, --allow-large-delta. Nothing was "
            "trained."
        )


def in_records(delta: float, n: int | None, neighbours: str) -> str:
    """Say what a δ means for so many records; None: nobody may know how many there are."""
    said = (
        f"delta = {delta:g}: whatever epsilon is, a mechanism of this delta may show each record "
        "whole with that probability"
    )
    if n is None:
        return f"{said}; it belongs well below one over their number, which is not public"
    about = "about " if neighbours == words.ADD_REMOVE else ""
    return f"{said}, which of {about}{n:,} records are {delta * n:.2g} in the mean"


def deltas(released: Released) -> list[tuple[str, bool]]:
    """Return what δ means, of the release alone and of all, and whether that is a warning.

    Returns
    -------
    list of (str, bool)
        Nothing of releases without δ, or whose ε is infinite; the second one where earlier
        releases had one.
    """
    if not released.statement.private:
        return []
    n = public_number(released.asked, released.description)
    own = released.price
    (together,) = [one for one in released.together if one.neighbours == own.neighbours]
    said = []
    for who, delta in (("", own.delta), ("All releases together have ", together.delta)):
        if delta > (own.delta if who else 0):
            # 1e-3 of 100 records is a tenth, whatever its binary form is.
            large = n is None or delta * n >= SMALL_SHARE * (1 - TOLERANCE)
            sentence = who + in_records(delta, n, own.neighbours) + "."
            said.append((sentence[0].upper() + sentence[1:], large))
    return said


# Folders ---------------------------------------------------------------------------


def check_output(output: Path | None, home: Path) -> None:
    """Check that the files of a release can be written, and are written over nothing."""
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
            f"(--output), or leave it out for one of its own below {home}"
        )


def check_numbers(home: Path, book: Book, output: Path | None) -> None:
    """Refuse a ledger that does not know of a release whose folder is there, whatever is in it.

    Parameters
    ----------
    home : Path
        Of the ledger.
    book : Book
    output : Path or None
        The folder that was asked for, which may have a number for its name.

    Raises
    ------
    ReleaseError
    """
    known = book.releases()
    folders = [one.facts["folder"] for one in known if "folder" in one.facts]
    named = {Path(folder).resolve() for folder in (*folders, *([output] if output else []))}
    for path in sorted(home.glob("*/"), key=lambda path: (len(path.name), path.name)):
        number = int(path.name) if path.name.isdecimal() else 0
        if number > len(known) and path.resolve() not in named:
            model = path / MODEL
            raise ReleaseError(
                f"{model if model.exists() else path} is there, but the ledger, {book.path}, does "
                "not know of it: restore the ledger, without which what is spent can't be known"
            )


# Rehearsal -------------------------------------------------------------------------


def rehearse(asked: Asked, description: Description, template: Any) -> None:
    """Train on made-up records, so that noise that can't be had is noticed before it is paid for.

    Noise is calibrated by public facts alone. So whether there is any for ε, δ and settings shows
    on any records, as many as there are (of a number that is unknown, few; of a large one, some),
    and tells nothing of the holder's.
    """
    n = min(public_number(asked, description) or MADE_UP, MOST_MADE_UP)
    X, y, counts = made_up(description.domain, n)
    rng = np.random.Generator(np.random.PCG64(0))
    try:
        with np.errstate(all="ignore"):
            (learner,) = template.fit_many(X, y, [{}], [rng], counts)
            document(learner, description.domain)
    except (ValueError, ArithmeticError, ModelError) as error:
        delta = f", delta = {asked.delta:g}" if asked.delta else ""
        raise ReleaseError(
            f"{asked.learner} can't be trained with epsilon = {asked.epsilon:g}{delta} and these "
            f"settings, whatever the records are ({error}). Nothing was trained on them, and "
            "nothing is spent. Take another epsilon or delta, or other settings."
        ) from None


def made_up(domain: Domain, n: int) -> tuple[Any, Any, Any]:
    """Make up coded records of a domain, and how often each is there; n in all."""
    n_distinct = min(n, MADE_UP)
    rows = np.arange(n_distinct)
    X = np.stack([rows % width for width in domain.n_bins], axis=1).astype(code_type(domain.n_bins))
    labels = np.array(class_labels(domain.n_classes))
    counts = np.full(n_distinct, n // n_distinct, dtype=np.int64)
    counts[: n % n_distinct] += 1
    return X, labels[rows % len(labels)].astype(np.int8), counts
