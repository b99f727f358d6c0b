"""Style figures and pages, place labels, and save figures together with their data."""
