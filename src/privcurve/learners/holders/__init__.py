"""Parties: what each one counts and sends, how sums are made, which party has which record.

A server (e.g. :func:`.boosting.boost`) receives public facts, and objects of the protocol
:class:`~privcurve.learners.holders.holder.Holder`; it never receives records.
"""
