"""A host whose process is itself a member of the machine: front-ends, and the launcher."""

from __future__ import annotations

from typing import Any

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future, finished
from runtime.coupling.words import cluster_of
from runtime.hosting.host import Host
from runtime.machine.calls import NotServed, Served
from runtime.machine.contracts import CONTRACTS, Membership, Views
from runtime.machine.paths import above_path, clustering_path
from runtime.transport.channel import IncomingCall
from runtime.transport.messages import PLAIN_DATA, Target
from runtime.transport.reactor import Reactor

FRONT_END = "/front-end"

HEARTBEAT = "health-controller"
"""The interface through which failure detectors of front-ends speak to each other."""

_MEMBERSHIP, _VIEWS = CONTRACTS[Membership], CONTRACTS[Views]

BETWEEN_FRONT_ENDS = {_MEMBERSHIP, _VIEWS, HEARTBEAT}
"""What one front-end may call of the clustering components of another: plain data, by name."""


class MemberHost(Host):
    """A host that also serves contracts of its process, at once and on the reactor's thread."""

    def __init__(self, home: str, reactor: Reactor, served: Served) -> None:
        super().__init__(home, reactor)
        self._served = served

    def serve(self, request: IncomingCall) -> Future[Any]:
        """Serve a call that came in over a channel."""
        target = request.target
        if target.component == FRONT_END:
            opened = request.invocation(PLAIN_DATA).args
            return finished(self._served.call, (target.interface, target.operation, opened), {})
        if cluster_of(target.component):  # ranks may send it, so it must not be opened here
            raise NoSuchComponentError("no such rank is here", component=target.component)
        if target.interface in BETWEEN_FRONT_ENDS:
            call = request.invocation(PLAIN_DATA)
            check_sender(target, call.args)
            return self._serving.serve(target, lambda: call, request.channel)
        return super().serve(request)


def check_sender(target: Target, args: tuple[Any, ...]) -> None:
    """Refuse what a clustering component may not call of another; raises NotServed.

    That the caller lives where its name says was seen to by the launcher, which passes the call on.

    >>> sender = "/grid/site0/cluster1/clustering.membership-up"
    >>> check_sender(Target("/grid/site0/clustering", "membership", "ready", sender), ("0:1", 0))
    """
    sender = sender_of(target)
    if target.interface == _VIEWS:
        is_right = sender == above_path(target.component)
    else:
        is_right = isinstance(args[0], str) and sender == clustering_path(args[0])
        is_right &= target.interface != _MEMBERSHIP or above_path(sender) == target.component
    if not is_right:
        raise NotServed(f"{sender or 'somebody'} may not call {target} with {args[:1]}")


def sender_of(target: Target) -> str:
    """Return the path of the component that calls; empty if it does not say."""
    return target.client.rpartition(".")[0]
