"""The forwarder of a front-end: what it knows of the machine, and how others find it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from runtime.forwarding.forwarder import Forwarder
from runtime.membership.bind_address import AdvertisedAddresses, this_machine
from runtime.membership.run_directory import address_in
from runtime.part_names import is_cluster
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end.links import FrontEndLinks
from runtime.transport.channel import Handler, Relay
from runtime.transport.passage import FORWARDER, Passage
from runtime.transport.reactor import Reactor
from runtime.transport.transports import SSH, UNIX, advertised, of_use
from runtime.tunnels.frames import FROM_OTHERS, socket_to
from runtime.wire.dialling.forward_requests import coupled_stop

_log = logging.getLogger(__name__)


class Forwarding:
    """Listens from the start; what can be reached is known once all ranks have come.

    `serve` and `inward` are for what other front-ends and their ranks say to this one.

    Raises:
        Unreachable: nobody can listen where it was told to.
    """

    def __init__(
        self, configuration: FrontEndSettings, reactor: Reactor, serve: Handler, inward: Relay
    ) -> None:
        self._machine = this_machine()
        self._stops: dict[str, tuple[str, ...]] = {}
        self._coupled: dict[str, tuple[str, ...]] = {}
        self._hits = self._misses = 0
        self._lock = threading.Lock()  # several ways are opened at a time
        self._tunnels = {
            cluster: (SSH + os.path.join(configuration.run_directory, socket_to(cluster)),)
            for cluster in configuration.tunnels
        }
        self.links = FrontEndLinks(
            reactor, configuration.credentials, lambda stop: self._stops.get(stop, ()),
            serve, inward, names=configuration.names,
        )  # fmt: skip
        """Connections to other front-ends."""
        # where the path is too long, the launcher says so when it opens the tunnels
        others = address_in(configuration.run_directory, FROM_OTHERS)
        others = SSH + others.removeprefix(UNIX) if others.startswith(UNIX) else ""
        self._forwarder = Forwarder(
            reactor, configuration.forwards, configuration.credentials, self._find,
            self.links.admit, more=(others,) if configuration.tunnels and others else (),
        )  # fmt: skip
        for fault in self._forwarder.faults:
            _log.warning("%s: no forwarding at one address: %s", configuration.path, fault)
        self.found: AdvertisedAddresses = self._machine, self._addresses(configuration)
        """How others find it."""

    def learn(self, everybody: Iterable[Mapping[str, Any]]) -> None:
        """Record where all ranks and front-ends are, from what the handshake told."""
        stops: dict[str, tuple[str, ...]] = {}
        for report in everybody:
            if "front-end" in report:
                stops[report["front-end"]] = self._of_use(report["forwarder"])
            else:
                stops[report["rank"]] = self._of_use(report["doors"])
        self._stops = {**stops, **self._tunnels}
        self.links.connect(one for one in stops if is_cluster(one))

    def coupled(self, report: Mapping[str, Any]) -> None:
        """Record where a rank listens for those of other codes."""
        self._coupled[coupled_stop(report["rank"])] = self._of_use(report["doors"])

    @property
    def carried(self) -> tuple[int, int, int, int]:
        """How much was passed on, and what became of looking for addresses."""
        return self._forwarder.opened, self._forwarder.moved, self._hits, self._misses

    def close(self) -> None:
        """Hang up."""
        self.links.close()
        self._forwarder.close()

    def _find(self, stop: str) -> tuple[str, ...]:
        found = self._stops.get(stop) or self._coupled.get(stop, ())
        with self._lock:
            self._hits += bool(found)
            self._misses += not found
        return found

    def _of_use(self, found: AdvertisedAddresses) -> tuple[str, ...]:
        machine, addresses = found
        return of_use(addresses, is_near=bool(machine) and machine == self._machine)

    def _addresses(self, configuration: FrontEndSettings) -> tuple[str, ...]:
        if configuration.passage:
            return (Passage.parse(configuration.passage).address(FORWARDER),)
        names = (configuration.known_as,)
        return tuple(way for one in self._forwarder.addresses for way in advertised(one, *names))
