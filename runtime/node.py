"""Lets `python -m runtime.node` be the process of a node's components."""

import sys

from runtime.processes.node import main

if __name__ == "__main__":
    sys.exit(main())
