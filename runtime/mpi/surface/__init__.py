"""The `MPI` that programs see: mpi4py's, with communicators of several clusters.

`runtime.mpi.surface.install` replaces mpi4py's own with it, `mpi_module` makes the module.
"""
