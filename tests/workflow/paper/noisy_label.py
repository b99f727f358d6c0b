"""A learner of an imaginary paper: the exponential mechanism chooses one label."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from privcurve.learners.base import PrivateClassifier
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.budget import PROVED
from privcurve.privacy.mechanisms import EXPONENTIAL
from privcurve.privacy.noise import Announced

ENTRY = LearnerEntry(
    name="noisy_label",
    path="NoisyLabelClassifier",
    version=1,
    title="Noisy label",
    calibrations=(PROVED,),
    approximate=False,
    parameters={"caution": Parameter(1.0, float, low=0, high=1, open_low=True)},
    seconds=lambda setting, n_rows, n_columns: 1e-3,
)


def claims():
    """Return the audit's claims: every pair of tiny neighbours, exactly."""
    from privcurve.audit.attacks.pairs import two_columns
    from privcurve.audit.claim import Claim

    yield Claim(
        "noisy_label", PROVED, 1.0, two_columns, setting={"caution": 1.0},
        distribution=label_distribution,
    )  # fmt: skip


def label_distribution(learner, side):
    log_odds = learner.epsilon * learner.caution * int((side.labels * side.counts).sum()) / 2
    return np.array([expit(log_odds), expit(-log_odds)])


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyLabelClassifier(PrivateClassifier):
    """Predict one label for all records: the majority's, with odds of exp(ε · caution · gap/2)."""

    _learner = "noisy_label"

    caution: float = 1.0

    def _calls(self, n):
        # A label's score is its number of records; a record changes one score. Less caution, more
        # noise.
        score_range = 2.0 / self.caution
        return [Announced("the label", score_range=score_range, source="this file", by=EXPONENTIAL)]

    def _release(self, records, curator):
        signs = records.labels * records.counts
        scores = [np.maximum(signs, 0).sum(), np.maximum(-signs, 0).sum()]
        self.n_features_used_ = 0
        self.label_ = (1.0, -1.0)[curator.choose("the label", scores)]

    def _scores(self, codes):
        return np.full(len(codes), self.label_)
