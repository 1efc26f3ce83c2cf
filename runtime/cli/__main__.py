"""Lets `python -m runtime.cli` be the `gcm-deploy` command."""

import sys

from runtime.cli import main

if __name__ == "__main__":
    sys.exit(main())
