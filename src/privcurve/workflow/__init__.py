"""From configuration to jobs: what is asked for (:mod:`.plan`), and what rules do."""
