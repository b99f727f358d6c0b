"""Tables for papers: write a frame as CSV, Markdown and LaTeX."""
