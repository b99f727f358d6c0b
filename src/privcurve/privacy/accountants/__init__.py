"""Compose the costs of mechanism calls into (ε, δ), in one file for each theory."""
