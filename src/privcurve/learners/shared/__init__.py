"""What learners share: checks, probabilities, linear models, and what is public of records."""
