"""What programs see: mpi4py's `MPI`, with communicators of several clusters.

`runtime.mpi.surface.install` puts it in the place of mpi4py's own, `face` is the module.
"""
