"""Noise of PATE's answers with public columns, and the statement. Proofs: docs/partial.md, PATE."""

from __future__ import annotations

from privcurve.privacy.budget import PUBLISHED
from privcurve.privacy.ledger import PROVED, REFUTED, PrivacyStatement
from privcurve.privacy.noise import Announced, noise_of

SOURCE = "docs/partial.md, PATE"
NOT_OWN = "that no record that was trained on is asked about again, as predict does with its rows"
ASKED_AGAIN = (
    "records that were trained on were asked about again: equal answers show that their private "
    "columns are equal"
)
NOT_OBJECT = "the model object itself, which holds the teachers: what is protected is its answers"


def margins_l1(n_answers: int, n_teachers: int) -> float:
    """L1 sensitivity 2(Q − 1 + K) of all answers' margins n₊ − n₋.

    A changed record changes one teacher, and so Q − 1 other margins by 2 at most; its own
    margin asks all K teachers about other codes: 2K. Private-columns. Source: docs/partial.md,
    PATE (proved).

    Parameters
    ----------
    n_answers : int
        Q, answers about training records and scored rows.
    n_teachers : int
        K.
    """
    return 2.0 * (n_answers - 1 + n_teachers)


def pate_statement(
    *, n_answers: int, n_teachers: int, epsilon: float, calibration: str, public: tuple[int, ...]
) -> PrivacyStatement:
    """Calibrate PATE: the noise of each answer is in the ledger.

    Parameters
    ----------
    n_answers, n_teachers : int
        Q and K; public.
    epsilon : float
        May be infinite.
    calibration : str
        ``certified``: Lap(2(Q − 1 + K)/ε) on each margin. ``published``: Lap(2/ε), enough for
        a single answer about a row that no teacher was trained on.
    public : tuple of int

    Returns
    -------
    PrivacyStatement
        With one entry in its ledger, for all answers.
    """
    published = calibration == PUBLISHED
    whole = margins_l1(n_answers, n_teachers)
    bound = 2.0 if published else whole
    answers = Announced(
        ("one answer" if published else f"{n_answers} answers") + " of the teachers",
        l1=bound,
        source="Shen et al., §7" if published else SOURCE,
    )
    refuted = (
        "the noise is for one answer about a row that no teacher was trained on, but the answer "
        "about a training record asks all teachers about its own codes, and there are "
        f"{n_answers} answers (exact counterexample)"
    )
    return noise_of(
        "pate",
        [answers],
        epsilon=epsilon,
        calibration=calibration,
        public=public,
        assumptions=(f"that at most {n_answers} answers are given", NOT_OWN),
        exclusions=(NOT_OBJECT,),
        status=REFUTED if published else PROVED,
        caveat=refuted if published else "",
        proved_epsilon=epsilon * whole / bound if published else None,
    )
