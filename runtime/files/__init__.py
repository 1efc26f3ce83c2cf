"""Files of several clusters as pure machines: one process, the home, has the file for all.

`views` say which bytes of a file a process sees, `modes` how it was opened. `requests` are what
travels, `home` is the side that has the file: it keeps the order of what others ask for, and
carries it out with a `Disk`. `accesses` is the side that asks, `faults` what can go wrong.
`runtime.mpi.files` makes MPI's files of them.
"""

from __future__ import annotations
