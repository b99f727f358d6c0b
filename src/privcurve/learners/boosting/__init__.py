"""Gradient boosting: without privacy, on synthetic records, and of private trees."""
