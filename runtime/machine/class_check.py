"""Run as a process of its own: says what keeps classes from the roles they are named for.

Their modules are imported, which runs them, so that happens in no process that does other work.
Standard input has a folder and pairs of role and class, standard output a fault for each pair.
"""

from __future__ import annotations

import json
import sys
import traceback

import gcm  # noqa: F401 - bound before a folder, where a `gcm.py` may be, is on the path
from runtime.machine.named_classes import NotFound, fault_of, load


def fault(role: str, name: str, search: str) -> str:
    """Return what keeps a class from a role; what only another machine may know is no fault."""
    try:
        return fault_of(role, load(name))
    except NotFound as error:
        return "" if error.module else str(error)
    except BaseException as error:  # whatever a module raises when it is imported
        frames = traceback.extract_tb(error.__traceback__)
        own = [one for one in frames if one.filename.startswith(search)]
        at = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
        return f"its module raises {type(error).__name__}: {error}{at}"


def main() -> None:
    """Answer for what stands in the standard input."""
    answer, sys.stdout = sys.stdout, sys.stderr  # what modules print is no answer
    search, wanted = json.load(sys.stdin)
    sys.path.insert(0, search)
    json.dump([fault(role, name, search) for role, name in wanted], answer)


if __name__ == "__main__":
    main()
