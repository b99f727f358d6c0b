"""Drafts of descriptions: what a table says of itself, and what its owner has to decide."""

from privcurve.datasets.drafts.check import Report, check, finer
from privcurve.datasets.drafts.draft import Draft, draft

__all__ = ["Draft", "Report", "check", "draft", "finer"]
