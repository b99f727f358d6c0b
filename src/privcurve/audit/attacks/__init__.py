"""One file a family of learners: what they claim, and how it is tried.

A new learner needs one new file here; :mod:`privcurve.audit.attacks.all` finds it by itself.
"""
