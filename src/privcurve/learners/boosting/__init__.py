"""Gradient boosting without privacy, and on private synthetic records (MST, AIM)."""
