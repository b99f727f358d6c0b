"""Grow a tree of DPBoost in plain Python, and compute the exact probabilities of its questions."""

import itertools

import numpy as np

from privcurve.privacy.mechanisms import exponential_probabilities, permute_and_flip_probabilities


def gain(gradients, regularisation):
    """Return the gain S²/(n + λ) of one side of a split, from the gradients of its records."""
    return sum(gradients) ** 2 / (len(gradients) + regularisation) if len(gradients) else 0.0


def says_yes(code, b, thresholds):
    return code <= b if thresholds else code == b


def candidates(open_codes, thresholds):
    """Return the questions (column, b) that separate two possible bins.

    `open_codes` has, for each column, the set of bins that rows at the node can have.
    """
    return [
        (column, b)
        for column, codes in enumerate(open_codes)
        for b in sorted(codes)
        if 0 < sum(says_yes(code, b, thresholds) for code in codes) < len(codes)
    ]


def scores(rows, gradients, open_codes, thresholds, regularisation):
    """Return the candidate questions of a node, and the gain of each question."""
    questions = candidates(open_codes, thresholds)
    values = []
    for column, b in questions:
        yes = [says_yes(row[column], b, thresholds) for row in rows]
        sides = [[g for g, y in zip(gradients, yes, strict=True) if y is s] for s in (True, False)]
        values.append(sum(gain(side, regularisation) for side in sides))
    return questions, np.array(values)


def divided(rows, gradients, open_codes, split, thresholds):
    """Yield rows, gradients and possible bins of the yes child, then of the no child.

    Without a question (`split` is None), the yes child gets all rows.
    """
    for side in (True, False):
        if split is None:
            keep, codes = [side] * len(rows), open_codes
        else:
            column, b = split
            keep = [says_yes(row[column], b, thresholds) is side for row in rows]
            codes = list(open_codes)
            codes[column] = {c for c in codes[column] if says_yes(c, b, thresholds) is side}
        yield (
            [row for row, k in zip(rows, keep, strict=True) if k],
            [g for g, k in zip(gradients, keep, strict=True) if k],
            codes,
        )


def best_tree(rows, gradients, n_bins, depth, thresholds, regularisation):
    """Grow a tree without noise.

    Returns the best question of each node, level by level (the first one of several best
    questions); and a pair for each leaf: the sum of the gradients, and the number of records.
    """
    level = [(list(rows), list(gradients), [set(range(bins)) for bins in n_bins])]
    splits = []
    for _ in range(depth):
        children = []
        for part in level:
            questions, values = scores(*part, thresholds, regularisation)
            split = questions[int(np.argmax(values))] if questions else None
            splits.append(split)
            children += divided(*part, split, thresholds)
        level = children
    return splits, [(sum(part[1]), len(part[1])) for part in level]


def transcripts(rows, gradients, n_bins, depth, thresholds, regularisation, rate, exponential):
    """Return all trees that can result from noisy choices of questions.

    The keys are the questions of all nodes, level by level; the values are pairs: the probability
    of the tree, and the gradients in each leaf.
    """
    chances = exponential_probabilities if exponential else permute_and_flip_probabilities
    partial = {(): (1.0, [(list(rows), list(gradients), [set(range(b)) for b in n_bins])])}
    for _ in range(depth):
        grown = {}
        for splits, (chance, level) in partial.items():
            options = []
            for part in level:
                questions, values = scores(*part, thresholds, regularisation)
                if questions:
                    options.append(list(zip(questions, chances(values, rate), strict=True)))
                else:
                    options.append([(None, 1.0)])
            for choice in itertools.product(*options):
                children = []
                for part, (split, _) in zip(level, choice, strict=True):
                    children += divided(*part, split, thresholds)
                taken = tuple(split for split, _ in choice)
                grown[(*splits, *taken)] = chance * np.prod([p for _, p in choice]), children
        partial = grown
    return {k: (chance, [part[1] for part in level]) for k, (chance, level) in partial.items()}
