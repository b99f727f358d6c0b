"""From rows of cells to what a study says: tidy frames in, tidy frames out."""
