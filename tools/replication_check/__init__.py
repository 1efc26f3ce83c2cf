"""Exhaustive check of `runtime.replicas`: the very code, all interleavings, crashes at every step."""
