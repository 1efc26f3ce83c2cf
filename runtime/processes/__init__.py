"""One package for each kind of process of a run: it builds its components, and ends."""
