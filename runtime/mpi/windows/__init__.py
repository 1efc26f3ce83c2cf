"""MPI's windows over several clusters: `runtime.windows` with mpi4py's types and buffers."""
