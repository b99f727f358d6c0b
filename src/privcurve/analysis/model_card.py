"""A model as a card: its votes, its accuracy and what it guarantees (thesis, Table 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

CARD_COLUMNS = ["votes", "condition"]
NO_VOTES: list[tuple[int, str | None]] = [(0, None)]
VOTES_COLUMNS = ["calibration", "epsilon", "repeat", "accuracy", "votes", "condition"]


def card(votes: Sequence[tuple[int, str]]) -> pd.DataFrame:
    """Give a model's votes as a table, the heaviest first, then votes for before votes against.

    Parameters
    ----------
    votes : sequence of (votes, condition)

    Returns
    -------
    DataFrame
    """
    ordered = sorted(votes, key=lambda vote: (-abs(vote[0]), -vote[0]))
    return pd.DataFrame(ordered, columns=CARD_COLUMNS)


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the card with signs on the votes."""
    signed = [f"{votes:+d}" for votes in frame["votes"]]
    return pd.DataFrame({"votes": signed, "condition": frame["condition"]})


def heading(method: str, dataset: str, epsilon: float, accuracy: float | None) -> tuple[str, str]:
    """Give the two lines of the card's heading.

    Parameters
    ----------
    method : str
        Its title.
    dataset : str
        Its title.
    epsilon : float
    accuracy : float or None
        On the test part; None if the dataset has none.

    Returns
    -------
    tuple of str
    """
    scored = "no test part" if accuracy is None else f"test accuracy {accuracy:.3f}"
    return f"{method}, ε = {epsilon:g}", f"{dataset}: {scored}"


def notes(
    positive: str, setting: str, statement: str, *, trees: bool, tested: bool, left_out: int = 0
) -> tuple[str, ...]:
    """Give the notes below the card: how to read it, and the privacy statement.

    Parameters
    ----------
    positive : str
        Name of the positive label.
    setting : str
        The hyperparameters.
    statement : str
        The model's privacy statement in words.
    trees : bool
        Whether conditions are leaves of trees, which are silent where they do not hold.
    tested : bool
        Whether the dataset has a test part.
    left_out : int
        Conditions that the figure does not show.

    Returns
    -------
    tuple of str
    """
    silent = (
        "one that does not hold adds nothing" if trees else "one that does not hold subtracts them"
    )
    reading = f"A condition that holds adds its votes, {silent}; a sum above 0 predicts {positive}."
    scored = (
        "The test accuracy is measured on records that were not used in training; the statement "
        "does not cover them."
        if tested
        else "The dataset has no test part: all of its records train the model, and none are left "
        "to score it."
    )
    shown = [f"The figure leaves out the {left_out} lightest conditions."] if left_out else []
    return (
        reading,
        statement,
        f"Setting: {setting}, selected by cross-validation, which is not private.",
        scored,
        *shown,
    )


def votes_frame(
    calibration: str,
    epsilon: float,
    models: Sequence[tuple[int, float, Sequence[tuple[int, str]]]],
) -> pd.DataFrame:
    """Give the votes of several models, tidy.

    Models of the same records: their ε add up, which no statement of one of them says.

    Parameters
    ----------
    calibration : str
    epsilon : float
    models : sequence of (repeat, accuracy, votes)

    Returns
    -------
    DataFrame
        One row a vote of a model. A model without votes has one row without condition.
    """
    rows = [
        (calibration, epsilon, repeat, accuracy, *vote)
        for repeat, accuracy, votes in models
        for vote in (votes or NO_VOTES)
    ]
    return pd.DataFrame(rows, columns=VOTES_COLUMNS)
