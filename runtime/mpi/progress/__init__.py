"""What goes on: operations, the engine that moves them, and waiting for their end."""
