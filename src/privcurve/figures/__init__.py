"""Figures for papers: a tidy frame in, a figure and the frame's file out."""
