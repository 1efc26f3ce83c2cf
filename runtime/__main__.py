"""`python -m runtime` is `gcm-deploy`, for where no scripts are on the path."""

import sys

from runtime.cli import main

if __name__ == "__main__":
    sys.exit(main())
