"""Boost trees with the Mα-loss in plain Python, as a reference for tests.

A record is a triple (row, label, weight). A question is a pair (column, bin) and asks whether a
row's bin in the column is at most the given bin. With `restrict`, a node may ask only questions
that separate two bins which its rows can have.
"""

import itertools
import math


def bayes_weight(a, b, alpha):
    if a <= 0 or b <= 0:
        return 0.0
    return alpha * 2 * math.sqrt(a * b) + (1 - alpha) * 2 * min(a, b)


def link(q, alpha):
    sign = (q > 0.5) - (q < 0.5)
    return alpha * (2 * q - 1) / math.sqrt(q * (1 - q)) + 2 * (1 - alpha) * sign


def inverse(z, alpha):
    beyond = max(abs(z) / 2 - (1 - alpha), 0.0)
    share = beyond / math.hypot(alpha, beyond) if beyond else 0.0
    return (1 + (share if z > 0 else -share)) / 2


def weigh(records):
    """Return the total weight of the positive records, and of the negative records."""
    return tuple(sum(w for _, y, w in records if y == label) for label in (1, -1))


def divide(records, question):
    if question is None:
        return records, []
    column, code = question
    return (
        [r for r in records if r[0][column] <= code],
        [r for r in records if r[0][column] > code],
    )


def risk(records, question, alpha):
    return sum(bayes_weight(*weigh(part), alpha) for part in divide(records, question))


def options(possible):
    """Return the questions that separate two possible bins.

    `possible` has, for each column, the set of bins that rows can have.
    """
    return [(j, code) for j, codes in enumerate(possible) for code in sorted(codes)[:-1]]


def narrowed(possible, question):
    if question is None:
        return possible, possible
    j, code = question
    parts = []
    for keep in (lambda c: c <= code, lambda c: c > code):
        parts.append([{c for c in s if keep(c)} if k == j else s for k, s in enumerate(possible)])
    return tuple(parts)


def error(parts):
    return sum(min(weigh(part)) for part in parts)


def best_tree(records, n_bins, depth, alpha, calibrated, restrict):
    """Return the best question of each node in breadth-first order, and the records of each leaf.

    If `calibrated`, α is multiplied by the error of the tree so far, divided by the error of the
    root.
    """
    everything = [set(range(n)) for n in n_bins]
    level, questions = [(records, everything)], []
    all_errors = error([records])
    for _ in range(depth):
        below = []
        for place, (part, possible) in enumerate(level):
            now = alpha
            if calibrated and all_errors > 0:
                leaves = [r for r, _ in below] + [r for r, _ in level[place:]]
                now = alpha * error(leaves) / all_errors
            candidates = options(possible if restrict else everything)
            question = None
            if min(weigh(part)) > 0 and candidates:
                question = min(candidates, key=lambda g: risk(part, g, now))
            questions.append(question)
            below += zip(divide(part, question), narrowed(possible, question), strict=True)
        level = below
    return questions, [part for part, _ in level]


def boost(rows, labels, n_bins, n_trees, depth, alpha, boost_alpha, calibrated, restrict):
    """Train BDPEα without privacy; return a triple (questions, votes, β) for each tree."""
    most = boost_alpha * (2 * (1 - 1e-4) - 1) / math.sqrt(1e-4 * (1 - 1e-4)) + 2 * (1 - boost_alpha)
    margins, trees = [0.0] * len(rows), []
    for _ in range(n_trees):
        weights = [inverse(z, boost_alpha) for z in margins]
        records = zip(rows, labels, weights, strict=True)
        numbered = [((*row, i), y, w) for i, (row, y, w) in enumerate(records)]
        questions, leaves = best_tree(numbered, n_bins, depth, alpha, calibrated, restrict)
        votes, vote_of = [], {}
        for leaf in leaves:
            a, b = weigh(leaf)
            q = min(max(a / (a + b), 1e-4), 1 - 1e-4) if a + b > 0 else 0.5
            votes.append(link(q, boost_alpha))
            vote_of |= {record[0][-1]: votes[-1] for record in leaf}
        total = sum(weights[i] * labels[i] * vote for i, vote in vote_of.items())
        beta = boost_alpha / most**2 / len(rows) * total
        margins = [z - beta * labels[i] * vote_of[i] for i, z in enumerate(margins)]
        trees.append((questions, votes, beta))
    return trees


def permute_and_flip(scores, rate):
    """Return the probability that permute-and-flip chooses each candidate.

    The mechanism goes through the candidates in a random order and accepts a candidate with
    probability exp(rate · (score − best score)); the result averages over all orders.
    """
    best = max(scores)
    kept = [math.exp(rate * (s - best)) for s in scores]
    chances = [0.0] * len(scores)
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for i in order:
            chances[i] += left * kept[i]
            left *= 1 - kept[i]
    return [c / math.factorial(len(scores)) for c in chances]


def exponential(scores, rate):
    best = max(scores)
    kept = [math.exp(rate * (s - best)) for s in scores]
    return [k / sum(kept) for k in kept]


def trees(records, n_bins, alphas, rates, choose, restrict):
    """Return all possible private trees, with one level for each of `alphas` and `rates`.

    The keys are the questions of all nodes in breadth-first order; the values are pairs: the
    probability of the tree, and the records of each leaf. `choose` returns the probability of each
    candidate of a node, from the candidates' scores and the level's rate.
    """
    everything = [set(range(n)) for n in n_bins]
    outcomes = [((), 1.0, [(records, everything)])]
    for alpha, rate in zip(alphas, rates, strict=True):
        n_nodes = len(outcomes[0][2])
        for _ in range(n_nodes):
            grown = []
            for questions, chance, parts in outcomes:
                (part, possible), others = parts[0], parts[1:]
                candidates = options(possible if restrict else everything)
                scores = [-risk(part, g, alpha) for g in candidates]
                chances = choose(scores, rate) if candidates else [1.0]
                for g, p in zip(candidates or [None], chances, strict=True):
                    below = zip(divide(part, g), narrowed(possible, g), strict=True)
                    grown.append(((*questions, g), chance * p, [*others, *below]))
            outcomes = grown
    return {q: (p, [part for part, _ in parts]) for q, p, parts in outcomes}
