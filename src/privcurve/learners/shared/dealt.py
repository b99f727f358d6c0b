"""What learners of several parties share: records are dealt, each party gets a seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from privcurve.coding import Records
from privcurve.holders.holder import Holder, HolderRows, LocalHolder
from privcurve.holders.in_parts import PartedHolder
from privcurve.holders.placement import deal
from privcurve.holders.sums import CENTRAL, LOCAL
from privcurve.kernels.holder_counts import Questions
from privcurve.kernels.trees.form import bin_codes
from privcurve.learners.registry import entry
from privcurve.parts import PartedRecords
from privcurve.privacy.curator import Curator
from privcurve.privacy.ledger import NOT_PROVED, REFUTED, PrivacyStatement
from privcurve.privacy.sealed import open_values


class Dealing(Protocol):
    """What of a learner says how its records are dealt."""

    _learner: ClassVar[str]
    n_holders: int
    placement: str
    classes_: NDArray[Any]

    def _trust(self) -> str: ...


def deal_to_holders(
    learner: Dealing, questions: Questions, records: Records | PartedRecords, curator: Curator
) -> list[Holder]:
    """Deal records, and make a party of each part; a curator gets all of them.

    Each party has a seed of its own: what it draws does not depend on where it runs.
    """
    n_holders = 1 if learner._trust() == CENTRAL else int(learner.n_holders)
    n_classes = len(learner.classes_)
    coins = curator.coins
    doors = curator.party(n_holders)
    if isinstance(records, PartedRecords):
        return [cast(Holder, PartedHolder(records, n_classes, doors[0]))]
    codes, classes, counts, _ = open_values(tuple(records))
    parts = deal(codes, classes, counts, n_classes, n_holders, learner.placement, coins)
    bins = bin_codes(codes, np.diff(questions.starts))
    return [
        make_holder(HolderRows(bins[rows], classes[rows], of_rows), questions, n_classes, door)
        for (rows, of_rows), door in zip(parts, doors, strict=True)
    ]


def restate_dealt(
    learner: Dealing, n_holders: int, statement: PrivacyStatement
) -> PrivacyStatement:
    """Return what a statement is worth after `deal_to_holders`: records may have moved.

    Proofs are about a replaced record that stays with its party. Where records are dealt by
    their values it may move, and others with it: several parties' messages change, each by up to
    ε. That refutes a claim where single messages are seen; of secure sums nothing is proved.
    """
    why = entry(learner._learner).parameters["placement"].unproved.get(learner.placement)
    if why is None or not statement.private or n_holders == 1:
        return statement
    seen = learner._trust() == LOCAL
    caveat = f"placement = {learner.placement!r}: {why}"
    caveat += " (parties that keep their own records are not concerned)"
    return replace(
        statement,
        status=REFUTED if seen else NOT_PROVED,
        caveat="; ".join(filter(None, (statement.caveat, caveat))),
        proved_epsilon=None,
    )


def make_holder(rows: HolderRows, questions: Questions, n_classes: int, door: Curator) -> Holder:
    """Make a party in this process: what a deployment replaces."""
    return LocalHolder(rows, questions, n_classes, door)
