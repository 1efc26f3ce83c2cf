"""Reads descriptors: from elements to the model, reporting all errors at once."""
