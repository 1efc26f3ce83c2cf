"""Lets `python -m gcm` be the `gcm` command."""

import sys

from gcm.cli import main

if __name__ == "__main__":
    sys.exit(main())
