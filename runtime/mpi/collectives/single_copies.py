"""Whether native MPI reads large messages directly from another process of this host."""

from __future__ import annotations

import os
from functools import cache

_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
_NO = ("0", "no", "false", "off")


@cache
def may_read_each_other(scope: str | os.PathLike[str] = _SCOPE) -> bool:
    """Return whether processes of a user may read each other's memory, and MPICH may use that.

    Otherwise large messages go through shared memory in many steps.
    """
    if os.environ.get("MPIR_CVAR_CH4_CMA_ENABLE", "1").lower() in _NO:
        return False
    try:
        with open(scope) as file:
            return file.read().strip() == "0"
    except FileNotFoundError:  # a system without such a limit
        return True
    except OSError:
        return False
