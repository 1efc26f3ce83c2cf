"""Lets `python -m runtime.frontend` be the front-end of a cluster."""

import sys

from runtime.engine.front_end import main

if __name__ == "__main__":
    sys.exit(main())
