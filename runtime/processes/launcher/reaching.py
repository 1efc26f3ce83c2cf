"""What starts processes where the front-end of a cluster runs: ssh, or a class of the user."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from runtime.deployment.language.ssh_options import ssh_settings
from runtime.deployment.model import DeployedCluster, NamedLauncher, SshHop
from runtime.deployment.planning.preparation import preparation
from runtime.launchers.base import Command, Launcher
from runtime.launchers.command import CommandLauncher
from runtime.launchers.errors import WayFailed
from runtime.launchers.hops import Hop
from runtime.launchers.local import LocalLauncher
from runtime.launchers.ssh import SshLauncher
from runtime.processes.launcher.supply import PYTHON

SSH_TIMEOUT = 30.0
"""Seconds in which a host has to be reached."""

Reach = Callable[[DeployedCluster, LocalLauncher, float], Launcher]
"""Returns what starts processes where the front-end of a cluster runs; it is not waited for.

The last argument is for how many seconds it waits for the host.
"""


def usual_launcher(
    cluster: DeployedCluster,
    local: LocalLauncher,
    timeout: float = SSH_TIMEOUT,
    within: tuple[str, ...] = (),
) -> Launcher:
    """Return what starts processes where the front-end of a cluster runs; it is not waited for.

    `within` goes before their commands, such as the words that lead into a job.

    Raises:
        LaunchError: the class that the descriptor names cannot be used.
    """
    python = cluster.front_end.python
    python = "" if python == PYTHON else python
    here = not cluster.hops and cluster.batch is not None
    active = os.environ.get("PATH", os.defpath) if here else ""
    within = (*within, *preparation(cluster.front_end, active))
    if here:
        return CommandLauncher(
            local,
            lambda words: Command((*within, *words)),
            place=cluster.path,
            python=python,
            timeout=timeout,
        )
    if cluster.launcher is not None:
        return _named(cluster, cluster.launcher, local, python, timeout)
    return SshLauncher(
        ssh_hops(cluster.hops),
        local,
        place=cluster.path,
        within=within,
        python=python,
        ssh=cluster.hops[-1].command_path,
        login=_login(cluster),
        timeout=timeout,
    )


def _login(cluster: DeployedCluster) -> str:
    """Return the command that opens shared connections to the hosts of a cluster."""
    file = cluster.location.file
    is_file = os.path.isfile(file)  # else the machine is on the command line
    return shlex.join(["gcm-deploy", "login", file if is_file else cluster.hops[-1].destination])


def _named(
    cluster: DeployedCluster,
    named: NamedLauncher,
    local: LocalLauncher,
    python: str,
    timeout: float,
) -> Launcher:
    """Return a launcher of the class that the user names."""
    from runtime.machine.named_classes import load  # only for descriptors that name one

    if named.folder not in sys.path:
        sys.path.append(named.folder)  # last: what lies there must not hide what gcm imports
    try:
        made: Launcher = load(named.name)(
            local,
            place=cluster.path,
            arguments=named.arguments,
            python=python,
            timeout=timeout,
        )
    except Exception as error:  # whatever a class of a user raises
        raise WayFailed(
            f"the launcher '{named.name}' cannot be made: {type(error).__name__}: {error}",
            place=str(named.location),
        ) from error
    return made


def ssh_hops(hops: Sequence[SshHop]) -> list[Hop]:
    """Return the hops of a descriptor as the ssh client is given them."""
    return [_hop(hop) for hop in hops]


def _hop(hop: SshHop) -> Hop:
    return Hop(
        hop.host,
        user=hop.user,
        port=hop.port,
        key=Path(hop.key).expanduser() if hop.key else None,
        known_hosts=Path(hop.known_hosts).expanduser() if hop.known_hosts else None,
        accept_new=hop.accept_new,
        settings=ssh_settings(hop.options),
    )
