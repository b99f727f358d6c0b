"""Choose splits, grow decision trees on encoded columns, and find the leaves of rows."""
