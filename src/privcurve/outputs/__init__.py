"""Make the tables and figures of a study: a module per output, listed in :mod:`.registry`."""
