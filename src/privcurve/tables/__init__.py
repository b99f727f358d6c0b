"""Tables for papers: a frame in; CSV, Markdown and LaTeX out."""
