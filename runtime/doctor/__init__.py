"""Checks before a launch: what will not work on a machine, why, and how to fix it."""
