"""A fitted model as a file: saved, loaded, asked."""
