"""A simulated world: production code runs in it, and a seed decides all that happens."""
