"""The page of the leaderboard: what is on it, and the file that it becomes."""
