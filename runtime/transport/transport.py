"""The contract of a transport, whose implementations `runtime.transport.transports` has."""

from __future__ import annotations

import _socket
from typing import Any, Protocol


class Transport(Protocol):
    """A way by which bytes get from one process to another, over stream sockets of the system.

    A class of the user is constructed without arguments, in ranks and front-ends. What goes over
    its connections is authenticated, and between hosts encrypted, whatever their sockets are.
    """

    is_on_host: bool
    """Whether its addresses are of use on the host only where they were made."""

    def listen(self, where: str, /) -> tuple[_socket.socket, str]:
        """Return a listening socket and its address, which others give to `connecting`.

        `where` is a path of which there is one for each listener, in a folder of the user's alone;
        nothing has to be made there. An address is one line of text, without the transport's name.
        """

    def connecting(self, address: str, /) -> tuple[_socket.socket, Any]:
        """Return a socket that is not connected, and what its `connect` takes; do not wait."""
