"""Compute the sensitivities that the proofs derive, in one file for each family.

`Source` in a docstring names the page and the section of the proof. The tests in tests/privacy
enumerate small cases. Unless a docstring says otherwise, neighbours are replace-one, and the weight
of a record is at most 1. Results for replace-one also hold for private-columns neighbours, as a
change of private columns is a special replacement.
"""
