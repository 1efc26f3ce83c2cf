"""Measures the component model, the wire and MPI beside what else there is; see `make bench`."""
