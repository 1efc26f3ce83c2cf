"""The exact `ssh` command lines that lead to a machine over one or several hops."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from runtime.deployment.model import SshHop


def over_ssh(hops: Sequence[SshHop], command: Sequence[str], folder: str = "") -> tuple[str, ...]:
    """Return the command line that runs `command` on the machine that the hops lead to.

    Without hops that is `command` itself. Every hop runs on this machine with its own key, port and
    known hosts, each one tunnelling through the one before it, so that no key ever leaves.
    """
    if not hops:
        return tuple(command)
    remote = shlex.join(command)
    if folder:
        remote = f"cd {shlex.quote(folder)} && exec {remote}"
    return (*_ssh(hops), "--", hops[-1].destination, remote)


def _ssh(hops: Sequence[SshHop]) -> list[str]:
    hop = hops[-1]
    # a question that nobody can answer would hang the start, and a shared connection that a run has
    # opened would outlive it, or be taken away from those who use it by then
    words = [hop.command_path, "-o", "BatchMode=yes", "-o", "ControlMaster=no"]
    if hop.port is not None:
        words += ["-p", str(hop.port)]
    if hop.key:
        # not -i, which looks for the file before it replaces %%
        words += ["-o", "IdentitiesOnly=yes", "-o", f'IdentityFile="{_escaped(hop.key)}"']
    if hop.known_hosts:
        words += ["-o", f'UserKnownHostsFile="{_escaped(hop.known_hosts)}"']
    if hop.accept_new:
        words += ["-o", "StrictHostKeyChecking=accept-new"]
    words += hop.options
    if len(hops) > 1:
        words += ["-o", f"ProxyCommand={_tunnel(hops[:-1])}"]
    return words


def _tunnel(hops: Sequence[SshHop]) -> str:
    """Return the shell command through which the next hop is reached.

    The ssh that uses it replaces `%h` and `%p`, and turns every other doubled `%` into one.
    """
    before = _escaped(shlex.join(_ssh(hops)))
    destination = _escaped(shlex.quote(hops[-1].destination))
    return f"{before} -W '[%h]:%p' -- {destination}"


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
