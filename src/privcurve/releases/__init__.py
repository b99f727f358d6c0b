"""What leaves the house: the ledger of a dataset's budget, models and their cards."""
