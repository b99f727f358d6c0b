"""Find the largest noise rates that a budget (ε, δ) allows, in one file for each family."""
