"""What the words of an ssh client that gave up mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from runtime.launchers.base import Exit
from runtime.launchers.errors import (
    AuthenticationRefused,
    ConnectionRefused,
    HostKeyChanged,
    HostKeyUnknown,
    HostUnreachable,
    LaunchError,
    LoginNeeded,
    NoMoreSessions,
    SshFailed,
    UnknownHost,
)


class _Fault(NamedTuple):
    words: str
    error: type[LaunchError]
    what: str
    cure: str


# What a client says of a shared connection that is dead, before it tries one of its own.
_DEAD_SOCKET = "Control socket connect"
# How it ends when a hop before it has failed, which has told why.
_NO_WAY = "UNKNOWN port 65535"
# What it says then before that, as if the last host had closed the connection.
_CLOSED = "kex_exchange_identification: Connection closed"

# In this order: a client whose session is refused then tries a connection of its own, a changed key
# also fails verification, and a broken jump also closes the next hop.
_FAULTS = (
    _Fault(
        "session request failed: Session open refused",
        NoMoreSessions,
        "the host allows no further session over the connection that is open",
        "sshd allows MaxSessions of them, 10 unless its sshd_config says otherwise, and a run needs"
        " one for each cluster: end others, or make one cluster of the clusters of this host",
    ),
    _Fault(
        "REMOTE HOST IDENTIFICATION HAS CHANGED|host key for .* has changed|Offending .*key in",
        HostKeyChanged,
        "the host shows another key than the one it is known by",
        "If the host was really set up anew, remove its line from the known-hosts file named below;"
        " otherwise somebody stands between",
    ),
    _Fault(
        "No .*host key is known for|Host key verification failed",
        HostKeyUnknown,
        "the key of the host is not known",
        "Connect once by hand, with ssh, and compare the fingerprint; in a descriptor <ssh"
        ' new-host-keys="accept"> lets the key of a new host be believed',
    ),
    _Fault(
        "Could not resolve hostname",
        UnknownHost,
        "no address was found for the name",
        "Check the spelling of the host and the name service of the machine that looks for it",
    ),
    _Fault(
        r"Permission denied \((?!.*publickey)(?=.*(keyboard-interactive|password))",
        LoginNeeded,
        "the host asks for a password or a second factor, and no connection to it is open",
        "Open one, which runs then share: {login}",
    ),
    _Fault(
        "Permission denied|Too many authentication failures|UNPROTECTED PRIVATE KEY",
        AuthenticationRefused,
        "the host refused to let this user in",
        "Check user and key, and that the key has no passphrase or is held by an agent; passwords"
        " are never asked for in a run, but by {login}",
    ),
    _Fault(
        "Connection refused",
        ConnectionRefused,
        "nothing listens on this port",
        "Check the port and that sshd runs there",
    ),
    _Fault(
        "timed out|No route to host|Network is unreachable",
        HostUnreachable,
        "nothing came back from the host",
        "Check that it is up, and whether it can only be reached through a front-end",
    ),
    _Fault(
        "kex_exchange_identification|Connection reset by|Connection closed by",
        ConnectionRefused,
        "the host closed the connection before it let anyone in",
        "It may take only few connections at once (MaxStartups in its sshd_config) or ban this one",
    ),
)


def diagnose(
    way: str, ended: Exit, lines: Sequence[str], login: str = "ssh by hand"
) -> LaunchError:
    """Return the error for an ssh client that ended before the guard at the far end spoke.

    `login` is the command that opens a shared connection to the host.
    """
    if any(_NO_WAY in line for line in lines):
        own = [one for one in lines if _NO_WAY not in one and not one.startswith(_CLOSED)]
        lines = own or lines
    text = "\n".join(lines)
    spoken = "\n".join(line for line in lines if not line.startswith(_DEAD_SOCKET))
    for fault in _FAULTS:
        if re.search(fault.words, spoken):
            return fault.error(
                fault.what, place=way, cause=text, cure=fault.cure.format(login=login)
            )
    return SshFailed(
        f"ssh {ended.predicate} before anything could be started",
        place=way,
        cause=text,
        cure="Try the same way by hand: ssh and a command such as 'true'",
    )
