"""A lab of daemons on this machine, each in a process and a folder of its own."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.connections.connection import MemberConnection
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import Reservation, StatusService
from runtime.peers.credentials.authority import Authority
from runtime.peers.daemon import boot, find_running
from runtime.peers.model import Address, PlacesAnswer, Principal, key_of

T = TypeVar("T")
PATIENCE = 30.0

QUICK = """\
listen = "127.0.0.1"
ports = 0
alive_every = 0.3
expire_after = 1.5
exchange_every = 0.2
refresh_every = 1
ping_every = 0.3
log_level = "debug"
"""


class Lab:
    """Daemons by name, and users; `close` ends all of them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.authority = Authority.create("ourlab", base / "lab", _now())
        self.addresses: dict[str, Address] = {}
        self.alice = self.user("alice")

    def user(self, name: str) -> MemberDialler:
        """Return what opens connections of a user."""
        return MemberDialler(self.authority.invite(Principal.parse(f"user:{name}"), _now()))

    def folder(self, who: str) -> PeerFolder:
        """Return the folder of a daemon."""
        return PeerFolder(self.base / who.replace(":", "-"))

    def start(self, who: str, supernodes: tuple[str, ...] = (), more: str = "") -> Address:
        """Start a daemon that finds these supernodes, at its port if it has been there before."""
        folder = self.folder(who)
        folder.make()
        if not folder.credential.exists():
            self.authority.invite(Principal.parse(who), _now()).write(folder.credential)
        known = [str(self.addresses[one]) for one in supernodes]
        port = self.addresses[who].port if who in self.addresses else 0
        settings = QUICK.replace("ports = 0", f"ports = {port}")
        folder.configuration.write_text(f"supernodes = {known}\n{settings}{more}")
        boot(folder)
        found = find_running(folder)
        assert found is not None
        self.addresses[who] = found.address
        return found.address

    def kill(self, who: str) -> None:
        """Let a daemon end without a word."""
        found = find_running(self.folder(who))
        assert found is not None
        os.kill(found.pid, 9)
        eventually(lambda: find_running(self.folder(who)) is None)

    def status(self, who: str) -> dict[str, Any]:
        """Return what a daemon tells a user."""
        with self.dial(who) as connection:
            return connection.stub(StatusService).status(self.alice.me)

    def dial(self, who: str, user: MemberDialler | None = None) -> MemberConnection:
        """Open a connection to a daemon, as a user."""
        return (user or self.alice).dial(self.addresses[who], Principal.parse(who))

    def hosts(self, who: str) -> set[str]:
        """Return whom a daemon knows and does not take for silent."""
        known = self.status(who)["membership"]["hosts"]
        return {one["name"] for one in known if not one.get("silent")}

    def reserve(
        self, who: str, user: MemberDialler | None = None, lease: float = 30.0
    ) -> tuple[str, PlacesAnswer]:
        """Ask a daemon for a place; return the key and the answer."""
        key, client = key_of(os.urandom(16).hex()), user or self.alice
        with self.dial(who, client) as connection:
            reservation = connection.stub(Reservation)
            return key, PlacesAnswer.of(reservation.reserve(client.me, key, f"app-{key}", 1, lease))

    def close(self) -> None:
        """End all daemons."""
        for who in self.addresses:
            if found := find_running(self.folder(who)):
                found.halt()


def eventually(look: Callable[[], T]) -> T:
    """Look again and again until there is something; return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {found}"
        time.sleep(0.05)
    return found


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
