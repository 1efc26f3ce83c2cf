"""Reads a configuration: all faults at once, each with its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gcm.suggestion import did_you_mean
from runtime.peers.configuration.settings import DEFAULT_PORTS, SETTINGS, Network
from runtime.peers.errors import PeerError, of_file
from runtime.peers.model import Address, MemberRole, Principal, Share


class PeerConfiguration:
    """The settings of one peer; `values` has all of them, by name."""

    def __init__(self, values: Mapping[str, Any], written: Mapping[str, Any]) -> None:
        self.values = MappingProxyType(dict(values))
        self.written = MappingProxyType(dict(written))
        """What the file has, as TOML has it."""

    @property
    def share(self) -> Share:
        """What the owner lends while nobody works at the machine."""
        processes = self.values["processes"] or len(os.sched_getaffinity(0))
        return Share(self.values["applications"], processes)

    @property
    def owner_share(self) -> Share:
        """What the owner lends while the owner comes first; 0 applications are none, not any."""
        processes = self.values["owner_processes"] if self.values["owner_applications"] else 0
        return Share(self.values["owner_applications"], processes)

    @property
    def users(self) -> frozenset[str] | None:
        """Whose programs may run here; None for those of all users of the lab."""
        users = self.values["users"]
        return None if "*" in users else frozenset(users)

    def ports(self, role: MemberRole) -> Sequence[int]:
        """Return at which ports a daemon may listen; the first free one is taken."""
        return self.values["ports"] or DEFAULT_PORTS[role]

    @property
    def deny(self) -> tuple[Network, ...]:
        """From where nothing is taken."""
        return tuple(self.values["deny"])

    @property
    def revoked(self) -> frozenset[Principal]:
        """Whose credentials count for nothing."""
        return frozenset(self.values["revoked"])

    @property
    def supernodes(self) -> tuple[Address, ...]:
        """Where supernodes are."""
        return tuple(self.values["supernodes"])

    def seconds(self, name: str) -> float:
        """Return a duration."""
        return float(self.values[name])

    def number(self, name: str) -> int:
        """Return a number."""
        return int(self.values[name])

    def is_on(self, name: str) -> bool:
        """Return whether something is wanted."""
        return bool(self.values[name])

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self.values[name])


def read(file: Path) -> PeerConfiguration:
    """Read a file; one that does not exist has only defaults. Raises PeerError with all faults."""
    written = ""
    with of_file("the configuration cannot be read", file), suppress(FileNotFoundError):
        written = file.read_text(encoding="utf-8")
    return read_text(written, str(file))


def read_text(written: str, place: str = "peer.toml") -> PeerConfiguration:
    """Read the text of a file.

    >>> read_text("applications = 2").share.applications
    2
    """
    try:
        found = tomllib.loads(written)
    except tomllib.TOMLDecodeError as error:
        raise PeerError("this is not TOML", place=place, cause=str(error), cure=CURE) from error
    faults = [_unknown(written, place, name) for name in found if name not in _NAMES]
    values = {}
    for one in SETTINGS:
        try:
            values[one.name] = one.read(found.get(one.name, one.default))
        except ValueError as error:
            faults.append(f"{_line(written, place, one.name)}: {one.name} has to be {error}")
    if not faults:
        faults = _contradictions(written, place, values)
    if faults:
        shown = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise PeerError(
            f"the configuration has {shown}", place=place, cause="\n".join(faults), cure=CURE
        )
    return PeerConfiguration(values, found)


CURE = "gcm-peer config --template shows every setting"
_NAMES = {one.name: one for one in SETTINGS}


def _unknown(written: str, place: str, name: str) -> str:
    meant = did_you_mean(name, _NAMES)
    return f"{_line(written, place, name)}: there is no setting {name}" + (
        f"; {meant}" if meant else ""
    )


def _contradictions(written: str, place: str, values: Mapping[str, Any]) -> list[str]:
    """Return what is right by itself and not together."""
    if values["expire_after"] > 2 * values["alive_every"]:
        return []
    name = "expire_after" if re.search(r"(?m)^\s*expire_after\b", written) else "alive_every"
    return [
        f"{_line(written, place, name)}: expire_after ({values['expire_after']:g}) has to be more "
        f"than twice alive_every ({values['alive_every']:g}), or living hosts count as gone"
    ]


def _line(written: str, place: str, name: str) -> str:
    """Return the place of a key, with its line if it is written as everybody does."""
    begin = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[=.\]]""")
    for number, line in enumerate(written.splitlines(), 1):
        if begin.match(line):
            return f"{place}:{number}"
    return place
