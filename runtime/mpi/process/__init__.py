"""This process in the machine: its place, its native MPI, and its predefined communicators."""
