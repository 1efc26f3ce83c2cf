"""Explains why a host could not be examined, and how to fix it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gcm.documents import Severity
from runtime.deployment import SshHop
from runtime.doctor.records import ExaminedHost, Finding, Record

if TYPE_CHECKING:
    from gcm.documents import Location
    from runtime.launchers.errors import LaunchError

_Mend = Callable[[tuple[SshHop, ...], "LaunchError"], str]


def by_hand(hops: tuple[SshHop, ...], program: str = "ssh") -> str:
    """Return the command line that a person types to get to the last hop.

    >>> by_hand((SshHop("gate"), SshHop("inner", port=2222, user="ana")))
    'ssh -J gate -p 2222 ana@inner'
    """
    words = [program]
    if hops[:-1]:
        jumps = (f"{hop.destination}:{hop.port or 22}" for hop in hops[:-1])
        words += ["-J", ",".join(one.removesuffix(":22") for one in jumps)]
    last = hops[-1]
    if last.port is not None:
        words += ["-p", str(last.port)]
    if last.key:
        words += ["-i", last.key]
    if last.known_hosts:
        words += ["-o", f"UserKnownHostsFile={last.known_hosts}"]
    return shlex.join([*words, last.destination])


def check_reached(record: Record) -> Iterator[Finding]:
    """Yield why a host could not be examined."""
    fault, host = record.fault, record.host
    if fault is None:
        return
    unknown = "not-reached", "nothing can be started there"
    code, why = _MEANINGS.get(type(fault).__name__, unknown)
    yield Finding(
        code,
        Severity.ERROR,
        "; ".join(filter(None, [fault.what, _told(fault)])),
        host.where,
        why,
        _mend(host, fault),
        _where(host, fault),
    )


def _where(host: ExaminedHost, fault: LaunchError) -> Location | None:
    """Return where the hop without an address is written, or else the cluster."""
    hops = zip(host.hops, host.hop_locations, strict=False)
    return next((place for hop, place in hops if _is_unknown(hop, fault)), host.location)


def _is_unknown(hop: SshHop, fault: LaunchError) -> bool:
    return f"hostname {hop.host}:" in fault.cause


def _told(fault: LaunchError) -> str:
    """Return the line about a name without an address, or else the last one of what ssh said."""
    lines = fault.cause.strip().split("\n")
    return next((one for one in lines if "resolve hostname" in one), lines[-1])


def _mend(host: ExaminedHost, fault: LaunchError) -> str:
    hops = host.hops if host.behind is None else (SshHop(host.name),)
    fix = _MENDS.get(type(fault).__name__)
    if not hops or fix is None:
        return fault.cure
    prefix = f"on the front-end of {host.where.partition(',')[0]}: " if host.behind else ""
    return prefix + fix(_as_far_as(hops, fault), fault)


def _as_far_as(hops: tuple[SshHop, ...], fault: LaunchError) -> tuple[SshHop, ...]:
    """Return the hops up to that which ssh's words name, all of them if it names none before."""
    for count, hop in enumerate(hops[:-1], 1):
        name = re.escape(_known_name(hop))
        named = rf"(for|host|hostname|to|with) {name}(?![\w.-])"
        refused = rf"(^|@){re.escape(hop.host)}: Permission denied"
        if re.search(f"{named}|{refused}", fault.cause, re.MULTILINE):
            return hops[:count]
    return hops


def _known_name(hop: SshHop) -> str:
    return f"[{hop.host}]:{hop.port}" if hop.port not in (None, 22) else hop.host


def _forget(hops: tuple[SshHop, ...], _: LaunchError) -> str:
    hop = hops[-1]
    file = ["-f", hop.known_hosts] if hop.known_hosts else []
    command = shlex.join(["ssh-keygen", *file, "-R", _known_name(hop)])
    return f"if the host was really set up anew: {command}"


def _vouch(hops: tuple[SshHop, ...], _: LaunchError) -> str:
    return (
        f"connect once and compare the fingerprint: {by_hand(hops)}"
        f' (or write new-host-keys="accept" in its <ssh>)'
    )


def _bring_key(hops: tuple[SshHop, ...], _: LaunchError) -> str:
    hop = hops[-1]
    agent = f"; if the key has a passphrase: ssh-add {shlex.quote(hop.key)}".rstrip(" '")
    return by_hand(hops, "ssh-copy-id") + agent


def _correct_host(hops: tuple[SshHop, ...], fault: LaunchError) -> str:
    unknown = (one.host for one in hops if _is_unknown(one, fault))
    host = shlex.quote(next(unknown, hops[-1].host))
    return f"see whether the name is right: getent hosts {host}; then correct host= in its <ssh>"


def _try(hops: tuple[SshHop, ...], fault: LaunchError) -> str:
    return f"{fault.cure.rstrip('.')}; by hand: {by_hand(hops)} true"


_ASKS = "ssh would have to ask a question, and nobody is there to answer it"
_MEANINGS: dict[str, tuple[str, str]] = {
    "HostKeyUnknown": ("ssh-unknown-host-key", _ASKS),
    "HostKeyChanged": ("ssh-changed-host-key", "a changed key is never trusted"),
    "AuthenticationRefused": ("ssh-no-key", _ASKS),
    "LoginNeeded": ("ssh-login", "a run never answers such questions"),
    "NoMoreSessions": ("ssh-sessions", "the front-end of each cluster needs a session of its own"),
    "MissingSsh": ("no-ssh", "hosts are reached with the system's own ssh client"),
    "UnknownHost": ("unresolvable-host", "nothing can be started on a host without an address"),
    "PythonMissing": ("no-python", "the front-end of a cluster is a Python program"),
    "PythonTooOld": ("old-python", "the front-end of a cluster needs Python 3.11 or newer"),
    "NotPrepared": ("not-prepared", "all that is started there comes after its modules"),
}
_MENDS: dict[str, _Mend] = {
    "HostKeyUnknown": _vouch,
    "HostKeyChanged": _forget,
    "AuthenticationRefused": _bring_key,
    "UnknownHost": _correct_host,
    "HostUnreachable": _try,
    "ConnectionRefused": _try,
    "ConnectionLost": _try,
    "SshFailed": _try,
    "StartTimeout": _try,
}
