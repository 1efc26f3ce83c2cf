"""The state of a run as values and pure machines: what happens, what is done, what is left."""
