"""Checks names of hosts, users and commands, so that ssh and shells read nothing else in them."""

from __future__ import annotations

import re

_LONGEST_HOST = 253
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_NUMBER = "(?:[0-9]+|0[xX][0-9A-Fa-f]*)"
_NUMBERS = re.compile(rf"{_NUMBER}(?:\.{_NUMBER})*\.?")
_SCOPE = re.compile("[A-Za-z0-9_.-]+")
_USER = re.compile("[A-Za-z0-9_.+][A-Za-z0-9_.@+-]*")
_BEYOND_A_PATH = re.compile("[\\x00-\\x1f\\x7f;&|<>$`\"'\\\\!]")


def is_host(word: str) -> bool:
    """Tell whether a word is a host name, an IPv4 address or an IPv6 address.

    Numbers alone, such as `123` and `0x7f.1`, are none: the system would take them for addresses.

    >>> [is_host(one) for one in ("login1.example.org", "[fe80::1%eth0]", "10.0.0.1")]
    [True, True, True]
    >>> [is_host(one) for one in ("-oProxyCommand=x", "a;touch x", "node0^1", "300.0.0.1", "123")]
    [False, False, False, False, False]
    """
    bare = without_brackets(word)
    if bare != word or ":" in bare:
        return _is_ipv6(bare)
    if _NUMBERS.fullmatch(bare):
        return _is_ipv4(bare)
    return len(bare) <= _LONGEST_HOST and _HOST_NAME.fullmatch(bare) is not None


def is_user(word: str) -> bool:
    """Tell whether a word is a login.

    >>> is_user("ana@lab"), is_user("-l")
    (True, False)
    """
    return _USER.fullmatch(word) is not None


def is_command(word: str) -> bool:
    """Tell whether a word is the name or the path of a program, with nothing for a shell in it.

    >>> is_command("~/my venv/bin/python"), is_command("a;touch x")
    (True, False)
    """
    return bool(word.strip()) and not word.startswith("-") and not _BEYOND_A_PATH.search(word)


def without_brackets(host: str) -> str:
    """Return an address without the brackets in which an IPv6 address may be written.

    >>> without_brackets("[::1]")
    '::1'
    """
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _is_ipv6(text: str) -> bool:
    import ipaddress  # few names are addresses

    address, percent, scope = text.partition("%")
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return not percent or _SCOPE.fullmatch(scope) is not None


def _is_ipv4(text: str) -> bool:
    import ipaddress

    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True
