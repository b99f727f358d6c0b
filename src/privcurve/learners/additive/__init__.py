"""What PrivGAM is made of: its public rule, its fit, and its model."""
