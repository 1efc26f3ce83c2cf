"""The way to a host over one or several ssh hops, as configuration of the ssh client."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from gcm.records import dataclass
from runtime.launchers.errors import BadHop
from runtime.safe_names import is_host, is_user

SYSTEM_FILE = Path("/etc/ssh/ssh_config")
"""What holds for all users; the client leaves it out when it is given a file of its own."""

_LONGEST_SOCKET = 107
_SUFFIX = 40 + 17
"""What ssh puts in place of `%C`, and what it adds while it makes the socket."""

NEEDED = """\
  BatchMode yes
  ControlMaster no
  RemoteCommand none
  RequestTTY no
  PermitLocalCommand no
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
  UpdateHostKeys no
  ServerAliveInterval 5
  ServerAliveCountMax 3
"""
"""What a run must have, whatever the user's own configuration says; docs/ssh.md has the reasons."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One ssh connection on the way; what is not given comes from the user's own configuration.

    `key` is the private key to show, which an agent may hold. `known_hosts` replaces the user's and
    the system's lists. `accept_new` trusts a host that no list knows yet, never a changed key.
    `settings` are further names and values of the client's configuration, for what is not said
    otherwise. Raises BadHop for what ssh could misread.
    """

    host: str
    user: str = ""
    port: int | None = None
    key: Path | None = None
    known_hosts: Path | None = None
    accept_new: bool = False
    settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that would be read as options or as more configuration."""
        if not is_host(self.host):
            raise BadHop(f"{self.host!r} cannot be the name of a host", cure="Correct the name")
        if self.user and not is_user(self.user):
            raise BadHop(f"{self.user!r} cannot be the name of a user", cure="Correct the name")
        if self.port is not None and not 0 < self.port < 65536:
            raise BadHop(f"there is no port {self.port}", place=self.host, cure="Use 1 to 65535")
        for path in (self.key, self.known_hosts):
            if path is not None and re.search(r'["\\\x00-\x1f]', str(path)):
                raise BadHop(f"ssh cannot be given the path {str(path)!r}", place=self.host)
        for name, value in self.settings:
            if not name.isalnum() or not value or re.search(r"[\x00-\x1f]", value):
                raise BadHop(f"ssh cannot be given the setting {name!r}", place=self.host)

    @property
    def destination(self) -> str:
        """Return `user@host`, or the host alone."""
        return f"{self.user}@{self.host}" if self.user else self.host

    def __str__(self) -> str:
        """Name it as one would on a command line."""
        return self.destination if self.port is None else f"{self.destination}:{self.port}"


def aliases(hops: Sequence[Hop]) -> list[str]:
    """Return how the configuration calls each hop: its host, unless that would be ambiguous.

    The user's own configuration has its say about a host only under its own name.
    """
    hosts = [hop.host for hop in hops]
    return [
        host if hosts.count(host) == 1 else f"gcm-hop-{index}-{host}"
        for index, host in enumerate(hosts, start=1)
    ]


def configuration(
    hops: Sequence[Hop], user_files: Sequence[Path], needed: str = "", default: str = ""
) -> str:
    """Return an ssh client configuration in which the alias of the last hop leads all the way.

    ssh uses the first value that it finds of each setting: that of the hop, then the `needed` ones,
    then those of `user_files`, which hold for the hosts that they name, then the `default` ones.

    >>> print(configuration([Hop("gate"), Hop("inner", port=2222)], []))
    Host gate
    Host inner
      Port 2222
      ProxyJump gate
    <BLANKLINE>
    """
    parts = []
    names = aliases(hops)
    for index, (hop, alias) in enumerate(zip(hops, names, strict=True)):
        before = names[index - 1] if index else None
        parts.append("\n".join([f"Host {alias}", *_settings(hop, alias, before)]) + "\n")
    if needed:
        parts.append(f"Host *\n{needed}")
    parts += [f'Match all\nInclude "{file}"\n' for file in user_files]
    if default:
        parts.append(f"Match all\n{default}")
    return "".join(parts)


def user_files(folder: Path) -> list[Path]:
    """Return the configuration that ssh would read by itself: the user's, then the system's."""
    own = folder.expanduser() / "config"
    return [one for one in (own, SYSTEM_FILE) if one.is_file()]


def own_socket(folder: Path) -> str:
    """Return the setting that has masters in the user's folder, or nothing if it is not usable."""
    folder = folder.expanduser().absolute()
    return (
        ""
        if fault_of_folder(folder)
        else f'  ControlPath "{str(folder).replace("%", "%%")}/gcm-%C"\n'
    )


def fault_of_folder(folder: Path) -> str:
    """Return why masters cannot be in a folder; whoever can write there could pretend to be one."""
    try:
        found = folder.stat()
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        return f"{folder} is not a folder that only you can write to"
    if len(f"{folder}/gcm-") + _SUFFIX > _LONGEST_SOCKET or re.search(r'["\\$\s]', str(folder)):
        return f"{folder} is too long for the path of a socket, or has blanks or quotes in it"
    return ""


def _settings(hop: Hop, alias: str, before: str | None) -> list[str]:
    lines = []
    if alias != hop.host:
        lines.append(f"HostName {hop.host}")
    if hop.user:
        lines.append(f"User {hop.user}")
    if hop.port is not None:
        lines.append(f"Port {hop.port}")
    if hop.key is not None:
        lines += [f"IdentityFile {_path(hop.key)}", "IdentitiesOnly yes"]
    if hop.known_hosts is not None:
        lines += [f"UserKnownHostsFile {_path(hop.known_hosts)}", "GlobalKnownHostsFile none"]
    if hop.accept_new:
        lines.append("StrictHostKeyChecking accept-new")
    if before is not None:
        lines.append(f"ProxyJump {before}")
    lines += [f"{name} {value}" for name, value in hop.settings]
    return [f"  {line}" for line in lines]


def _path(path: Path) -> str:
    return '"' + str(path.absolute()).replace("%", "%%") + '"'
