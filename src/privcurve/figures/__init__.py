"""Figures and pages: their style, labels, and how they are saved together with their data."""
