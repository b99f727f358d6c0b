"""What learners share: votes, half-spaces, sums of trees, records dealt out, checks, roles."""
