"""Private classifiers of other libraries, run as they are (docs/peers.md)."""
