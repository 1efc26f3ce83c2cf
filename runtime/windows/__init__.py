"""One-sided communication as pure machines: windows of memory which other processes access.

`target` is the side that is accessed: it serves requests in a `runtime.services` port, grants locks
and applies what comes. `epochs` is the side that accesses: what a process may do now. `runs` are
places in memory, `requests` what travels. `runtime.mpi.windows` makes MPI's windows of them.
"""

from __future__ import annotations
