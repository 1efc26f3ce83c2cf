"""Checks before a launch: what of a machine will not work, why, and how to mend it."""
