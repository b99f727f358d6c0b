"""Private classifiers of other libraries, unchanged (docs/peers.md)."""
