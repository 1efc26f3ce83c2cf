"""Trying a direct connection again, in the background, while messages take a longer way."""

from __future__ import annotations

import _thread
from collections.abc import Callable

from gcm.records import dataclass
from runtime.lazy_import import logger
from runtime.routing import Route
from runtime.transport.credentials import Credentials
from runtime.transport.errors import TransportError
from runtime.transport.lean import dial

_log = logger(__name__)

PROBE_TIMEOUT = 3.0
"""Seconds for each address to answer and to prove itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One try, in a thread of its own, of which neither program notices anything.

    `route` is the one that is tried; it leads to a rank with this `name` at these `addresses`.
    `credentials` have the name of who tries with `PROBES` behind, so that it is let go at once.
    """

    peer: int
    route: Route
    name: str
    addresses: tuple[str, ...]
    credentials: Credentials

    def begin(self, done: Callable[[bool], None]) -> None:
        """Begin; `done` is told from that thread whether the peer was reached."""
        _thread.start_new_thread(lambda: done(self.does_work()), ())

    def does_work(self) -> bool:
        """Connect, prove, and hang up; return whether it was the peer that proved itself."""
        for address in self.addresses:
            try:
                connected, _, _ = dial(address, self.credentials, PROBE_TIMEOUT, peer=self.name)
            except (OSError, TransportError) as fault:
                _log.info("%s is still not reached directly: %s", self.name, fault)
                continue
            connected.close()
            return True
        return False
