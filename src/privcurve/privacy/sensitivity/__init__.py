"""How much one record can change a score: the constants of the proofs, one file a family.

Sections in docstrings are those of PRIVACY.md. *Proved* and *brute force* say how a constant
was checked there; tests/privacy enumerates small cases again. Unless a docstring says otherwise,
neighbours replace one record by another (the number of records is public; under
``private-columns`` a change is a replacement too, so all of it holds), and record weights are
at most 1.
"""
