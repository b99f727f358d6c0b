"""The small programs that the workflow's rules call; no logic of their own."""
