"""Ways to start a process somewhere, on one contract: locally, over ssh, with mpiexec."""
