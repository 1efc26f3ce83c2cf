"""A host whose processes also speak about themselves: front-ends, ranks, the launcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcm.interfaces.future import Future, finished
from runtime.hosting.host import Host
from runtime.transport.channel import Request
from runtime.transport.reactor import Reactor

CONTROL = "control"
"""The interface over which launcher and front-ends speak about the run; no component has it."""

LAUNCHER, FRONT_END = "/launcher", "/front-end"


class ControlHost(Host):
    """A host that hands what comes over `CONTROL` to `control`, on the reactor's thread."""

    def __init__(self, home: str, reactor: Reactor, control: Callable[[Request], None]) -> None:
        super().__init__(home, reactor)
        self._control = control

    def serve(self, request: Request) -> Future[Any]:
        """Serve a call that came in over a channel."""
        if request.target.interface == CONTROL:
            return finished(self._control, (request,), {})
        return super().serve(request)
