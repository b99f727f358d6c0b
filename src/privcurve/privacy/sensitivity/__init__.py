"""Sensitivities, the constants of the proofs, one file a family (sections of PRIVACY.md)."""
