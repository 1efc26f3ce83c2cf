"""The running machine: it executes a deployment plan and sees everything to its end."""
