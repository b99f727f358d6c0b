"""Growing one tree on coded columns: choice of splits, growth, scores of transcripts."""
