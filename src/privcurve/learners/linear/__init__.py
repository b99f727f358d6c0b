"""Learners whose score is linear: by objective perturbation, Newton steps or gradient descent."""
