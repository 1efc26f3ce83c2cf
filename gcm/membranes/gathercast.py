"""The `gathercast` controller: configures the rounds of gathercast interfaces."""

from __future__ import annotations

from gcm.components.controller import Controller
from gcm.errors import IllegalBindingError
from gcm.interfaces.collective.gathercast import Gathering


class GathercastController(Controller):
    """Configures and shows the gathercast server interfaces."""

    __slots__ = ()
    name = "gathercast"

    def names(self) -> list[str]:
        """Return the names of the gathercast interfaces."""
        return [server.name for server in self.component.servers if server.gathering]

    def clients(self, interface: str) -> list[str]:
        """Return the bound clients, in the order in which their arguments are listed."""
        return [str(client) for client in self.component.server(interface).clients]

    def configure(
        self, interface: str, *, wait_for_all: bool = True, timeout: float | None = None
    ) -> None:
        """Set whether rounds wait for all clients, and for how many seconds.

        Raises:
            IllegalBindingError: the interface is not gathercast.
            IllegalLifeCycleError: calls are waiting in a round.
        """
        self._find(interface).configure(wait_for_all=wait_for_all, timeout=timeout)

    def waiting(self, interface: str) -> dict[str, list[str]]:
        """Return, for each operation with an open round, the clients that have not called yet."""
        return self._find(interface).waiting()

    def _find(self, interface: str) -> Gathering:
        gathering = self.component.server(interface).gathering
        if gathering is None:
            raise IllegalBindingError(
                "is not a gathercast interface",
                component=self.component.path,
                interface=interface,
                cure=f"Gathercast are: {', '.join(self.names()) or 'none'}",
            )
        return gathering
