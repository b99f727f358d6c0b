"""Which colour and marker a method has, in figures and on pages: light to import."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

# Okabe and Ito's palette, safe for colour-blind readers, without its yellow (too light on
# white) and its black (kept for baselines), and with Tol's wine as a seventh. The order
# alternates dark and light, so that neighbours differ in grey too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

# A method looks the same in all figures: colour and marker by what a study calls it, or by the
# learner's name. What is not here gets its look by its name too (:func:`method_looks`).
LOOKS: Mapping[str, tuple[int, int]] = {
    "lazybb_1r": (0, 0),
    "lazybb": (0, 0),
    "lazybb_trees": (1, 1),
    "lazybb_trees_best": (1, 2),
    "lazybb_trees_rule": (1, 7),
    "lazybb_trees_tuned": (1, 3),
    "lazybb_topdown": (2, 2),
    "one_rule": (3, 3),
    "dp_lr": (4, 4),
    "dp_logistic_regression": (4, 4),
    "dpboost": (5, 5),
    "dp_bag": (6, 6),
    "dp_bagging": (6, 6),
    "topdown": (2, 7),
    "dp_ebm": (5, 7),
    "dpl_random_forest": (2, 3),
    "dpl_decision_tree": (3, 6),
    "brc": (6, 3),
    "brc_private": (1, 2),
    "brc_zero": (1, 0),
    "brc_em": (2, 6),
    "adaboost": (0, 5),
    "bfp": (0, 6),
    "bfp_private": (3, 1),
    "pate": (5, 0),
    "single": (0, 0),
    "noisy_counts": (3, 1),
    "local_rnm": (2, 2),
    "votes_local": (0, 0),
    "votes_sums": (4, 5),
    "histograms_local": (4, 1),
    "histograms_sums": (5, 3),
    "random_trees_local": (3, 6),
    "random_trees_sums": (6, 4),
    "votes_placed": (0, 4),
    "sums_placed": (5, 6),
    "published_single": (0, 6),
    "published_counts": (4, 7),
    "bdpe_oc": (3, 2),
    "bdpe": (3, 4),
    "bdpe_low": (1, 4),
    "bdpe_one": (2, 4),
    "bdpe_constant": (4, 0),
    "boost_oc": (0, 2),
    "boost_low": (1, 5),
    "boost_one": (3, 5),
    "rf_l": (5, 2),
    "rf_e": (6, 2),
    "tree_of_rules": (2, 0),
    "dp_forest": (2, 1),
    "random_trees": (6, 0),
    "privgam": (5, 1),
    "noisy_bayes": (3, 7),
    "noisy_majority": (2, 4),
    "linear_start": (4, 2),
    "rules_start": (0, 1),
    "bayes_start": (2, 5),
    "threshold": (0, 3),
    "linear": (1, 3),
    "table_5_1": (0, 7),
    "lower": (3, 0),
}


def method_looks(methods: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Give each method its colour and its marker.

    Both follow from the method's name. Of two methods of a figure whose names lead to the same
    colour, the second in the alphabet takes the next one that is free, if `LOOKS` has neither.

    Parameters
    ----------
    methods : iterable of str

    Returns
    -------
    dict of str to (colour, marker)
    """
    names = list(dict.fromkeys(methods))
    looks = {name: LOOKS[name] for name in names if name in LOOKS}
    for name in sorted(set(names) - set(looks)):
        taken = {colour for colour, _ in looks.values()}
        number = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16)
        order = [(number + i) % len(COLOURS) for i in range(len(COLOURS))]
        colour = next((one for one in order if one not in taken), order[0])
        looks[name] = colour, number // len(COLOURS) % len(MARKERS)
    return {name: (COLOURS[looks[name][0]], MARKERS[looks[name][1]]) for name in names}
