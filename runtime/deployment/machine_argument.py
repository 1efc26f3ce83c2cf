"""A machine as a command-line argument: `2x2x2` to emulate, or the hosts to reach over ssh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gcm.documents import Attribute
from gcm.records import dataclass
from runtime.deployment.hosts import HostListError, expand_hosts, split_names
from runtime.deployment.language.table import LANGUAGE
from runtime.native_mpi import FLAVOURS
from runtime.safe_names import is_command, is_user
from runtime.topology import Wan

LOCALHOST = "localhost"
_SHAPE = re.compile(r"[0-9]{1,9}(?:[xX][0-9]{1,9}){0,2}", re.ASCII)
_BETWEEN = re.compile(r",(?![^\[]*\])")
_HOST = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<names>\[[^\]]*:[^\]]*\]|[^:]*)(?::(?P<ranks>.*))?")
_SETTING = re.compile(r":(?=[A-Za-z-]+=)")
_SETTINGS_OF_HOSTS = ("python", "mpi")

_WAN = re.compile(
    r"(?P<delay>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|s)"
    r"(?:,(?P<rate>[0-9]+(?:\.[0-9]+)?)(?P<bits>kbit|mbit|gbit))?",
    re.ASCII,
)
_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_LONGEST_DELAY, _SLOWEST_RATE = 10.0, 1e3

MOST_OF_A_HOST = 1024
"""More ranks of one host are taken for a port; a descriptor may have them."""


@dataclass(frozen=True, slots=True)
class Emulation:
    """Equal clusters on this machine."""

    sites: int
    clusters: int
    ranks: int
    wan: str = ""
    """The line between its sites, as `parse_wan` reads it; empty for none."""


@dataclass(frozen=True, slots=True)
class HostArgument:
    """A host that is a cluster; `ranks` is None if not given.

    `python` and `mpi`, a flavour of `<mpi>`, are what is said of this host alone, else empty.
    """

    name: str
    user: str = ""
    ranks: int | None = None
    python: str = ""
    mpi: str = ""

    @property
    def is_local(self) -> bool:
        """Return whether it is this machine, which needs no ssh."""
        return self.name == LOCALHOST and not self.user


@dataclass(frozen=True, slots=True)
class PeersArgument:
    """Places to be booked at peers, for so many ranks."""

    ranks: int


Machine = Emulation | PeersArgument | tuple[tuple[HostArgument, ...], ...]
"""The machine to run on: an emulation, peers, or sites of hosts."""


def parse_emulation(text: str) -> Emulation:
    """Return what `SITESxCLUSTERSxRANKS` means; what is left out on the left is 1.

    >>> parse_emulation("3x4")
    Emulation(sites=1, clusters=3, ranks=4, wan='')

    Raises:
        ValueError: it has another form, or too small or too large a number.
    """
    if not _SHAPE.fullmatch(text):
        raise ValueError(
            f"'{text}' is not SITESxCLUSTERSxRANKS, CLUSTERSxRANKS or RANKS, as 2x2x2, 2x4 or 8"
        )
    numbers = [int(number) for number in text.lower().split("x")]
    sites, clusters, ranks = [1] * (3 - len(numbers)) + numbers
    for name, number in (("sites", sites), ("clusters", clusters), ("ranks", ranks)):
        _check_number(text, number, LANGUAGE.elements["emulate"].attribute(name))
    return Emulation(sites, clusters, ranks)


def parse_wan(text: str) -> Wan:
    """Return what `DELAY` or `DELAY,RATE` means: a line between sites, one way.

    >>> parse_wan("10ms,1gbit")
    Wan(delay=0.01, rate=125000000.0)

    Raises:
        ValueError: it has another form.
    """
    words = text.replace(" ", "").lower()
    found = _WAN.fullmatch(words)
    if not found and _WAN.fullmatch(f"{words}ms"):
        raise ValueError(f"'{text}' has no unit: write {words}ms or {words}s, the delay one way")
    if not found:
        raise ValueError(
            f"'{text}' is not a delay one way, and a rate: DELAY,RATE as in 10ms,1gbit or 5ms"
        )
    rate = float(found["rate"] or 0) * _BITS[found["bits"] or "bit"] / 8
    delay = float(found["delay"]) * (0.001 if found["unit"] == "ms" else 1.0)
    if delay > _LONGEST_DELAY or (found["rate"] and rate < _SLOWEST_RATE):
        raise ValueError(f"'{text}' is no line for a program: at most 10s, and at least 8kbit")
    return Wan(delay, rate)


def parse_hosts(text: str) -> tuple[HostArgument, ...]:
    """Return the hosts of a list of `[USER@]HOST[:RANKS][:SETTING=VALUE]...`, with commas between.

    Blanks separate too. A host may have ranges as in a descriptor. An IPv6 address stands in
    brackets where its last group could as well be a number of ranks.

    >>> [host.name for host in parse_hosts("ana@node[1-2]:8,gw")]
    ['node1', 'node2', 'gw']
    >>> parse_hosts("gw:2:python=~/v/bin/python:mpi=openmpi")[0].python
    '~/v/bin/python'

    Raises:
        ValueError: it has another form.
    """
    if not all(part.strip() for part in _BETWEEN.split(text)):
        raise ValueError(f"'{text}' has a comma with no host before or behind it")
    return tuple(host for word in split_names(text) for host in _hosts(word))


def _check_number(text: str, number: int, attribute: Attribute | None) -> None:
    """Raise `ValueError` for a number that a descriptor would not allow either."""
    assert attribute is not None, "the language has it"
    assert attribute.most is not None, "it is a number with a limit"
    if not attribute.least <= number <= attribute.most:
        raise ValueError(
            f"'{text}' asks for {number} {attribute.name}: it can be {attribute.least} to"
            f" {attribute.most:,}"
        )


def _hosts(word: str) -> list[HostArgument]:
    host, *settings = _SETTING.split(word)
    more = _settings(word, settings)
    python, mpi = more.get("python", ""), more.get("mpi", "")
    found = [replace(one, python=python, mpi=mpi) for one in _plain_hosts(host)]
    if any(one.python and one.is_local for one in found):
        raise ValueError(
            f"'{word}' names a Python for this machine, where the one runs that runs gcm-deploy"
        )
    return found


def _settings(word: str, settings: Sequence[str]) -> dict[str, str]:
    """Return what the settings of a host say; raises ValueError."""
    found: dict[str, str] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in _SETTINGS_OF_HOSTS:
            raise ValueError(
                f"'{name}' of '{word}' is no setting of a host: these are python=PATH and "
                "mpi=FLAVOUR, and what else a cluster can have stands in a descriptor, which "
                "--write FILE makes of this line"
            )
        if name in found:
            raise ValueError(f"'{word}' has two settings {name}")
        if name == "python" and not is_command(value):
            raise ValueError(f"'{value}' of '{word}' is not the path of a Python")
        if name == "mpi":
            check_flavour(value)
        found[name] = value
    return found


def check_flavour(text: str) -> str:
    """Return the name of a kind of MPI, which is right; raises ValueError for another."""
    if text not in FLAVOURS:
        raise ValueError(f"'{text}' is no kind of MPI known here: {', '.join(FLAVOURS)}")
    return text


def _plain_hosts(word: str) -> list[HostArgument]:
    found = _HOST.fullmatch(word)
    if found is None:
        raise ValueError(f"'{word}' is not [USER@]HOST[:RANKS]")
    user, listed, ranks = found.groups()
    if ranks is not None and _is_address(f"{listed}:{ranks}"):
        listed, ranks = f"{listed}:{ranks}", None
    if user == "":
        raise ValueError(f"'{word}' has no user before its '@'")
    if user is not None and not is_user(user):
        raise ValueError(f"'{user}' in '{word}' is not a login")
    if ranks is not None and not re.fullmatch("[0-9]{1,9}", ranks, re.ASCII):
        several = "; an IPv6 address stands in brackets: [fe80::1]:4" if ":" in ranks else ""
        raise ValueError(f"'{ranks}' behind the ':' of '{word}' is not a number of ranks{several}")
    if ranks is not None and int(ranks) > MOST_OF_A_HOST:
        raise ValueError(
            f"'{word}' asks for {ranks} ranks on a host: behind the ':' stands a number of ranks; "
            "a port stands in ~/.ssh/config under the name of the host, where ssh looks for it"
        )
    if ranks is not None:
        _check_number(word, int(ranks), LANGUAGE.elements["mpi"].attribute("ranks"))
    try:
        names = expand_hosts(listed)
    except HostListError as error:
        raise ValueError(f"'{word}' names no host: {error}") from error
    return [HostArgument(name, user or "", None if ranks is None else int(ranks)) for name in names]


def _is_address(text: str) -> bool:
    """Return whether a text can only be IPv6 addresses, without numbers of ranks."""
    return _are_hosts(text) and not _are_hosts(text.rpartition(":")[0])


def _are_hosts(text: str) -> bool:
    try:
        return bool(expand_hosts(text))
    except HostListError:
        return False
