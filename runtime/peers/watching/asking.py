"""Asks a daemon, and with a user's credential the peers that it knows, how they are."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gcm.records import dataclass
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.contracts import StatusService
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, Principal, is_status_of
from runtime.peers.watching.view import LabView, view_of

MOST_ASKED = 256
AT_ONCE = 16
TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class LabWatcher:
    """Looks at a lab through the daemon at an address.

    `own` asks that daemon; `user`, if there is one, asks the other peers, which tell users only.
    """

    own: MemberDialler
    address: Address
    expected: Principal | None
    user: MemberDialler | None

    def snapshot(self) -> LabView:
        """Return what is to be seen now; raises PeerError if the daemon does not answer."""
        own = _status(self.own, self.address, self.expected)
        asked = [one for one in own["membership"]["hosts"] if str(one["name"]).startswith("peer:")][
            :MOST_ASKED
        ]
        if self.user is None or not asked:
            return view_of(own, ())
        with ThreadPoolExecutor(min(AT_ONCE, len(asked)), "status") as threads:
            statuses = list(threads.map(self._other, asked))
        return view_of(own, [one for one in statuses if one is not None])

    def _other(self, host: Mapping[str, Any]) -> dict[str, Any] | None:
        assert self.user is not None
        expected = Principal.parse(str(host["name"]))
        for written in host["addresses"]:
            try:
                status = _status(self.user, Address.parse(str(written)), expected)
            except PeerError:
                continue  # it is shown without its runs
            return status if is_status_of(str(expected), status) else None
        return None


def _status(dialler: MemberDialler, address: Address, expected: Principal | None) -> dict[str, Any]:
    with dialler.dial(address, expected, TIMEOUT) as connection:
        return connection.stub(StatusService).status(dialler.me)
