"""Trees on encoded columns: choices of splits, growth of one tree, and leaves of rows."""
