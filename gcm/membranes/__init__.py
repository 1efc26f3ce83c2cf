"""Membranes: the controllers around the content of a component, one concern in each file."""
