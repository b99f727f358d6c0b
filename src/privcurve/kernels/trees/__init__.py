"""Growth of one tree on encoded columns: choice of splits, growth, leaves of rows."""
