"""Parties: what each counts and sends, how sums are made, who has which record.

A server (:mod:`.best_first`, :mod:`.by_levels`, :mod:`.boosting`) is given objects of the
protocol :class:`~privcurve.holders.holder.Holder` and public facts, and nothing else.
"""
