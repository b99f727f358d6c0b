"""Functions that reduce the noise of each learner to a share, at the place where it is scaled."""

from dataclasses import replace

from privcurve.learners import one_rule, tuned
from privcurve.learners.additive import privgam
from privcurve.learners.trees import TreePlan
from privcurve.privacy.curator import Curator


def curator_with(patch, noise):
    """Reduce all noise that a curator draws."""
    charge, standard = Curator._charge, Curator._noise

    def charged(self, *given):
        return charge(self, *given).rescale(noise)

    patch.setattr(Curator, "_charge", charged)
    patch.setattr(
        Curator, "_noise", lambda self, calls, shape: noise * standard(self, calls, shape)
    )


def calls_with(patch, noise):
    """Reduce the scale that a learner itself compares its scores with."""
    call = Curator.call
    patch.setattr(Curator, "call", lambda self, what: call(self, what).rescale(noise))


def additive_with(patch, noise):
    """Reduce the integer noise, and skip the curator's comparison with the sensitivity of sums."""
    scale = privgam.grid_scale
    patch.setattr(privgam, "grid_scale", lambda *given: max(1, int(noise * scale(*given))))
    patch.setattr(Curator, "price", lambda self, call, exact: call)


def calibrated(owner, name, *rates):
    """Return a function that reduces the noise of a calibration: it divides the rates."""

    def less(patch, noise):
        calibrate = getattr(owner, name)

        def changed(**setting):
            own = calibrate(**setting)
            parts = {part: getattr(own, part) / noise for part in rates}
            return replace(own, **parts)

        patch.setattr(owner, name, changed)

    return less


def tuned_with(patch, noise):
    """Reduce the noise of the training and the score of each run."""
    budget_of = tuned.budget_of

    def more(*arguments):
        own = budget_of(*arguments)
        training = own.training / noise ** (1 if own.pure else 2)
        return replace(own, training=training, score_scale=max(1, int(noise * own.score_scale)))

    patch.setattr(tuned, "budget_of", more)


def trees_with(patch, noise):
    """Reduce the noise of splits, and of labels or rules."""
    make = TreePlan.make

    def made(**setting):
        plan = make(**setting)
        rates = {"rates": plan.noise.rates / noise, "label_rates": plan.noise.label_rates / noise}
        return replace(plan, noise=replace(plan.noise, **rates))

    patch.setattr(TreePlan, "make", staticmethod(made))


def all_of(*ways):
    def less(patch, noise):
        for way in ways:
            way(patch, noise)

    return less


ONE_RULES = calibrated(one_rule, "lazybb_one_rule", "rates")

BREAK = {
    "one_rule": ONE_RULES,
    "lazybb": all_of(ONE_RULES, trees_with),
    "topdown": trees_with,
    "dpboost": curator_with,
    "dp_bagging": calls_with,
    "dp_logistic_regression": curator_with,
    "dp_newton": curator_with,
    "dp_gradient_descent": curator_with,
    "boosted_adassp": curator_with,
    "dp_sgd": curator_with,
    "mst": curator_with,
    "aim": curator_with,
    "brc": curator_with,
    "boosting_for_people": curator_with,
    "noisy_bayes": curator_with,
    "pate": curator_with,
    "bdpe": curator_with,
    "dp_forest": curator_with,
    "noisy_majority": curator_with,
    # The curator compares the scale of a party with the ledger.
    "distributed_topdown": curator_with,
    "random_trees": curator_with,
    "privgam": additive_with,
    "tuned": tuned_with,
}
