"""The native MPI of a rank: the only package that imports mpi4py."""

from runtime.mpi.process.native import NativeWorld, native_world

__all__ = ["NativeWorld", "native_world"]
