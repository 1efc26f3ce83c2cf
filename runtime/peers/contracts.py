"""The services of a peer: read this first.

```
user's command ──► Reservation, Staging, Launch ──► peer
peer           ──► LabMembership                ──► peer, supernode
supernode      ──► LabMembership (exchange)     ──► supernode
peer           ──► Staging (get)                ──► peer
```

A call is a request with one answer, over a connection on which both ends have shown a certificate
of the lab. Arguments and answers are plain data: numbers, text, lists, dictionaries as JSON has
them, and bytes. Where a value of `runtime.peers.model` is meant, its plain form travels. `caller`
is who calls, as `str(Principal)`; the receiver compares it with the certificate. What is refused
raises `runtime.peers.errors.Refused` at the caller. No times of clocks travel, only seconds.
"""

from __future__ import annotations

from typing import Any, Protocol

from gcm.records import dataclass
from runtime.peers.model import MemberRole

Plain = dict[str, Any]


class LabMembership(Protocol):
    """Who is there."""

    def ping(self, caller: str) -> None:
        """Answer at once: the round trip is what is measured."""

    def alive(self, caller: str, row: list[Any]) -> Plain:
        """Tell a supernode the caller's own row of the table; see `runtime.peers.membership`.

        The answer says how many `members` are there and, where there is something to say, `row`:
        what the supernode knows of the caller and is newer, and `fault`: why nobody could reach the
        caller where it says it is.
        """

    def exchange(self, caller: str, news: Plain) -> Plain:
        """Tell another supernode what has changed since it last took something; it answers so."""

    def round_trips(self, caller: str, peers: list[Any]) -> Plain:
        """Return the seconds to peers and back by name, of those that answer.

        `peers` are `Member`s, at most `runtime.peers.model.MOST_MEASURED`. To those of which
        nothing is known the peer measures the way now.
        """

    def hosts(self, caller: str, most: int) -> Plain:
        """Return `rows` of peers that are known to be there, at most so many, by chance which.

        `complete` says whether there are no others.
        """

    def leave(self, caller: str) -> None:
        """Tell that the caller ends in order."""


class StatusService(Protocol):
    """What a peer tells about itself; to users, and to whoever has its own credential."""

    def status(self, caller: str) -> Plain:
        """Return shares, reservations, runs, hosts, round trips, and what machine it is on."""


class Reservation(Protocol):
    """The admission control of a peer: places for a while, only for users that its owner trusts."""

    def reserve(
        self, caller: str, key: str, application: str, processes: int, lease: float
    ) -> list[Any]:
        """Ask for so many places for so many seconds; the answer is a `PlacesAnswer`, at once.

        `key` was made by the reservation client, `application` is the random name of what is to
        run.
        """

    def renew(self, caller: str, key: str, lease: float) -> bool:
        """Let a reservation last so many seconds from now; tell whether there still is one."""

    def release(self, caller: str, key: str) -> None:
        """Give back the places of a key; one that is not known is released already."""

    def reach(self, caller: str, peers: list[Any]) -> list[str]:
        """Try to connect to other peers, each a `Member`; return "" or why not, for each.

        Only for users whose programs may run here, which could do the same.
        """


class Staging(Protocol):
    """Files of programs, by the SHA-256 of their content. Nothing is kept that does not match."""

    def held(self, caller: str, digests: list[str]) -> list[int]:
        """Return how many bytes there are of each content; less than its size: not all yet."""

    def put(self, caller: str, key: str, content: list[Any], offset: int, data: bytes) -> int:
        """Write a piece of a content `[digest, size]`, for a reservation; return what is there."""

    def get(self, caller: str, digest: str, offset: int, most: int) -> bytes:
        """Return a piece of a content, b"" behind what there is."""

    def fetch(self, caller: str, key: str, content: list[Any], sources: list[str]) -> Plain:
        """Let the peer get a content `[digest, size]` itself.

        `sources` are peers (`peer:NAME=HOST:PORT`) and files of web servers (`https://...`), tried
        in order. The answer comes when it is there, or some of it after a while: `bytes`, and the
        last `source`; else it is refused.
        """


class Launch(Protocol):
    """Starts what was reserved for."""

    def launch(
        self, caller: str, key: str, application: str, ranks: list[list[int]], guard: list[Any]
    ) -> Any:
        """Confirm a reservation and start a guard for it.

        `ranks` are those that will run here, each with the number of its replica, for who looks.
        `guard` has the size of its program and the two halves of a marker.

        The answer says `peer`, `python`, `version`, `host`, `processes`, `cache`, the folder of
        what was staged, and `token` and `doors`, with which processes there are reached at the port
        of the peer: see `runtime.transport.passage`.

        After it, the connection carries the guard's standard input (first those bytes) one way and
        its standard output the other way, and nothing else: it is that of
        `runtime.launchers.session`, which begins with the two halves of the marker. When the
        connection ends, the guard ends all that it has started, and the reservation ends. When the
        guard ends, the connection does.
        """


CONTRACTS: dict[type, str] = {
    LabMembership: "membership",
    StatusService: "watching",
    Reservation: "reservation",
    Staging: "staging",
    Launch: "launch",
}
"""The name of the service through which each contract is called."""

_USERS = frozenset({MemberRole.USER})
_PEERS = frozenset({MemberRole.PEER, MemberRole.SUPERNODE})
_ALL = _USERS | _PEERS

CALLERS: dict[tuple[type, str], frozenset[MemberRole]] = {
    (LabMembership, "ping"): _ALL,
    (LabMembership, "alive"): _PEERS,
    (LabMembership, "exchange"): frozenset({MemberRole.SUPERNODE}),
    (LabMembership, "round_trips"): _USERS,
    (LabMembership, "hosts"): _ALL,
    (LabMembership, "leave"): _PEERS,
    (StatusService, "status"): _ALL,
    (Reservation, "reserve"): _USERS,
    (Reservation, "renew"): _USERS,
    (Reservation, "release"): _USERS,
    (Reservation, "reach"): _USERS,
    (Staging, "held"): _USERS,
    (Staging, "put"): _USERS,
    (Staging, "get"): _ALL,
    (Staging, "fetch"): _USERS,
    (Launch, "launch"): _USERS,
}
"""For whom each operation is."""


@dataclass(frozen=True, slots=True)
class CallSize:
    """How many bytes a call or an answer may have: of `text`, and of `data` behind it.

    Text takes up to thirty times as much memory when it is read: `[],[],...` is a list each.
    """

    text: int = 64 << 10
    data: int = 0


CALL_SIZES: dict[tuple[type, str], CallSize] = {
    (LabMembership, "exchange"): CallSize(text=2 << 20),
    (Staging, "put"): CallSize(data=2 << 20),
}
"""How large calls may be that are larger than most; they are read after it is known whose."""

ANSWER_SIZES: dict[tuple[type, str], CallSize] = {
    (LabMembership, "exchange"): CallSize(text=2 << 20),
    (LabMembership, "hosts"): CallSize(text=4 << 20),
    (StatusService, "status"): CallSize(text=4 << 20),
    (Staging, "get"): CallSize(data=2 << 20),
}
"""How large answers may be that are larger than most."""

GUARDED = frozenset({Staging, Launch})
"""The contracts that serve nobody whose address is on the deny list; `Reservation` says so."""
