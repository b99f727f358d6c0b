"""Parties: what each one counts and sends, how sums are made, which party has which record.

A server (:mod:`.best_first`, :mod:`.by_levels`, :mod:`.boosting`) receives only objects of the
protocol :class:`~privcurve.holders.holder.Holder` and public facts.
"""
