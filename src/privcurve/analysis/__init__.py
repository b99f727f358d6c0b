"""Statistics of runs: tidy frames in, tidy frames out."""
