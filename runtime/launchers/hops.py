"""The way to a host over one or several ssh hops, as configuration of the ssh client."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gcm.records import dataclass
from runtime.launchers.errors import BadHop
from runtime.machine_words import is_host, is_user

# For every hop. Nobody sits at the terminal, so nothing may ask; and nothing of the user's own
# configuration may leave a connection or a socket behind.
_ALWAYS = """\
Host *
  BatchMode yes
  ConnectTimeout {connect_timeout}
  ServerAliveInterval 5
  ServerAliveCountMax 3
  ControlMaster no
  ControlPath none
  ClearAllForwardings yes
  ForwardAgent no
  ForwardX11 no
  PermitLocalCommand no
  RequestTTY no
  UpdateHostKeys no
"""


@dataclass(frozen=True, slots=True)
class Hop:
    """One ssh connection on the way; what is not given comes from the user's own configuration.

    `key` is the private key to show, and then the only one. `known_hosts` replaces the user's and
    the system's lists. `accept_new` trusts a host that no list knows yet; a changed key is never
    trusted. `settings` are further names and values of the client's configuration, for what is not
    said otherwise. Raises BadHop for what ssh could misread.
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

    def __str__(self) -> str:
        """Name it as one would on a command line."""
        port = "" if self.port is None else f":{self.port}"
        return f"{self.user}@{self.host}{port}" if self.user else f"{self.host}{port}"


def aliases(hops: Sequence[Hop]) -> list[str]:
    """Return how the configuration calls each hop: its host, unless that would be ambiguous.

    The user's own configuration has its say about a host only under its own name.
    """
    hosts = [hop.host for hop in hops]
    return [
        host if hosts.count(host) == 1 else f"gcm-hop-{index}-{host}"
        for index, host in enumerate(hosts, start=1)
    ]


def configuration(hops: Sequence[Hop], user_file: Path | None, connect_timeout: int) -> str:
    """Return an ssh client configuration in which the alias of the last hop leads all the way.

    >>> print(configuration([Hop("gate"), Hop("inner", port=2222)], None, 10).split("Host *")[0])
    Host gate
      StrictHostKeyChecking yes
    Host inner
      Port 2222
      StrictHostKeyChecking yes
      ProxyJump gate
    <BLANKLINE>
    """
    parts = []
    names = aliases(hops)
    for index, (hop, alias) in enumerate(zip(hops, names, strict=True)):
        before = names[index - 1] if index else None
        parts.append("\n".join([f"Host {alias}", *_settings(hop, alias, before)]) + "\n")
    parts.append(_ALWAYS.format(connect_timeout=connect_timeout))
    if user_file is not None:
        parts.append(f'Match all\nInclude "{user_file}"\n')
    return "".join(parts)


def _settings(hop: Hop, alias: str, before: str | None) -> list[str]:
    lines = []
    if alias != hop.host:
        lines.append(f"HostName {hop.host}")
    if hop.user:
        lines.append(f"User {hop.user}")
    if hop.port is not None:
        lines.append(f"Port {hop.port}")
    if hop.key is not None:
        lines += [f"IdentityFile {_path(hop.key)}", "IdentitiesOnly yes", "IdentityAgent none"]
    if hop.known_hosts is not None:
        lines += [f"UserKnownHostsFile {_path(hop.known_hosts)}", "GlobalKnownHostsFile none"]
    lines.append(f"StrictHostKeyChecking {'accept-new' if hop.accept_new else 'yes'}")
    if before is not None:
        lines.append(f"ProxyJump {before}")
    lines += [f"{name} {value}" for name, value in hop.settings]
    return [f"  {line}" for line in lines]


def _path(path: Path) -> str:
    return '"' + str(path.absolute()).replace("%", "%%") + '"'
