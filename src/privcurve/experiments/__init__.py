"""Define studies and the runs that they need, and execute the jobs that train these runs."""
