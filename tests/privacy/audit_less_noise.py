"""Too little noise, put in where noise is scaled."""

from dataclasses import replace

from privcurve.learners import distributed_topdown, one_rule, random_trees, tuned
from privcurve.learners.additive import residuals, rule
from privcurve.learners.trees import TreePlan
from privcurve.privacy.budget import ADD_REMOVE
from privcurve.privacy.calibration.privgam import CLIP, Budget, cells_l1
from privcurve.privacy.curator import Curator


def curator_with(patch, noise):
    """Divide all noise that a curator draws, whoever asks."""
    charge, standard = Curator._charge, Curator._noise

    def charged(self, call, again=False):
        return charge(self, call, again).scaled(noise)

    patch.setattr(Curator, "_charge", charged)
    patch.setattr(
        Curator, "_noise", lambda self, calls, shape: noise * standard(self, calls, shape)
    )


def calls_with(patch, noise):
    """Divide the scale that a learner itself sets its scores in relation to."""
    call = Curator.call
    patch.setattr(Curator, "call", lambda self, what: call(self, what).scaled(noise))


def additive_with(patch, noise):
    """Divide the noise of sums and of choices."""
    scale = Budget.on_grid
    patch.setattr(Budget, "on_grid", lambda self, *given: max(1, int(noise * scale(self, *given))))


def privgam_with(patch, mistake):
    """Make one of the mistakes that PrivGAM's constants are there to prevent."""
    shares = rule.greedy_shares
    if mistake == "noise for add-remove":
        patch.setattr(Budget, "sensitivity", lambda self: cells_l1(CLIP, ADD_REMOVE))
    elif mistake == "residuals without clip":
        patch.setattr(residuals, "CLIP", 1.0)
    else:
        assert mistake == "choices for nothing"
        patch.setattr(
            rule,
            "greedy_shares",
            lambda *given: (sum(shares(*given)), shares(*given)[1]),
        )


def holders_with(patch, noise):
    """Divide the noise of votes and histograms, of published messages, and of leaves."""
    levels = distributed_topdown.level_holders
    printed = distributed_topdown.published_holders
    leaves = random_trees.random_trees

    def of_levels(**setting):
        known = levels(**setting)
        return replace(known, ranges=known.ranges / noise, amounts=known.amounts / noise)

    def of_printed(**setting):
        known = printed(**setting)
        return replace(known, epsilon=known.epsilon / noise)

    def of_leaves(**setting):
        known = leaves(**setting)
        return replace(known, scale=noise * known.scale)

    patch.setattr(distributed_topdown, "level_holders", of_levels)
    patch.setattr(distributed_topdown, "published_holders", of_printed)
    patch.setattr(random_trees, "random_trees", of_leaves)


def tuned_with(patch, noise):
    """Divide the noise of what a run releases: of the training and of the score."""
    budget_of = tuned.budget_of

    def more(*arguments):
        known = budget_of(*arguments)
        power = 1 if known.pure else 2
        scale = max(1, int(noise * known.score_scale))
        return replace(known, training=known.training / noise**power, score_scale=scale)

    patch.setattr(tuned, "budget_of", more)


def one_rules_with(patch, noise):
    """Divide the noise of 1-rules."""
    calibrate = one_rule.lazybb_one_rule

    def calibrated(**setting):
        known = calibrate(**setting)
        return replace(known, rates=known.rates / noise)

    patch.setattr(one_rule, "lazybb_one_rule", calibrated)


def trees_with(patch, noise):
    """Divide the noise of trees: of splits, and of labels or rules."""
    make = TreePlan.make

    def made(**setting):
        plan = make(**setting)
        rates = plan.noise.rates / noise
        return replace(
            plan,
            noise=replace(plan.noise, rates=rates, label_rates=plan.noise.label_rates / noise),
        )

    patch.setattr(TreePlan, "make", staticmethod(made))


def lazybb_with(patch, noise):
    one_rules_with(patch, noise)
    trees_with(patch, noise)


def distributed_with(patch, noise):
    """Divide the noise of distributed trees; one machine's certified tree is that of TopDown."""
    holders_with(patch, noise)
    trees_with(patch, noise)


BREAK = {
    "one_rule": one_rules_with,
    "lazybb": lazybb_with,
    "topdown": trees_with,
    "dpboost": curator_with,
    "dp_bagging": calls_with,
    "dp_logistic_regression": curator_with,
    "brc": curator_with,
    "boosting_for_people": curator_with,
    "noisy_bayes": curator_with,
    "pate": curator_with,
    "bdpe": curator_with,
    "dp_forest": curator_with,
    "noisy_majority": curator_with,
    "distributed_topdown": distributed_with,
    "random_trees": holders_with,
    "privgam": additive_with,
    "tuned": tuned_with,
}
