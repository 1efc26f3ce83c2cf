"""What a front-end calls of the launcher."""

from __future__ import annotations

from runtime.machine.calls import Send, stub
from runtime.machine.contracts import Reports
from runtime.transport.keys import member_name


class LauncherStubs:
    """The launcher, as a front-end knows it.

    `name` is the identifier of the cluster, the first argument of every call; behind it is the
    incarnation of its ranks, where the call is about these.

    >>> launcher = LauncherStubs("0:1", lambda *call: print(call))
    >>> launcher.reports.failed(launcher.name, "ranks:0:1", "no mpiexec")
    ('reports', 'failed', ('0:1', 'ranks:0:1', 'no mpiexec'))
    """

    def __init__(self, name: str, send: Send) -> None:
        self.name = name
        self._send = send
        self.reports = stub(Reports, send)

    def of(self, incarnation: int) -> LauncherStubs:
        """Return the same for what is told of the ranks in one of their incarnations.

        >>> LauncherStubs("0:1", lambda *call: None).of(3).name
        '0:1#3'
        """
        return LauncherStubs(member_name(self.name, incarnation), self._send)
