"""Lets `python -m runtime.ranks` be the process of which the ranks of this machine part."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # imports leave no garbage; the program of a rank begins with it enabled
    from runtime.processes.front_end.rank_nursery import main

    sys.exit(main(sys.argv[1:]))
