"""The hierarchical machine: several native-MPI clusters joined over GCM components."""
