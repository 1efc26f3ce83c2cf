"""Lets `python -m runtime.c_rank`, in a thread of a C program, be its rank."""

import sys

if __name__ == "__main__":
    from runtime.processes.rank.in_program import main

    sys.exit(main(sys.argv[1:]))
