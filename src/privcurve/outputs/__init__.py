"""The tables and figures of a study: one file per output, listed in :mod:`.registry`."""
