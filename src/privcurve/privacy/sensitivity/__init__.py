"""Sensitivities: the constants of the proofs, one file per family.

`Source` in a docstring names the page and the section of the proof; tests/privacy enumerates small
cases. Unless a docstring says otherwise, neighbours replace one record by another (the number of
records is public), and record weights are at most 1. Everything for replace-one also holds under
``private-columns``, where a change is a special replacement.
"""
