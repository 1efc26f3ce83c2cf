"""What a daemon tells about itself, gathered from its components."""

from __future__ import annotations

import time
from typing import Annotated

from gcm import provides, requires
from runtime.clocks import clock
from runtime.peers.contracts import Plain, StatusService
from runtime.peers.daemon.context import DaemonContext, Standing
from runtime.peers.daemon.machine_facts import MachineFacts
from runtime.peers.errors import Refused
from runtime.peers.model import MemberRole, Principal, Reason


@provides("watching", StatusService)
class WatchingService:
    """Tells users of the lab, and whoever has the daemon's own credential."""

    membership: Annotated[Standing, requires()]
    reservation: Annotated[Standing | None, requires(optional=True)]
    launch: Annotated[Standing | None, requires(optional=True)]

    _context: DaemonContext

    def begin(self, context: DaemonContext) -> None:
        """Begin to count the time."""
        self._context = context
        self._machine = MachineFacts()
        self._began = clock()

    def end(self) -> None:
        """Need nothing."""

    def status(self, caller: str) -> Plain:
        """Return what the components tell."""
        who = Principal.parse(caller)
        if who.role is not MemberRole.USER and who != self._context.me:
            raise Refused("only users and the daemon itself are told", reason=Reason.NOT_TRUSTED)
        parts = {
            "membership": self.membership,
            "reservation": self.reservation,
            "launch": self.launch,
        }
        return {
            "name": str(self._context.me),
            "lab": self._context.dialler.credential.header.lab,
            "version": self._context.version,
            "days_left": round(self._context.dialler.credential.days_left, 1),
            "seconds": round(clock() - self._began, 1),
            "clock": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": self._machine.facts(),
            **{name: part.facts() for name, part in parts.items() if part is not None},
        }
