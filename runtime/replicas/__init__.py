"""Ranks with several replicas: which process is which of them, and how they stay alike."""
