"""Exhaustive check of `runtime.replicas`: the very code, every interleaving, every crash."""
