"""One daemon: its listener, its composite of service components, from its beginning to its end."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import cast

from gcm import Composite, Primitive, running
from gcm.adl import load
from runtime.peers.booking.admission_control import is_denied
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.configuration.reading import read
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.connections.listening import PeerListener
from runtime.peers.connections.passing import PassedConnections
from runtime.peers.connections.serving import Services
from runtime.peers.contracts import CONTRACTS
from runtime.peers.credentials.credential import Credential
from runtime.peers.daemon.context import DaemonContext, Placed
from runtime.peers.daemon.finding import listening_host, own_addresses
from runtime.peers.daemon.running import RunningFile
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, MemberRole

log = logging.getLogger(__name__)

DOCUMENTS = {
    MemberRole.PEER: Path(__file__).with_name("peer.fractal"),
    MemberRole.SUPERNODE: Path(__file__).with_name("supernode.fractal"),
}
"""The assembly of each kind of daemon."""


class Daemon:
    """A peer or a supernode, as the credential in its folder says.

        with Daemon(folder) as daemon:
            print(daemon.address)
            ...

    Raises:
        PeerError: the folder, the configuration or the credential cannot be used, no port is free,
            or a daemon runs in the folder already.
    """

    def __init__(self, folder: PeerFolder) -> None:
        self.folder = folder
        self.configuration = read(folder.configuration)
        self._stack = ExitStack()

    @property
    def address(self) -> Address:
        """Where the daemon says it is."""
        return own_addresses(self._context)[0]

    def __enter__(self) -> Daemon:
        """Begin."""
        with ExitStack() as stack:
            self._begin(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End everything that was started for others, and tell that the daemon leaves."""
        self._stack.close()

    def _begin(self, stack: ExitStack) -> None:
        found = self.configuration
        file = RunningFile(self.folder)
        stack.callback(file.close)
        credential = Credential.read(self.folder.credential)
        role = credential.principal.role
        if role not in DOCUMENTS:
            raise PeerError(
                f"a daemon cannot run with the credential of {credential.principal}",
                place=credential.place,
                cure=f"Make one with: gcm-peer lab invite {credential.principal.name} --peer",
            )

        def is_refused(host: str) -> bool:
            return is_denied(host, found.deny)

        passed = PassedConnections(self.folder.doors, is_refused)
        listener = PeerListener(
            credential, found.text("listen"), found.ports(role), found.revoked, passed=passed
        )
        stack.callback(listener.close)
        dialler = MemberDialler(credential, revoked=found.revoked)
        self._context = DaemonContext(
            self.folder, found, dialler, listener.port, _version(), threading.Event(), passed
        )
        root = cast(Composite, load(DOCUMENTS[role]))
        for child in root.children:
            content = cast(Placed, cast(Primitive, child).content)
            content.begin(self._context)
            stack.callback(content.end)
        stack.enter_context(running(root))
        services = Services(is_refused)
        for contract, name in CONTRACTS.items():
            if root.type.find(name):
                services.serve(contract, root.stub(name, contract))
        listener.start(services)
        stack.callback(listener.close)  # first: all that runs for others ends with it
        stack.callback(self._context.ending.set)
        file.write(Address(listening_host(self._context), listener.port))
        log.info("%s listens at %s", credential.principal, self.address)


def _version() -> str:
    try:
        return metadata.version("gcm-grid")
    except metadata.PackageNotFoundError:
        return "of a source tree"
