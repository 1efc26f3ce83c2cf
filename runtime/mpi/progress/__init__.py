"""Progress: operations, the engine that drives them, and waiting for their completion."""
