"""The configuration of a peer: one file with documented defaults."""
