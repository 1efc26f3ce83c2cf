"""What a rank and its front-end know of the machine: the link between them, and who is where."""
