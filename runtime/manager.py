"""Lets `python -m runtime.manager` start the ranks of a cluster's MPICH on this host."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # imports leave no garbage, and nothing much is made afterwards
    from runtime.processes.manager.main import main

    sys.exit(main())
