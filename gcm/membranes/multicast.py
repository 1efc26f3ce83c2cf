"""The `multicast` controller: the servers that the multicast interfaces are bound to."""

from __future__ import annotations

from random import Random

from gcm.components.controller import Controller
from gcm.errors import IllegalBindingError
from gcm.interfaces.interface import ClientInterface


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
