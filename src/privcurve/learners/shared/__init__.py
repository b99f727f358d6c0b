"""Shared code of learners: votes, half-spaces, sums of trees, parties, checks, roles."""
