"""Measure the accuracy of two variants of BDPEα, which differ in the noise for a tree's factor β.

    PRIVCURVE_DATA=<mirror> python benchmarks/beta_noise.py [--dataset banknote]

Both variants are in §6 of the paper. In variant (i), the votes of a tree are multiplied by its
exact β, the products get noise, and the model uses β = 1. The noise is in proportion to an assumed
range of the products: 2M, which the paper assumes for votes, or α, which is their range as long as
all weights are ½. Neither noise is proved: a changed record changes β, and so the products in all
leaves, not only in one. In variant (ii), which is the learner `bdpe`, only the votes get noise, and
β is exact, as published.

For each variant and ε the program prints three numbers on the paper's 72 settings: the lowest
error, the median error, and the share of settings with an error of at most 0.20. Errors are means
over ten folds. The lowest error is optimistic, as the same folds also choose the setting.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from sklearn.model_selection import StratifiedKFold

from privcurve import datasets
from privcurve.coding import Floats
from privcurve.papers.boosted_dp.learners._m_alpha import link_of_leaves
from privcurve.papers.boosted_dp.learners.bdpe.classifier import BDPEClassifier
from privcurve.papers.boosted_dp.learners.bdpe.noise import OF_LINKS
from privcurve.privacy.curator import Curator

EPSILONS = (0.01, 0.1, 1.0, 10.0, 25.0)
GRID = list(itertools.product((2, 5, 10, 20), (1, 2, 3, 4, 5, 6), (0.1, 0.5, 0.9)))
CLAMP = 10.0


class WideProducts(BDPEClassifier):
    """Variant (i): the products β·h of factor and votes get noise for the range `width`."""

    width = 2 * CLAMP

    def _vote(
        self, t: int, positive: Floats, negative: Floats, weight_bound: float, curator: Curator
    ) -> tuple[Floats, float]:
        votes = np.clip(link_of_leaves(positive, negative, self.boost_alpha), -CLAMP, CLAMP)
        beta = self._leverage(votes, positive - negative, self.n_records_, CLAMP)
        call = curator.call(OF_LINKS.format(t + 1)).rescale(self.width / (2 * CLAMP))
        return np.clip(curator.numbers(call, beta * votes), -CLAMP, CLAMP), 1.0


class NarrowProducts(WideProducts):
    """Variant (i) with noise for the range α = 1 of the products."""

    width = 1.0


VARIANTS = {
    "(i), for a range of 2M": WideProducts,
    "(i), for a range of α": NarrowProducts,
    "(ii), as published": BDPEClassifier,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="banknote")
    options = parser.parse_args()
    data = datasets.load(options.dataset)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(data.X, data.y))
    majority = min((data.y > 0).mean(), (data.y < 0).mean())
    print(f"{data.name}: {len(data.y)} records; the majority class errs on {majority:.3f}")
    print("| variant | ε | least error | median | share up to 0.20 |")
    print("|---|---|---|---|---|")
    for name, learner in VARIANTS.items():
        for place, epsilon in enumerate(EPSILONS):
            rng = np.random.default_rng([2026, place])
            errors = [error(learner, data, folds, epsilon, *one, rng) for one in GRID]
            share = np.mean(np.array(errors) <= 0.2)
            cells = f"{min(errors):.3f} | {np.median(errors):.3f} | {share:.2f}"
            print(f"| {name} | {epsilon:g} | {cells} |", flush=True)


def error(
    learner: type[BDPEClassifier],
    data: datasets.Dataset,
    folds: list[tuple[np.ndarray, np.ndarray]],
    epsilon: float,
    n_trees: int,
    depth: int,
    tree_share: float,
    rng: np.random.Generator,
) -> float:
    """Return the mean error of a variant over the folds, with the given hyperparameters."""
    errors = []
    for train, test in folds:
        model = learner(
            n_trees=n_trees, depth=depth, tree_share=tree_share, epsilon=epsilon,
            calibration="published", calibrate_alpha="exact", alpha=1.0, boost_alpha=1.0,
            clamp=CLAMP, n_bins=data.domain.n_bins, random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        model.fit(data.X[train], data.y[train])
        errors.append(float((model.predict(data.X[test]) != data.y[test]).mean()))
    return float(np.mean(errors))


if __name__ == "__main__":
    main()
