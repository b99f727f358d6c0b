"""A learner of a paper that does not exist: the exponential mechanism chooses one label."""

import numpy as np
from scipy.special import expit

from privcurve.learners.base import CodedClassifier
from privcurve.learners.entry import LearnerEntry, Parameter
from privcurve.privacy.accountants.compose import BASIC
from privcurve.privacy.budget import CERTIFIED, REPLACE_ONE
from privcurve.privacy.ledger import LedgerEntry, PrivacyStatement

ENTRY = LearnerEntry(
    name="noisy_label",
    path="NoisyLabelClassifier",
    version=1,
    title="Noisy label",
    calibrations=(CERTIFIED,),
    approximate=False,
    parameters={"caution": Parameter(1.0, float, low=0, high=1, open_low=True)},
    seconds=lambda setting, n_rows, n_columns: 1e-3,
)


def claims():
    """What the audit tries: every pair of tiny neighbours, exactly."""
    from privcurve.audit.attacks.pairs import two_columns
    from privcurve.audit.claim import Claim

    yield Claim(
        "noisy_label", CERTIFIED, 1.0, two_columns, setting={"caution": 1.0},
        distribution=label_distribution,
    )  # fmt: skip


def label_distribution(learner, side):
    log_odds = learner.log_odds(int((side.labels * side.counts).sum()))
    return np.array([expit(log_odds), expit(-log_odds)])


class NoisyLabelClassifier(CodedClassifier):
    """Gives all records one label; that of the majority with odds of exp(caution · ε · gap/2)."""

    _learner = "noisy_label"

    def __init__(
        self,
        epsilon=1.0,
        delta=0.0,
        calibration=CERTIFIED,
        caution=1.0,
        n_bins=None,
        bounds=None,
        classes=None,
        random_state=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.caution = caution
        self.n_bins = n_bins
        self.bounds = bounds
        self.classes = classes
        self.random_state = random_state

    def log_odds(self, gap):
        """Of a positive label, where so many more records are positive than negative."""
        return (
            np.sign(gap) * np.inf
            if np.isinf(self.epsilon)
            else self.caution * self.epsilon * gap / 2
        )

    def _fit_one(self, records, curator):
        chance = expit(self.log_odds(int((records.labels * records.counts).sum())))
        self.label_ = 1.0 if curator.coins.random() < chance else -1.0
        self.n_features_used_ = 0
        if np.isinf(self.epsilon):
            return PrivacyStatement.not_private(self._learner)
        spent = self.caution * self.epsilon
        call = LedgerEntry("exponential", "the label", spent / 2, 2.0, spent, source="this file")
        return PrivacyStatement(
            self._learner, self.epsilon, 0.0, REPLACE_ONE, CERTIFIED, BASIC, (call,)
        )

    def _scores(self, codes):
        return np.full(len(codes), self.label_)
