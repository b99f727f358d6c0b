"""Learners with a linear score, by objective perturbation, Newton steps or gradient descent."""
