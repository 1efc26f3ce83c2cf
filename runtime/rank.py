"""Lets `python -m runtime.rank` be one rank of a cluster's native MPI."""

import sys

from runtime.engine.rank_main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
