"""Plan the runs of a study, and run one job."""
