"""Reads descriptors: from elements to the model, with all faults at once."""
