"""Messages between two ranks: the calls of communicators, probes and matched messages."""
