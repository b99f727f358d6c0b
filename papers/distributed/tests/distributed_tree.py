"""Grow distributed trees without noise in plain Python, as a reference for tests.

The functions use lists of records, no histograms. A question is a triple (column, first bin, last
bin): a record answers yes if its bin in the column is in this range.
"""

import math


def questions(n_bins, ordered):
    triples = []
    for column, bins in enumerate(n_bins):
        if ordered[column]:
            triples += [(column, 0, code) for code in range(bins - 1)]
        else:
            triples += [(column, code, code) for code in range(bins)]
    return triples


def says_yes(record, question):
    column, low, high = question
    return low <= record[column] <= high


def impurity(labels, criterion):
    """Return the impurity G of a list of labels; G is 1 for two classes of equal frequency."""
    n = len(labels)
    shares = [labels.count(label) / n for label in sorted(set(labels))] if n else [1.0]
    if criterion == "gini":
        return 2 * (1 - sum(p * p for p in shares))
    if criterion == "entropy":
        return -sum(p * math.log2(p) for p in shares)
    if criterion == "root_gini":
        return 2 * math.sqrt(shares[0] * (1 - shares[0]))
    return 2 * (1 - max(shares))


def gain(records, labels, question, criterion):
    sides = part(records, labels, question)
    left = sum(len(side[1]) / len(labels) * impurity(side[1], criterion) for side in sides)
    return impurity(labels, criterion) - left


def part(records, labels, question):
    """Return a pair (records, labels) for the records that answer no, and a pair for yes."""
    sides = ([], []), ([], [])
    for record, label in zip(records, labels, strict=True):
        side = sides[says_yes(record, question)]
        side[0].append(record)
        side[1].append(label)
    return sides


def majority(labels, n_classes):
    return max(range(n_classes), key=lambda c: (labels.count(c), -c))


def check_best_first(tree, records, labels, triples, n_classes, criterion, n_splits):
    """Assert that Algorithm 1, on one machine and without noise, can grow `tree`.

    `tree` has three lists: the question of each node (None for a leaf), its left child, and the
    class of each leaf. Nodes with equal gains may be split in any order. So the function checks
    that each split of `tree` was a best one at its turn, instead of growing a tree of its own. It
    returns the number of splits.
    """
    chosen, left, classes = tree
    members = {0: (records, labels)}
    gains = {}

    def best(node):
        if node not in gains:
            here = members[node]
            gains[node] = [gain(*here, q, criterion) for q in triples] if here[1] else [0.0]
        return max(gains[node])

    def priority(node):
        n = len(members[node][1])
        if n < 2 or n / len(labels) < 0.1 / n_splits or best(node) <= 0.01 + 1e-9:
            return 0.0
        return n / len(labels) * best(node)

    steps = sorted((child, node) for node, child in enumerate(left) if chosen[node] is not None)
    waiting = {0}
    for child, node in steps:
        if node:
            assert priority(node) >= max(map(priority, waiting)) - 1e-9
            assert priority(node) > 0
        best(node)
        assert gains[node][chosen[node]] >= best(node) - 1e-9
        members[child], members[child + 1] = part(*members[node], triples[chosen[node]])
        waiting = (waiting - {node}) | {child, child + 1}
    if len(steps) < n_splits:
        assert all(priority(node) == 0 for node in waiting)
    for node in waiting:
        assert chosen[node] is None
        assert classes[node] == majority(members[node][1], n_classes)
    return len(steps)


def by_levels(records, labels, triples, n_classes, criterion, depth):
    """Grow a tree by levels without noise; a node is a tuple (question, no, yes), a leaf a class.

    The questions on the last level minimise the zero-one error instead of the criterion.
    """
    if depth == 0 or impurity(labels, criterion) == 0:
        return majority(labels, n_classes)
    by = "zero_one" if depth == 1 else criterion
    best, chosen = None, None
    for place, question in enumerate(triples):
        sides = part(records, labels, question)
        if not sides[0][1] or not sides[1][1]:
            continue
        value = round(sum(len(side[1]) * impurity(side[1], by) for side in sides), 9)
        if best is None or value < best:
            best, chosen = value, (place, sides)
    if chosen is None or (depth == 1 and best >= round(len(labels) * impurity(labels, by), 9)):
        return majority(labels, n_classes)
    place, sides = chosen
    return (place, *(by_levels(*side, triples, n_classes, criterion, depth - 1) for side in sides))


def random_tree_scores(records, labels, trees, n_classes, batch, learning_rate, unit):
    """Boost trees whose questions are given, and return the scores of all records.

    `trees` has the questions of complete trees; each round trains `batch` trees. Residuals are
    rounded to multiples of `unit`.
    """
    n_outputs = 1 if n_classes == 2 else n_classes
    longest = 0.5 if n_classes == 2 else math.sqrt(0.5)
    share = 0.5 if n_classes == 2 else 1 / n_classes
    scores = [[0.0] * n_outputs for _ in records]
    for start in range(0, len(trees), batch):
        of_batch = trees[start : start + batch]
        residuals = []
        for score, label in zip(scores, labels, strict=True):
            if n_classes == 2:
                g = [1 / (1 + math.exp(-score[0])) - label]
            else:
                total = sum(math.exp(s) for s in score)
                g = [math.exp(s) / total - (c == label) for c, s in enumerate(score)]
            norm = math.sqrt(sum(x * x for x in g))
            shorter = min(1.0, longest / norm) if norm else 1.0
            residuals.append(
                ([unit * round(shorter * x / unit) for x in g], unit * round(shorter * norm / unit))
            )
        places = [[leaf(record, tree) for record in records] for tree in of_batch]
        new = [list(score) for score in scores]
        for of_tree in places:
            for here in set(of_tree):
                rows = [i for i, place in enumerate(of_tree) if place == here]
                curvature = share * sum(residuals[i][1] for i in rows)
                for c in range(n_outputs):
                    value = -sum(residuals[i][0][c] for i in rows) / (curvature + 1)
                    value = min(max(value, -2.0), 2.0) * learning_rate / len(of_batch)
                    for i in rows:
                        new[i][c] += value
        scores = new
    return scores


def leaf(record, tree):
    node = 0
    while node < len(tree):
        node = 2 * node + 1 + says_yes(record, tree[node])
    return node
