"""Lets `python -m runtime.frontend` be the front-end of a cluster."""

import gc
import sys

if __name__ == "__main__":
    gc.disable()  # imports leave no garbage, and to look for it takes a tenth of their time
    from runtime.processes.front_end.main import main

    gc.enable()
    sys.exit(main())
