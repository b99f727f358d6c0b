"""Empirical lower bounds on ε: what an adversary finds, against what a learner claims.

An audit can refute a claim, never prove one.
"""
