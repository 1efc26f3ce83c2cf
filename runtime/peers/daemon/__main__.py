"""Lets `python -m runtime.peers.daemon` be a daemon in the background."""

import sys

from runtime.peers.daemon.booting import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
