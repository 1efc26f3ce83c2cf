"""Options of `ssh` in a descriptor: those that fit any connection, as settings of its client."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FLAGS = {
    "-4": ("AddressFamily", "inet"),
    "-6": ("AddressFamily", "inet6"),
    "-C": ("Compression", "yes"),
}
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9]*)[=\s]\s*(\S.*)")

_OURS = {
    "host": "the attribute host",
    "hostname": "the attribute host",
    "identityfile": "the attribute key",
    "port": "the attribute port",
    "proxycommand": "one <ssh> for each hop",
    "proxyjump": "one <ssh> for each hop",
    "stricthostkeychecking": "the attribute known-hosts",
    "user": "the attribute user",
    "userknownhostsfile": "the attribute known-hosts",
}
_NOT_ANYBODYS = frozenset(
    (
        "batchmode", "clearallforwardings", "controlmaster", "controlpath", "controlpersist",
        "forkafterauthentication", "include", "localcommand", "match", "permitlocalcommand",
        "remotecommand", "requesttty", "sessiontype", "stdinnull",
    )
)  # fmt: skip


def ssh_settings(options: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return names and values of the settings that options of `ssh` mean.

    >>> ssh_settings(["-4", "-o", "ConnectTimeout=3"])
    (('AddressFamily', 'inet'), ('ConnectTimeout', '3'))

    Raises:
        ValueError: an option is not known here, is said otherwise, or would break the connection.
    """
    found = []
    ahead = iter(options)
    for word in ahead:
        if word in _FLAGS:
            found.append(_FLAGS[word])
        elif word.startswith("-o"):
            found.append(_setting(word[2:] or next(ahead, "")))
        else:
            known = ", ".join(_FLAGS)
            raise ValueError(f"{word!r} is none of {known} and -o NAME=VALUE")
    return tuple(found)


def _setting(text: str) -> tuple[str, str]:
    match = _SETTING.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} behind -o is not NAME=VALUE on one line")
    name, value = match.groups()
    if name.lower() in _OURS:
        raise ValueError(f"{name} is said by {_OURS[name.lower()]}")
    if name.lower() in _NOT_ANYBODYS:
        raise ValueError(f"{name} would break a connection that carries a deployment")
    return name, value
