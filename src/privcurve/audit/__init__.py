"""Empirical lower bounds on ε, which attacks find, compared with the ε that a learner claims.

An audit can refute a claim, never prove one.
"""
