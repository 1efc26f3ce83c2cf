"""What a process is in the machine: its place, its native MPI, what it has from the start."""
