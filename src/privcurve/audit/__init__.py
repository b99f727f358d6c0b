"""Tests of privacy claims: the contract that learners must keep, and attacks on fitted models.

Attacks find lower bounds on ε, which the audit compares with the claimed ε. An audit can refute a
claim, never prove one.
"""
