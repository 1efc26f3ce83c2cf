"""The host: one process of the run with its components, its channels, and the ways to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcm.components.model import Component
from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.hosting.channels import HERE
from runtime.hosting.references import ReferenceCodec
from runtime.hosting.remote import RemoteEnds
from runtime.hosting.routes import only
from runtime.hosting.serving import Serving
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.messages import Codec, Target
from runtime.transport.reactor import Reactor


class Host(RemoteEnds):
    """Serves the components of this process and reaches those of others.

    `home` is a path that belongs to this process alone, such as `/grid/site0/cluster0`. Calls to a
    path go over the channel whose prefix fits best, and calls that come in for somebody else are
    passed on unopened. The reactor is not the host's own: its maker closes it, later.

    >>> host = Host("/node1", reactor)                                  # doctest: +SKIP
    >>> host.publish("/app/worker", worker)                             # doctest: +SKIP
    >>> host.channel(PipeStream(0, 1), "launcher", ["/"])               # doctest: +SKIP
    >>> component.bind("next", host.find("/app/other", "work"))         # doctest: +SKIP
    """

    def __init__(self, home: str, reactor: Reactor) -> None:
        super().__init__(home, reactor)
        self.codec: Codec = ReferenceCodec(self)
        self._serving = Serving(self.exports, self.blocks, self.awaited, home, reactor)

    # -- what is here ----------------------------------------------------------------------------

    def publish(self, path: str, component: Component, *, alone: bool = False) -> None:
        """Let others reach `component` under `path`, and unless `alone` everything inside it."""
        self.exports.publish(path, component)
        self.routes.add(only(path) if alone else path, HERE)

    def withdraw(self, path: str) -> None:
        """Take back what `publish` did."""
        self.exports.withdraw(path)
        self._serving.forget_ways()
        self.routes.drop(path)
        self.routes.drop(only(path))

    # -- calls that are served here --------------------------------------------------------------

    def serve(self, request: IncomingCall) -> Future[Any] | IncomingCall:
        """Serve a call that came in over a channel: what channels are given as their handler."""
        path = request.target.component
        if self.routes.find(path) is not HERE and self.routes.why_lost(path):
            raise self._unreachable(request.target)
        request.codec = self.codec
        if self._serving.takes(request):
            return request
        return self._serving.serve(request.target, request.invocation, request.channel)

    def serve_here(self, invocation: Invocation) -> Future[Any]:
        """Serve a call of this process to a component of its own."""
        to = invocation
        target = Target(to.component, to.interface, to.operation, to.client, to.chain)
        return self._serving.serve(target, lambda: invocation, self)

    def work(self, work: Callable[[], object]) -> bool:
        """Do something in a thread that may wait; return False once the host is closed."""
        return self._serving.work(work)

    def forget(self, channel: Channel) -> None:
        """Dismiss the clients that called over a channel, which has ended."""
        self._serving.forget(channel)

    def close(self) -> None:
        """Close all channels and let the workers end; the reactor goes on."""
        super().close()
        self._serving.close()
