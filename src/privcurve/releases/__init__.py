"""Released models, their cards, and the dataset's privacy budget."""
