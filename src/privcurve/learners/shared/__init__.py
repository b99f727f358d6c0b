"""Shared code of learners: input checks, sealed fits, votes, sums of trees, parties, and more."""
