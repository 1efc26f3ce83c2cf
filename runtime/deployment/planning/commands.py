"""The command lines of front-ends, nodes and helpers, over ssh too; the jobs of clusters."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from runtime.deployment.model import (
    THIS_MACHINE,
    Application,
    DeployedCluster,
    HelperProcess,
    ProcessKind,
    SshHop,
)
from runtime.deployment.planning.preparation import preparation
from runtime.native_mpi import Job, RankProgram, python_module
from runtime.topology import Node

FRONT_END_MODULE = "runtime.frontend"
RANKS_MODULE = "runtime.ranks"
NODE_MODULE = "runtime.node"


def front_end_command(cluster: DeployedCluster, levels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that starts the front-end of a remote cluster, over all hops.

    The run's secret and the front-end's part of the plan follow on its standard input.
    """
    command = [
        *preparation(cluster.front_end),
        *python_module(cluster.front_end.python, FRONT_END_MODULE),
        "--cluster", cluster.identifier,
        "--levels", ",".join(levels),
    ]  # fmt: skip
    if cluster.front_end.port:
        command += ["--port", str(cluster.front_end.port)]
    return over_ssh(cluster.hops, command)


def shared_front_end_command(python: str) -> tuple[str, ...]:
    """Return the command of the one process that becomes all front-ends of this machine.

    The list of these follows on its standard input, like everything else.
    """
    return python_module(python, FRONT_END_MODULE)


def job_of(
    cluster: DeployedCluster,
    application: Application,
    program: str,
    umask: int,
    *,
    is_joined: bool = True,
) -> Job:
    """Return the job with which the front-end starts all ranks of its cluster.

    `program` is what they run, as it is called where they start; it `is_joined` if other clusters
    have ranks, too.
    """
    return Job(
        program=RankProgram(
            python=cluster.front_end.python,
            cluster=cluster.identifier,
            application=application.name,
            kind=str(application.kind),
            path=program,
            arguments=application.arguments,
            comm_world=str(application.comm_world),
            failures=str(application.failures),
            recovery=application.recovery,
            recovery_messages=application.recovery_messages,
            replicas=application.replicas,
            restart=application.restart,
            umask=umask,
            is_joined=is_joined,
        ),
        ranks=cluster.ranks,
        mpiexec=cluster.mpi.command_path,
        flavour=cluster.mpi.flavour,
        hosts=tuple(_hosts_of_ranks(cluster).items()),
        options=cluster.mpi.options,
        # on this machine the ranks have all variables of the caller anyway
        environment={
            **({} if cluster.is_local else application.travelling),
            **application.environment,
        },
        spares=tuple((one.host, one.places) for one in cluster.spares),
    )


def node_command(cluster: DeployedCluster, node: Node, *, library: str = "") -> tuple[str, ...]:
    """Return the command with which the front-end starts the process of a node's components.

    `library` is where a node on another host finds this package, if it is not installed there.
    Everything else follows on the standard input of the process.
    """
    python = python_module(cluster.front_end.python, NODE_MODULE)
    command = (*python, "--node", f"{cluster.path}/{node.name}")
    if is_at_front_end(cluster, node):
        return command
    found = ("env", f"PYTHONPATH={library}") if library else ()
    return over_ssh((SshHop(node.host),), (*found, *command))


def is_at_front_end(cluster: DeployedCluster, node: Node) -> bool:
    """Return whether a node is on the host of its cluster's front-end."""
    return _is_front_end(cluster, node.host)


def helper_command(process: HelperProcess, host: str = "") -> tuple[str, ...]:
    """Return the command of a helper process, on `host` when it is one over ssh."""
    command = (process.program, *process.arguments)
    match process.kind:
        case ProcessKind.LOCAL:
            return command
        case ProcessKind.MPI:
            starter = process.command_path or "mpiexec"
            return (starter, "-n", str(process.number), *process.options, *command)
        case ProcessKind.SSH:
            last = SshHop(host, command_path=process.command_path or "ssh", options=process.options)
            return over_ssh((*process.hops, last), command, process.folder)


def _hosts_of_ranks(cluster: DeployedCluster) -> dict[str, int]:
    """Return how many ranks each host has; nothing if the front-end's host has them all."""
    used: dict[str, int] = {}
    for node in cluster.nodes:
        if node.ranks:
            used[node.host] = used.get(node.host, 0) + node.ranks
    return {} if all(_is_front_end(cluster, host) for host in used) else used


def _is_front_end(cluster: DeployedCluster, host: str) -> bool:
    return host in THIS_MACHINE or host == cluster.host


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
