"""What a study can be asked to show: each output is one file, and its word in :mod:`.registry`."""
