"""Accountants: composition of the costs of mechanism calls, one file per theory."""
