"""The command lines of a deployment: front-ends, ranks, nodes. The only module that spells them."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.deployment.model import (
    THIS_MACHINE,
    Application,
    DeployedCluster,
    FailureMode,
    Flavour,
    HelperProcess,
    ProcessKind,
    SshHop,
)
from runtime.deployment.planning.ssh_commands import over_ssh
from runtime.topology import Node

FRONT_END_MODULE = "runtime.frontend"
RANK_MODULE = "runtime.rank"
RANKS_MODULE = "runtime.ranks"
NODE_MODULE = "runtime.node"

# An emulated cluster has more ranks than this machine has cores; only Open MPI needs to be told.
_OVERSUBSCRIBE = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def python_module(python: str, module: str) -> tuple[str, ...]:
    """Return the command that runs a module of this package.

    `-P`: the folder in which it starts is that of the program, and a `runtime.py` or `gcm.py` there
    must not hide this package.
    """
    return (python, "-P", "-m", module)


def front_end_command(cluster: DeployedCluster, levels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that starts the front-end of a remote cluster, over all hops.

    The run's secret and the front-end's part of the plan follow on its standard input.
    """
    command = [
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


def ranks_command(
    cluster: DeployedCluster, application: Application, program: str, umask: int
) -> tuple[str, ...]:
    """Return the command with which the front-end starts all ranks of its cluster.

    `program` is what they run, as it is called where they start.
    """
    is_told = cluster.mpi.flavour is Flavour.OPENMPI
    environment = _own_environment(cluster, application) if is_told else {}
    return (
        cluster.mpi.command_path, "-n", str(cluster.ranks),
        *_hosts(cluster),
        # MPICH hands the environment to its ranks by itself
        *(word for name in environment for word in ("-x", name)),
        *cluster.mpi.options,
        *python_module(cluster.front_end.python, RANK_MODULE),
        "--cluster", cluster.identifier,
        "--application", application.name,
        "--comm-world", application.comm_world,
        *_failures(application),
        *(("--replicas", str(application.replicas)) if application.replicas > 1 else ()),
        *(("--restart", "yes") if application.restart else ()),
        "--umask", f"{umask:03o}",
        f"--{application.kind}", program,
        "--", *application.arguments,
    )  # fmt: skip


def _failures(application: Application) -> tuple[str, ...]:
    is_default = application.failures is FailureMode.ABORT
    words = {
        "--failures": "" if is_default else application.failures,
        "--recovery": application.recovery,
        "--recovery-messages": application.recovery_messages,
    }
    return tuple(word for name, value in words.items() if value for word in (name, value))


def ranks_environment(cluster: DeployedCluster, application: Application) -> Mapping[str, str]:
    """Return the environment of the ranks, beside that of the place where they run."""
    own = _own_environment(cluster, application)
    return {**_OVERSUBSCRIBE, **own} if cluster.is_local else own


def _own_environment(cluster: DeployedCluster, application: Application) -> dict[str, str]:
    """Return the program's variables; on this machine it has all of the caller's anyway."""
    travelling = {} if cluster.is_local else application.travelling
    return {**travelling, **application.environment}


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


def hosts_of_ranks(cluster: DeployedCluster) -> dict[str, int]:
    """Return how many ranks each host has; nothing if the front-end's host has them all."""
    used: dict[str, int] = {}
    for node in cluster.nodes:
        if node.ranks:
            used[node.host] = used.get(node.host, 0) + node.ranks
    return {} if all(_is_front_end(cluster, host) for host in used) else used


def _hosts(cluster: DeployedCluster) -> tuple[str, ...]:
    used = hosts_of_ranks(cluster)
    # this form means the same to MPICH and to Open MPI
    hosts = ",".join(f"{host}:{ranks}" for host, ranks in used.items())
    return ("--host", hosts) if used else ()


def _is_front_end(cluster: DeployedCluster, host: str) -> bool:
    return host in THIS_MACHINE or host == cluster.host
