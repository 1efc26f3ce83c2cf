"""Components: primitives, composites, wrappers and clustering components, and their factory."""
