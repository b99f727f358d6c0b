"""Accountants: how the costs of several mechanism calls add up, one file a theory."""
