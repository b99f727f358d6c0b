"""Releases: private models with their cards, and the privacy budget of each dataset."""
