"""The process that starts the ranks of an MPICH on its host, and lets them find each other."""
