"""Implement PrivGAM: its public rule, its sums over records, its network and its model."""
