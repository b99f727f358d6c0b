"""One file for each family of learners: their claims, and the attacks on them.

A new learner needs one new file in this folder; :mod:`privcurve.audit.attacks.all` finds it.
"""
