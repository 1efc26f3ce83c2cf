"""What the launcher and a front-end call of each other."""

from __future__ import annotations

from runtime.machine.calls import Send, stub
from runtime.machine.contracts import (
    ClusterControl,
    ClusterHealth,
    ClusterMembership,
    ClusterReferences,
    ClusterViews,
    Input,
    Output,
)
from runtime.transport.keys import member_name


class LauncherStubs:
    """The launcher, as a front-end knows it.

    `name` is the identifier of the cluster, the first argument of every call; behind it is the
    incarnation of its ranks, where the call is about these.

    >>> launcher = LauncherStubs("0:1", lambda *call: print(call))
    >>> launcher.health.failed(launcher.name, "ranks:0:1", "no mpiexec")
    ('cluster-health', 'failed', ('0:1', 'ranks:0:1', 'no mpiexec'))
    """

    def __init__(self, name: str, send: Send) -> None:
        self.name = name
        self._send = send
        self.membership = stub(ClusterMembership, send)
        self.health = stub(ClusterHealth, send)
        self.references = stub(ClusterReferences, send)
        self.output = stub(Output, send)

    def of(self, incarnation: int) -> LauncherStubs:
        """Return the same for what is told of the ranks in one of their incarnations.

        >>> LauncherStubs("0:1", lambda *call: None).of(3).name
        '0:1#3'
        """
        return LauncherStubs(member_name(self.name, incarnation), self._send)


class FrontEndStubs:
    """A front-end, as the launcher knows it."""

    def __init__(self, send: Send) -> None:
        self.control = stub(ClusterControl, send)
        self.views = stub(ClusterViews, send)
        self.input = stub(Input, send)
