"""The controllers of collective interfaces: `gathercast` has rounds, `multicast` has servers."""

from __future__ import annotations

from random import Random

from gcm.components.controller import Controller
from gcm.errors import IllegalBindingError, IllegalTypeError
from gcm.interfaces.collective.gathercast import Gathering
from gcm.interfaces.collective.gathering import RoundSettings, WhenLeft
from gcm.interfaces.interface import ClientInterface


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
        self,
        interface: str,
        *,
        wait_for_all: bool = True,
        timeout: float | None = None,
        when_left: WhenLeft | str = WhenLeft.GO_ON,
    ) -> None:
        """Set whether rounds wait for all clients, for how many seconds, and what if one leaves.

        A client that is unbound, removed or lost before it has called is done without (`go-on`), is
        the error of those that have called (`refuse`), or its place waits for the client that is
        bound next (`replace`).

        Raises:
            IllegalBindingError: the interface is not gathercast.
            IllegalLifeCycleError: calls are waiting in a round.
            IllegalTypeError: the timeout is not above zero, or there is no such `when_left`.
        """
        where = {"component": self.component.path, "interface": interface}
        try:
            leaving = WhenLeft(when_left)
        except ValueError:
            raise IllegalTypeError(
                f"rounds cannot '{when_left}' when a client leaves",
                cure=f"Say one of: {', '.join(WhenLeft)}",
                **where,
            ) from None
        try:
            settings = RoundSettings(wait_for_all, timeout, leaving)
        except ValueError as error:
            raise IllegalTypeError(str(error), **where) from None
        self._find(interface).configure(settings)

    def settings(self, interface: str) -> RoundSettings:
        """Return when rounds of the interface are over, as it was configured.

        Raises:
            IllegalBindingError: the interface is not gathercast.
        """
        return self._find(interface).settings

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


class MulticastController(Controller):
    """Shows the servers of multicast client interfaces; `binding` adds and removes them."""

    __slots__ = ()
    name = "multicast"

    def names(self) -> list[str]:
        """Return the names of the multicast interfaces."""
        return [end.name for end in self.component.bindables if end.type.is_multicast]

    def bound(self, interface: str) -> list[str]:
        """Return the paths of the bound servers, in the order of the results.

        Raises:
            IllegalBindingError: the interface is not multicast.
        """
        return [server.path for server in self._find(interface).servers]

    def draw_from(self, interface: str, rng: Random) -> None:
        """Make random distributions of the interface use `rng`, to repeat a run.

        Raises:
            IllegalBindingError: the interface is not multicast.
        """
        end = self._find(interface)
        end.rng = rng
        end.wire()

    def _find(self, interface: str) -> ClientInterface:
        end = self.component.bindable(interface)
        if not end.type.is_multicast:
            raise IllegalBindingError(
                f"is a {end.type.cardinality} interface, not a multicast one",
                component=self.component.path,
                interface=interface,
                cure=f"Multicast are: {', '.join(self.names()) or 'none'}",
            )
        return end
