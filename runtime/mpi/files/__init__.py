"""MPI's files over several clusters: `runtime.files` with mpi4py's types, buffers and a disk."""
