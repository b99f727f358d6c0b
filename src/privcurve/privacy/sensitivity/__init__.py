"""Sensitivities: the constants of the proofs, one file per family.

`Source` names the page and the section of a proof; tests/privacy enumerates small cases. Unless a
docstring says otherwise, neighbours replace one record by another (the number of records is public;
under ``private-columns`` a change is a replacement too, so all of it holds), and record weights are
at most 1.
"""
