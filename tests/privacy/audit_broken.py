"""Broken learners: mistakes that an implementation may make, put in by a patch.

Each function takes pytest's `monkeypatch` and breaks one family of learners.
"""

import numpy as np

from privcurve.kernels.lazybb_rules import count_votes, vote_table
from privcurve.learners import one_rule
from privcurve.learners.base import CodedClassifier
from privcurve.learners.voting import VotingClassifier
from privcurve.privacy.curator import Curator


def same_numbers_in_all_rounds(patch):
    """1-rules: noise is drawn once and used again and again."""
    train = one_rule.OneRules.train

    class Once:
        def __init__(self, curator):
            self.curator = curator

        def noise(self, calls, shape):
            drawn = self.curator.noise(calls[:1], (1, *shape[1:]))
            return np.broadcast_to(drawn, shape).copy()

    patch.setattr(
        one_rule.OneRules,
        "train",
        lambda self, rows, plan, curator, begin=None: train(self, rows, plan, Once(curator), begin),
    )


def stops_when_all_are_right(patch):
    """1-rules: boosting ends at a training error of 0."""
    adopt = VotingClassifier._adopt

    def fit(self, learners, records, curators):
        codes, signs = records.codes, records.labels
        starts = np.concatenate([[0], np.cumsum(self.n_bins_)])

        def adopted(learner, picks, n, statement):
            for t in range(1, len(picks)):
                votes = count_votes(codes, starts, *vote_table(picks[:t], int(starts[-1])))
                if ((votes > 0) == (signs > 0)).all():
                    picks = picks[:t]
                    break
            adopt(learner, picks, n, statement)

        patch.setattr(VotingClassifier, "_adopt", adopted)
        return original(self, learners, records, curators)

    original = VotingClassifier._fit_batch
    patch.setattr(VotingClassifier, "_fit_batch", fit)


def counts_distinct_rows(patch):
    """1-rules: n is taken as three times the number of distinct rows."""
    original = VotingClassifier._fit_batch

    def fit(self, learners, records, curators):
        threefold = records._replace(counts=np.full(len(records.counts), 3))
        return original(self, learners, threefold, curators)

    patch.setattr(VotingClassifier, "_fit_batch", fit)


def empty_leaves_say_nothing(patch):
    """Trees: a leaf without records has the label 0."""
    original = VotingClassifier._fit_batch

    def fit(self, learners, records, curators):
        original(self, learners, records, curators)
        codes = records.codes
        for learner in learners:
            splits, children, labels = learner.model_.forest
            columns, values = learner.model_.columns, learner.model_.values
            for tree in range(len(splits)):
                reached = np.zeros(splits.shape[1], dtype=bool)
                for row in codes:
                    node = 0
                    while children[tree, node]:
                        b = splits[tree, node]
                        node = children[tree, node] + int(row[columns[b]] == values[b])
                    reached[node] = True
                labels[tree, ~reached] = 0

    patch.setattr(VotingClassifier, "_fit_batch", fit)


def _changed_laplace(patch, change):
    def numbers(self, call, exact):
        return exact + call.scale * change(self.coins.laplace(size=exact.shape))

    patch.setattr(Curator, "_numbers", numbers)


def one_number_for_two_leaves(patch):
    """DPBoost: all leaves of a tree get the same Laplace number."""
    _changed_laplace(patch, lambda drawn: np.full_like(drawn, drawn.flat[0]))


def noise_of_single_precision(patch):
    """DPBoost: Laplace numbers are made as float32."""
    _changed_laplace(patch, lambda drawn: drawn.astype(np.float32).astype(np.float64))


def exact_counts_on_the_model(patch, learner):
    """Any learner: how many positive records there are is left on the model."""
    fit = learner._fit_batch

    def fitted(self, learners, records, curators):
        fit(self, learners, records, curators)
        for model in learners:
            model.n_positive_ = int(records.counts[records.labels > 0].sum())

    patch.setattr(learner, "_fit_batch", fitted)
    assert issubclass(learner, CodedClassifier)
