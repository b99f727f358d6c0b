"""From rows of runs to what a study says: tidy frames in, tidy frames out."""
