"""What leaves the house: secret seeds, the ledger of a dataset's budget, models and their cards."""
