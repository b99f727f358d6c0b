"""Parties: what each party counts and sends, how sums are made, and which party has which record.

A server (e.g. :func:`.boosting.boost`) receives public facts, and objects with the interface
:class:`~privcurve.learners.holders.holder.Holder`; it never receives records.
"""
