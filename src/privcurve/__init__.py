"""Privacy-accuracy curves of differentially private classifiers."""

__version__ = "0.1.0"
