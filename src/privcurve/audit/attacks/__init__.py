"""List the privacy claims that the audit attacks, in one file for each family of learners.

A new learner needs one new file in this folder; :mod:`privcurve.audit.attacks.all` finds it.
"""
