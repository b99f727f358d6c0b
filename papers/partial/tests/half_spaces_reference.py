"""Compute the weights of BRC in plain Python, record by record, as a reference for tests."""

import math

from privcurve.papers.partial.learners._kernel import weight_bits


class Weights:
    """Boosting weights of records, as fixed-point integers in units of 1/`unit`.

    If an update would move a weight beyond a cap, the weight does not change.
    """

    def __init__(self, n, smallest, largest):
        self.unit = 2 ** weight_bits(n, largest)
        self.low, self.high = math.ceil(smallest * self.unit), math.floor(largest * self.unit)
        self.each = [self.unit] * n

    def error(self, wrong):
        missed = sum(w for w, bad in zip(self.each, wrong, strict=True) if bad)
        return missed / sum(self.each)

    def follow(self, alpha, wrong):
        for i, bad in enumerate(wrong):
            product = math.floor(self.each[i] * math.exp(alpha)) if bad else self.each[i]
            if self.low <= product <= self.high:
                self.each[i] = product
