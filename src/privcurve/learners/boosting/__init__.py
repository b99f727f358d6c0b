"""Gradient boosting: without privacy, of synthetic records, and of private trees."""
