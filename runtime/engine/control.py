"""A host whose process is itself a member of the machine: front-ends, and the launcher."""

from __future__ import annotations

from typing import Any

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future, finished
from runtime.coupling.words import cluster_of
from runtime.hosting.host import Host
from runtime.machine.calls import Served
from runtime.transport.channel import IncomingCall
from runtime.transport.reactor import Reactor

FRONT_END = "/front-end"


class MemberHost(Host):
    """A host that also serves contracts of its process, at once and on the reactor's thread."""

    def __init__(self, home: str, reactor: Reactor, served: Served) -> None:
        super().__init__(home, reactor)
        self._served = served

    def serve(self, request: IncomingCall) -> Future[Any]:
        """Serve a call that came in over a channel."""
        target = request.target
        if target.component == FRONT_END:
            args = (target.interface, target.operation, request.invocation().args)
            return finished(self._served.call, args, {})
        if cluster_of(target.component):  # ranks may send it, so it must not be opened here
            raise NoSuchComponentError("no such rank is here", component=target.component)
        return super().serve(request)
