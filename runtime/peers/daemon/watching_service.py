"""What a daemon tells about itself, gathered from its components."""

from __future__ import annotations

import time
from typing import Annotated

from gcm import provides, requires
from runtime.peers.contracts import Plain, StatusService
from runtime.peers.daemon.surroundings import Standing, Surroundings, clock
from runtime.peers.errors import Refused
from runtime.peers.model import MemberRole, Principal, Reason


@provides("watching", StatusService)
class WatchingService:
    """Tells users of the lab, and whoever has the daemon's own credential."""

    membership: Annotated[Standing, requires()]
    reservation: Annotated[Standing | None, requires(optional=True)]
    launch: Annotated[Standing | None, requires(optional=True)]

    _surroundings: Surroundings

    def begin(self, surroundings: Surroundings) -> None:
        """Begin to count the time."""
        self._surroundings = surroundings
        self._began = clock()

    def end(self) -> None:
        """Need nothing."""

    def status(self, caller: str) -> Plain:
        """Return what the components tell."""
        who = Principal.parse(caller)
        if who.role is not MemberRole.USER and who != self._surroundings.me:
            raise Refused("only users and the daemon itself are told", reason=Reason.NOT_TRUSTED)
        parts = {
            "membership": self.membership,
            "reservation": self.reservation,
            "launch": self.launch,
        }
        return {
            "name": str(self._surroundings.me),
            "lab": self._surroundings.dialler.credential.header.lab,
            "version": self._surroundings.version,
            "seconds": round(clock() - self._began, 1),
            "clock": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **{name: part.facts() for name, part in parts.items() if part is not None},
        }
