"""Lets `python -m runtime.ranks` be the process that forks the ranks of this machine."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # imports leave no garbage; the program of a rank begins with it enabled
    from runtime.processes.front_end.rank_fork_server import main

    sys.exit(main(sys.argv[1:]))
