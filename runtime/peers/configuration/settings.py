"""The table of settings: the file, its checks, `gcm-peer config` and the reference are made of it.

A reader gets what TOML has for a key and returns the value, or raises ValueError with what the
value has to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from gcm.records import dataclass
from runtime.health.protocols import DetectorProtocol
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, MemberRole, Principal

PORT = 7700
"""Where supernodes listen, if nobody says otherwise."""
DEFAULT_PORTS = {
    MemberRole.SUPERNODE: range(PORT, PORT + 1),
    MemberRole.PEER: range(PORT + 1, PORT + 10),
}
Network = IPv4Network | IPv6Network

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]i?)?B?", re.ASCII)
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_YEAR = 365 * 24 * 3600


def _number(least: float, most: float, words: str, *kinds: type) -> Callable[[Any], Any]:
    def read(found: Any) -> Any:
        is_number = isinstance(found, kinds) and not isinstance(found, bool)
        if is_number and least <= found <= most:
            return kinds[0](found)
        raise ValueError(words)

    return read


def count(least: int = 0, most: int = 1 << 20) -> Callable[[Any], int]:
    """Return a reader of whole numbers."""
    return _number(least, most, f"a whole number from {least} to {most}", int)


def seconds(least: float = 0.1) -> Callable[[Any], float]:
    """Return a reader of durations."""
    return _number(least, _YEAR, f"seconds, from {least:g} to {_YEAR} (a year)", float, int)


def _switch(found: Any) -> bool:
    if isinstance(found, bool):
        return found
    raise ValueError("true or false")


_load = _number(0, 1e6, "a number from 0", float, int)


def _text(found: Any) -> str:
    if isinstance(found, str) and "\0" not in found and "\n" not in found:
        return found
    raise ValueError("text")


def _cores(found: Any) -> int:
    if found == "cores":
        return 0
    try:
        return count(1)(found)
    except ValueError:
        raise ValueError('a whole number from 1, or "cores"') from None


def _ports(found: Any) -> range | None:
    if found == "usual":
        return None
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    written = _PORTS.fullmatch(found) if isinstance(found, str) else None
    if written is not None:
        first = int(written[1])
        last = int(written[2] or first)
        if first <= last < 1 << 16:
            return range(first, last + 1)
    raise ValueError('a port such as 7701, or a range such as "7701-7709"')


def _size(found: Any) -> int:
    written = _SIZE.fullmatch(found) if isinstance(found, str) else None
    if written is not None:
        power = _POWERS[(written[2] or "")[:1]]
        return int(float(written[1]) * 1024**power)
    raise ValueError('a size such as "500 MiB" or "4 GiB"')


def _list(read: Callable[[str], Any], what: str) -> Callable[[Any], tuple[Any, ...]]:
    def read_all(found: Any) -> tuple[Any, ...]:
        if not isinstance(found, list):
            raise ValueError(f"a list of {what}")
        made = []
        for one in found:
            try:
                made.append(read(_text(one)))
            except (ValueError, PeerError):
                shown = json.dumps(one, default=str)
                raise ValueError(f"a list of {what}, and {shown} is none") from None
        return tuple(made)

    return read_all


def _network(found: str) -> Network:
    """Read an address or a prefix: `10.1.2.3`, `10.1.0.0/16`, `10.1.`."""
    if found.endswith("."):
        parts = found[:-1].split(".")
        found = ".".join([*parts, *["0"] * (4 - len(parts))]) + f"/{8 * len(parts)}"
    return ip_network(found, strict=False)


def _user(found: str) -> str:
    return found if found == "*" else Principal.parse(f"{MemberRole.USER}:{found}").name


def _address(found: Any) -> str:
    try:
        if _text(found):
            Address.parse(found, PORT)
    except (ValueError, PeerError):
        raise ValueError('an address such as "lab7.example.org" or "lab7:7700"') from None
    return str(found)


def _level(found: Any) -> str:
    if found in ("debug", "info", "warning", "error"):
        return str(found)
    raise ValueError('"debug", "info", "warning" or "error"')


def _detector(found: Any) -> str:
    names = [*map(str, DetectorProtocol), "none"]
    if found in ["", *names]:
        return str(found)
    raise ValueError(f"one of {', '.join(names)}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the file: its name, what is taken without it, how it is read, what it means."""

    name: str
    default: Any
    read: Callable[[Any], Any]
    meaning: str

    @property
    def written(self) -> str:
        """The default as the file has it."""
        return json.dumps(self.default)


SETTINGS = (
    Setting("applications", 1, count(), "how many applications may run here at once (J); 0 for any "
            "number"),
    Setting("processes", "cores", _cores, "how many processes of one application may run here (P); "
            '"cores" for as many as this machine has cores'),
    Setting("users", ["*"], _list(_user, "names of users"), "the users of the lab whose programs "
            'may run here; "*" for all users of the lab'),
    Setting("deny", [], _list(_network, "addresses and prefixes"), "from where files, programs "
            "and connections to ranks are refused: addresses and prefixes such as "
            '"10.1.2.3", "10.1." or "10.1.0.0/16"'),
    Setting("revoked", [], _list(Principal.parse, 'names such as "user:mallory"'), "members of the "
            "lab whose credentials are not accepted here"),
    Setting("listen", "", _text, "the address to listen at; empty for all addresses of this "
            "machine"),
    Setting("ports", "usual", _ports, "the port to listen at, or a range of which the first free "
            'one is taken; 0 for any; "usual" is 7700 for a supernode, and 7701-7709 for a peer'),
    Setting("address", "", _address, "the address at which others reach this peer, HOST or "
            "HOST:PORT; empty for the one from which it reaches its supernode"),
    Setting("supernodes", [], _list(lambda one: Address.parse(one, PORT), "addresses"), "the "
            "addresses of supernodes, HOST or HOST:PORT; all addresses of a DNS name are tried; "
            "empty for those in the credential"),
    Setting("python", "", _text, "the Python that runs programs here; empty for that of gcm-peer"),
    Setting("lease", 60, seconds(1), "the seconds after which a reservation expires if its user "
            "does not renew it"),
    Setting("alive_every", 20, seconds(), "the seconds between two alive signals to a supernode"),
    Setting("expire_after", 90, seconds(1), "after how many seconds of silence a host is removed; "
            "must be the same in the whole lab"),
    Setting("exchange_every", 5, seconds(), "the seconds between two comparisons of a supernode's "
            "table with that of another one"),
    Setting("refresh_every", 300, seconds(1), "the seconds until the list of hosts is fetched "
            "again"),
    Setting("known_hosts", 1000, count(1), "how many hosts a peer remembers"),
    Setting("ping_every", 10, seconds(), "the seconds between two measurements of round trips; "
            "each measures a few hosts, regardless of their number"),
    Setting("cache_size", "4 GiB", _size, "how much disk space staged files may use"),
    Setting("web", True, _switch, "whether this peer fetches files from web servers that a user "
            "names; they are compared with the SHA-256 from the user's gcm-peer run"),
    Setting("owner_load", 0, _load, "the load of this machine, without that of programs of the "
            "lab, from which on its owner comes first; 0: never"),
    Setting("owner_idle", 0, seconds(0), "after how many seconds without a key pressed at a "
            "terminal of this machine its owner counts as away; until then the owner comes first; "
            "0: never"),
    Setting("owner_applications", 0, count(), "how many applications may start while the owner "
            "comes first; 0: none"),
    Setting("owner_processes", 0, count(), "how many processes of one application may start while "
            "the owner comes first; 0: none"),
    Setting("detector", "", _detector, "the failure detector of runs that are started on this "
            "machine, unless --detector names another one; empty for that of gcm-peer run"),
    Setting("log_level", "info", _level, "how much goes into the log"),
)  # fmt: skip
"""All settings."""


def template() -> str:
    """Return a file that has every setting at its default, as a comment."""
    head = "# The configuration of a peer; every line is optional.\n"
    lines = [f"\n# {one.meaning}\n# {one.name} = {one.written}\n" for one in SETTINGS]
    return head + "".join(lines)


def reference() -> str:
    """Return the list of settings for the documentation, in Markdown."""
    return "".join(f"- `{one.name}` (`{one.written}`): {one.meaning}\n" for one in SETTINGS)
