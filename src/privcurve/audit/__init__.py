"""Test privacy claims, by the contract that learners must keep and by attacks on fitted models.

Attacks find lower bounds on ε, which the audit compares with the claimed ε. An audit can refute a
claim, never prove one.
"""
