"""Deal records, and a seed, to each party: shared code of learners with several parties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from privcurve.coding import Codes, Ints, Records
from privcurve.kernels.holder_counts import Questions, list_questions
from privcurve.kernels.trees.form import bin_codes
from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entries.parameters import HolderParameters
from privcurve.learners.holders.holder import Holder, HolderRows, LocalHolder
from privcurve.learners.holders.in_parts import PartedHolder
from privcurve.learners.holders.placement import Draws, deal, draw_placement
from privcurve.learners.holders.sums import CENTRAL, LOCAL
from privcurve.learners.registry import entry
from privcurve.learners.shared.chances import LinkedClassifier
from privcurve.learners.shared.checks import ordered_columns
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import CLAIMED, REFUTED, PrivacyStatement
from privcurve.privacy.parts import PartedRecords
from privcurve.privacy.sealed import kernel


@dataclass(kw_only=True, eq=False, repr=False)
class PartyClassifier(LinkedClassifier, PrivateClassifier, HolderParameters):
    """Base of learners that deal the records to several parties."""

    ordered: Sequence[bool] | None = None

    def _trust(self) -> str:
        """Return the kind of trust, a constant of ``holders.sums``, e.g. ``secure_sum``."""
        raise NotImplementedError


def deal_to_holders(
    learner: PartyClassifier, records: Records | PartedRecords, curator: Curator
) -> tuple[list[Holder], Questions]:
    """Deal the records to parties; return the parties, and all questions that trees can ask.

    Each party has a curator with a seed of its own, so that the party's noise is the same in this
    process and on another machine. With central trust there is one party.
    """
    n_bins, n_classes = learner.n_bins_, len(learner.classes_)
    ordered = ordered_columns(learner._learner, learner.ordered, True, len(n_bins))
    questions = list_questions(n_bins, ordered)
    n_holders = 1 if learner._trust() == CENTRAL else int(learner.n_holders)
    coins = curator.coins
    doors = curator.party(n_holders)
    if isinstance(records, PartedRecords):
        return [cast(Holder, PartedHolder(records, n_classes, doors[0]))], questions
    placement = learner.placement
    draws = draw_placement(records.n, n_classes, n_holders, placement, coins)
    parts = _rows_of_parties(*records[:3], n_bins, n_holders, placement, draws)
    holders = [
        make_holder(rows, questions, n_classes, door)
        for rows, door in zip(parts, doors, strict=True)
    ]
    return holders, questions


@kernel(rows=0)
def _rows_of_parties(
    codes: Codes,
    classes: Ints,
    counts: Ints,
    n_bins: Ints,
    n_holders: int,
    placement: str,
    draws: Draws,
) -> list[HolderRows]:
    bins = bin_codes(codes, n_bins)
    parts = deal(codes, classes, counts, n_holders, placement, draws)
    return [HolderRows(bins[rows], classes[rows], of_rows) for rows, of_rows in parts]


def restate_dealt(
    learner: PartyClassifier, n_holders: int, statement: PrivacyStatement
) -> PrivacyStatement:
    """Weaken the statement of a fit if records were dealt to parties by their values.

    The proofs assume that a replaced record stays with its party. If its values determine the
    party, the record may move to another party and displace other records, so that the messages of
    several parties change, each at a cost of up to ε. If the server sees each message, the claim is
    then refuted; with secure sums it is unproved.
    """
    why = entry(learner._learner).parameters["placement"].unproved.get(learner.placement)
    if why is None or not statement.private or n_holders == 1:
        return statement
    seen = learner._trust() == LOCAL
    caveat = f"placement = {learner.placement!r}: {why}"
    caveat += " (parties that keep their own records are not concerned)"
    return replace(
        statement,
        status=REFUTED if seen else CLAIMED,
        caveat="; ".join(filter(None, (statement.caveat, caveat))),
        proved_epsilon=None,
    )


def make_holder(rows: HolderRows, questions: Questions, n_classes: int, door: Curator) -> Holder:
    """Return a party that runs in this process; a deployment replaces this function.

    In a private fit the rows are sealed. A replacement that sends them to another machine must
    open them by `open_values`.
    """
    return LocalHolder(rows, questions, n_classes, door)
