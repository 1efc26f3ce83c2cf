"""What peers talk about: addresses, shares, who somebody is, keys of reservations. Values only.

Every value has a plain form (numbers, text, lists, dictionaries) that travels as JSON. `of` reads
it back and refuses what is no such value. No time of a clock is ever part of one: hosts disagree
about the time, so what travels are ages and durations in seconds.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, NewType

from gcm.records import dataclass
from runtime.peers.errors import PeerError
from runtime.shown_text import shown

PeerName = NewType("PeerName", str)
"""The name of a peer in its lab, as its certificate says."""

Key = NewType("Key", str)
"""The key of one reservation at one peer: random, used once, shown when it is confirmed."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", re.ASCII)
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)

MOST_PROCESSES = 1 << 20
MOST_CORES = 1 << 20
MOST_BYTES = 1 << 60
MOST_LOAD = 1e6
MOST_ADDRESSES = 8
LONGEST_HOST = 255
MOST_MEASURED = 64
"""Peers to which another one measures the way in one call."""

MOST_DETAIL = 400
"""Characters in which a peer says why it has no places."""

SHORTEST_LEASE = 1.0
"""The seconds of a shorter one would go by with renewals."""


class MemberRole(StrEnum):
    """What a credential is for."""

    USER = "user"
    PEER = "peer"
    SUPERNODE = "supernode"


class Reason(StrEnum):
    """Why a peer refuses a request; for programs, beside the words for people."""

    BUSY = "busy"
    """As many applications run as its owner allows, or its owner works now."""
    DENIED = "denied"
    """The address of the client is on the deny list."""
    NOT_TRUSTED = "not trusted"
    """Its owner does not run anything of this user."""
    UNKNOWN_KEY = "unknown key"
    """There is no reservation with this key, or it has ended."""
    WRONG_KEY = "wrong key"
    """The key was used before, or belongs to somebody else or to another application."""
    BAD_REQUEST = "bad request"
    """The request is no request."""
    ENDING = "ending"
    """The peer is about to end."""
    FAILED = "failed"
    """Something at the peer went wrong; its log has more."""
    DISK = "disk"
    """The peer has no room for files."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who somebody is, as a certificate of the lab says.

    >>> str(Principal.parse("user:alice")), Principal.parse("peer:host7").role
    ('user:alice', <MemberRole.PEER: 'peer'>)
    """

    role: MemberRole
    name: str

    @classmethod
    def parse(cls, written: str) -> Principal:
        """Read `role:name`; raises PeerError."""
        role, _, name = written.partition(":")
        if role not in set(MemberRole) or not _NAME.fullmatch(name):
            raise PeerError(
                f"{shown(written)!r} does not name a member",
                cure="Write user:NAME, peer:NAME or supernode:NAME; a name has letters, digits, "
                "'.', '_' and '-' within",
            )
        return cls(MemberRole(role), name)

    def __str__(self) -> str:
        """Return `role:name`."""
        return f"{self.role}:{self.name}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where somebody listens.

    >>> Address.parse("[::1]:7700"), str(Address("lab7.example.org", 7700))
    (Address(host='::1', port=7700), 'lab7.example.org:7700')
    """

    host: str
    port: int

    @classmethod
    def parse(cls, written: str, port: int | None = None) -> Address:
        """Read `host:port`; `port` is taken where none is written. Raises PeerError."""
        host, colon, number = written.rpartition(":")
        if not colon or (":" in host and not host.startswith("[")):
            host, number = written, "" if port is None else str(port)
        host = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host
        is_number = number.isascii() and number.isdecimal() and len(number) <= len("65535")
        is_host = host.isprintable() and not any(c in host for c in " /[]@")
        if not 0 < len(host) <= LONGEST_HOST or not is_host or not is_number:
            raise PeerError(
                f"{shown(written)!r} is not an address", cure="Write HOST:PORT, such as lab7:7700"
            )
        if not 0 < int(number) < 1 << 16:
            raise PeerError(f"{shown(written)!r} has no such port", cure="Ports are 1 to 65535")
        return cls(host, int(number))

    def __str__(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Share:
    """What an owner lends: `applications` (J) at once, 0 for any number, and `processes` (P) each.

    >>> Share(2, 4).plain(), Share.of([0, 1])
    ([2, 4], Share(applications=0, processes=1))
    """

    applications: int = 1
    processes: int = 1

    def plain(self) -> list[int]:
        """Return the plain form."""
        return [self.applications, self.processes]

    @classmethod
    def of(cls, plain: Any) -> Share:
        """Read the plain form; raises PeerError."""
        match plain:
            case [int(j), int(p)] if 0 <= j <= MOST_PROCESSES and 0 <= p <= MOST_PROCESSES:
                return cls(j, p)
        raise PeerError(f"{plain!r} is not a share")


@dataclass(frozen=True, slots=True)
class Member:
    """A peer or a supernode as others know it; `addresses` in the order to be tried.

    >>> peer = Member(PeerName("host7"), (Address("10.0.0.7", 7700),), Share(1, 4))
    >>> Member.of(peer.plain()) == peer
    True
    """

    name: PeerName
    addresses: tuple[Address, ...]
    share: Share = Share()
    role: MemberRole = MemberRole.PEER

    @property
    def principal(self) -> Principal:
        """Who has to answer at its addresses."""
        return Principal(self.role, self.name)

    @property
    def facts(self) -> dict[str, Any]:
        """What status services tell of it."""
        return {
            "name": str(self.principal),
            "addresses": [str(one) for one in self.addresses],
            "applications": self.share.applications,
            "processes": self.share.processes,
        }

    def plain(self) -> list[Any]:
        """Return the plain form."""
        return [str(self.principal), [str(one) for one in self.addresses], self.share.plain()]

    @classmethod
    def of(cls, plain: Any) -> Member:
        """Read the plain form; raises PeerError."""
        match plain:
            case [str(who), [str(), *_] as written, share] if len(written) <= MOST_ADDRESSES:
                principal = Principal.parse(who)
                if principal.role is not MemberRole.USER:
                    addresses = tuple(Address.parse(text(one)) for one in written)
                    name = PeerName(principal.name)
                    return cls(name, addresses, Share.of(share), principal.role)
        raise PeerError(f"{plain!r:.200} is not a peer")


@dataclass(frozen=True, slots=True)
class PeerMachine:
    """The machine of a peer, as far as it has told; memory is in bytes, 0 is unknown."""

    system: str = ""
    processor: str = ""
    cores: int = 0
    memory: int = 0
    free: int = 0
    load: float | None = None

    @classmethod
    def of(cls, plain: Any) -> PeerMachine:
        """Read what a peer tells of its machine; what is not of that form tells nothing."""
        match plain:
            case {
                "system": str(system), "processor": str(processor), "cores": int(cores),
                "memory": int(memory), "free": int(free), "load": int() | float() as load,
            } if 0 < cores < MOST_CORES and 0 <= free <= memory < MOST_BYTES and (
                0 <= load < MOST_LOAD
            ):  # fmt: skip
                return cls(system, processor, cores, memory, free, float(load))
        return cls()

    @property
    def busy(self) -> float | None:
        """The load for each core; None where that is not known."""
        return None if self.load is None else self.load / max(1, self.cores)


@dataclass(frozen=True, slots=True)
class PlacesAnswer:
    """What a peer answers to a request for places.

    `processes` is how many it grants (c = min(P, asked)), `lease` for how many seconds unless that
    is renewed. Without any, `reason` and `detail` say why.
    """

    processes: int = 0
    lease: float = 0.0
    reason: Reason | None = None
    detail: str = ""

    @property
    def is_granted(self) -> bool:
        """Whether there are places."""
        return self.reason is None

    def plain(self) -> list[Any]:
        """Return the plain form."""
        return [self.processes, self.lease, self.reason and str(self.reason), self.detail]

    @classmethod
    def of(cls, plain: Any) -> PlacesAnswer:
        """Read the plain form; raises PeerError."""
        match plain:
            case [int(processes), int() | float() as lease, None, str(detail)] if (
                processes > 0 and lease >= SHORTEST_LEASE
            ):
                return cls(processes, float(lease), None, shown(detail, MOST_DETAIL))
            case [0, int() | float(), str(reason), str(detail)] if reason in set(Reason):
                return cls(0, 0.0, Reason(reason), shown(detail, MOST_DETAIL))
        raise PeerError(f"{plain!r:.200} is not an answer to a request for places")


def text(plain: Any) -> str:
    """Return a plain value that has to be text; raises PeerError."""
    if isinstance(plain, str):
        return plain
    raise PeerError(f"{plain!r:.200} is not text")


def are_ranks(plain: Any) -> bool:
    """Tell whether a plain value is a list of ranks, each with the number of its replica.

    >>> are_ranks([[0, 0], [3, 1]]), are_ranks([[0]])
    (True, False)
    """

    def is_rank(one: Any) -> bool:
        match one:
            case [int(rank), int(replica)]:
                return rank >= 0 and replica >= 0
        return False

    return isinstance(plain, list) and all(map(is_rank, plain))


def is_status_of(name: str, status: Any) -> bool:
    """Tell whether what a peer has said of itself can be shown, whatever it is.

    >>> is_status_of("peer:a", {"name": "peer:b", "reservation": {"runs": []}})
    False
    """
    match status:
        case {"name": str(found), "reservation": {"runs": [*runs]}, "launch": {"ranks": {**ranks}}}:
            are_good = all(map(_is_run, runs)) and all(map(are_ranks, ranks.values()))
            return found == name and are_good
    return False


def _is_run(run: Any) -> bool:
    match run:
        case {"user": str(), "application": str(), "phase": str(), "processes": int(processes)}:
            return 0 <= processes <= MOST_PROCESSES
    return False


def key_of(plain: Any) -> Key:
    """Return a plain value that has to be a key; raises PeerError.

    >>> key_of("0123456789abcdef0123456789abcdef")
    '0123456789abcdef0123456789abcdef'
    """
    if isinstance(plain, str) and _KEY.fullmatch(plain):
        return Key(plain)
    raise PeerError("a key has 32 hexadecimal digits")
