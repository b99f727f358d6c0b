"""What is to be run, and the running of one job."""
