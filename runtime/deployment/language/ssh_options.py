"""The options of `ssh` in a descriptor: those that fit any connection, as client settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from gcm.documents import did_you_mean

_FLAGS = {
    "-4": ("AddressFamily", "inet"),
    "-6": ("AddressFamily", "inet6"),
    "-C": ("Compression", "yes"),
}
# One `=`, possibly with blanks around it, or blanks alone, as in `ssh`.
_SETTING = re.compile(
    r"([A-Za-z][A-Za-z0-9]*)(?:[ \t]*=[ \t]*|[ \t]+)([^\s=\x00-\x1f][^\x00-\x1f]*)"
)
_OTHER_FLAGS = {"-p": "port", "-i": "key", "-l": "user"}

ALLOWED = (
    "AddressFamily", "BindAddress", "BindInterface", "CASignatureAlgorithms", "CheckHostIP",
    "Ciphers", "Compression", "ConnectionAttempts", "ConnectTimeout", "FingerprintHash",
    "GSSAPIAuthentication", "GSSAPIKexAlgorithms", "GSSAPIKeyExchange", "HashKnownHosts",
    "HostbasedAcceptedAlgorithms", "HostbasedAuthentication", "HostKeyAlgorithms", "HostKeyAlias",
    "IPQoS", "KbdInteractiveAuthentication", "KexAlgorithms", "LogLevel", "MACs",
    "NumberOfPasswordPrompts", "PasswordAuthentication", "PreferredAuthentications",
    "PubkeyAcceptedAlgorithms", "PubkeyAuthentication", "RekeyLimit", "RequiredRSASize",
    "RevokedHostKeys", "SendEnv", "ServerAliveCountMax", "ServerAliveInterval", "SetEnv",
    "TCPKeepAlive",
)  # fmt: skip
"""How a connection is made and kept: none that run a program or change either end."""

_SET_BY_ATTRIBUTE = {
    "certificatefile": "key",
    "globalknownhostsfile": "known-hosts",
    "host": "host",
    "hostname": "host",
    "identitiesonly": "key",
    "identityfile": "key",
    "port": "port",
    "stricthostkeychecking": "new-host-keys",
    "user": "user",
    "userknownhostsfile": "known-hosts",
}
_SET_BY_HOPS = frozenset(("proxycommand", "proxyjump"))

_NEW_HOST_KEYS = {"yes": "refuse", "ask": "refuse", "accept-new": "accept"}


def ssh_settings(
    options: Sequence[str], attributes: Collection[str] = tuple(_SET_BY_ATTRIBUTE.values())
) -> tuple[tuple[str, str], ...]:
    """Return the settings for options of `ssh`, as names and values.

    `attributes` are those of the element; an option may not repeat what an attribute says.

    >>> ssh_settings(["-4", "-o", "ConnectTimeout=3"])
    (('AddressFamily', 'inet'), ('ConnectTimeout', '3'))

    Raises:
        ValueError: an option is unknown, set by an attribute, or not allowed in a descriptor.
    """
    found = []
    ahead = iter(options)
    for word in ahead:
        if word in _FLAGS:
            found.append(_FLAGS[word])
        elif word.startswith("-o"):
            found.append(_setting(word[2:] or next(ahead, ""), attributes))
        else:
            raise ValueError(_unknown(word, attributes))
    return tuple(found)


def _unknown(word: str, attributes: Collection[str]) -> str:
    """Return why a word is refused, and what to use instead if there is something."""
    if word.startswith("-J"):
        return "-J is set by one <ssh> for each hop"
    attribute = _OTHER_FLAGS.get(word[:2], "")
    if attribute in attributes:
        return f"{word[:2]} is set by the attribute {attribute}"
    return f"{word!r} is none of {', '.join(_FLAGS)} and -o NAME=VALUE"


def _setting(text: str, attributes: Collection[str]) -> tuple[str, str]:
    match = _SETTING.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} behind -o is not NAME=VALUE on one line")
    name, value = match.groups()
    known = name.lower()
    if known in _SET_BY_HOPS:
        raise ValueError(f"{name} is set by one <ssh> for each hop")
    if known in _SET_BY_ATTRIBUTE:
        _check_elsewhere(name, value, attributes)
    elif known not in {one.lower() for one in ALLOWED}:
        raise ValueError(_refusal(name))
    return name, value


def _check_elsewhere(name: str, value: str, attributes: Collection[str]) -> None:
    """Raise ValueError if a setting has an attribute of its own, or is not allowed."""
    attribute = _SET_BY_ATTRIBUTE[name.lower()]
    is_strict = name.lower() == "stricthostkeychecking"
    if attribute in attributes:
        instead = (
            f'new-host-keys="{_NEW_HOST_KEYS.get(value, "accept")}"' if is_strict else attribute
        )
        raise ValueError(f"{name} is set by the attribute {instead}")
    if attribute == "host":
        raise ValueError(_refusal(name))
    if is_strict and value not in _NEW_HOST_KEYS:
        raise ValueError(f"{name} can be yes or accept-new: a changed key is never trusted")


def _refusal(name: str) -> str:
    hint = did_you_mean(name, ALLOWED)
    why = "is not for a descriptor, whose options run no program and change neither end"
    return f"{name} {why}{'; ' if hint else ''}{hint}"
