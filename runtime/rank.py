"""Lets `python -m runtime.rank` be one rank of a cluster's native MPI."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # imports leave no garbage; the program begins with it enabled
    from runtime.processes.rank.main import main

    sys.exit(main(sys.argv[1:]))
