"""Failure detectors: simulated with the very code, and measured in running machines."""
