"""Outputs that one paper alone needs: its tables, its figures, and what it claims."""
