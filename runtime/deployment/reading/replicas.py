"""Checks whether ranks can have replicas: what runs, and on how many hosts."""

from __future__ import annotations

from runtime.deployment.context import Reading
from runtime.deployment.model import Application, CommWorld, Deployment, FailureMode, ProgramKind
from runtime.replicas import TooFewHosts


def check_replicas(deployment: Deployment, reading: Reading) -> None:
    """Report an application whose ranks cannot have the replicas that it asks for."""
    for application in deployment.applications:
        if application.replicas == 1:
            if application.restart:
                reading.fault(
                    "cannot-restart",
                    f"the ranks of '{application.name}' have no replicas that could be started "
                    "again",
                    application.location,
                    hint='add replicas="2", or leave out restart="yes"',
                )
            continue
        obstacles = _obstacles(application, deployment)
        for why, hint in obstacles:
            reading.fault(
                "cannot-replicate",
                f"the ranks of '{application.name}' cannot have replicas: {why}",
                application.location,
                hint=hint,
            )
        if not obstacles:
            _check_hosts(application, deployment, reading)


def _obstacles(application: Application, deployment: Deployment) -> list[tuple[str, str]]:
    """Return every reason against replicas, wherever they are, and what to do."""
    reasons = {
        (
            "its COMM_WORLD is native",
            'leave out replicas="...", or run a Python program with comm-world="grid"',
        ): application.comm_world is not CommWorld.GRID,
        (
            "it is a native program",
            'leave out replicas="...", or run a Python program',
        ): application.kind is ProgramKind.EXECUTABLE and application.comm_world is CommWorld.GRID,
        (
            'with failures="return" replicas could learn of a loss at different calls',
            'leave out failures="return": a rank is lost only with its last replica',
        ): application.failures is FailureMode.RETURN,
        ("other applications or an assembly run beside it", "deploy it alone"): (
            len(deployment.applications) > 1 or deployment.assembly is not None
        ),
        (
            "files that come home during the run would come from several replicas",
            "leave out `every`: they come home after the run",
        ): any(one.every for one in deployment.transfers),
    }
    return [reason for reason, holds in reasons.items() if holds]


def _check_hosts(application: Application, deployment: Deployment, reading: Reading) -> None:
    hosts = list(deployment.hosts_of_replicas())
    size = sum(number for _, number in hosts)
    replicas = application.replicas
    try:
        table = deployment.replica_table
    except TooFewHosts as fault:
        if fault.host is None:
            why = f"{size} processes are no multiple of {replicas}"
            hint = f"give the clusters {size - size % replicas or replicas} ranks in all"
        else:
            path, number = hosts[fault.host]
            why = (
                f"{number} of the {size} processes are on {path}, so two replicas of a rank would "
                "be on one host"
            )
            hint = f"let each host have {size // replicas} processes at most"
            if any(one.is_local and one.path == path for one in deployment.clusters()):
                hint += "; on this machine each emulated cluster counts as a host: "
                hint += f"--emulate {replicas}x{size // replicas} --replicas {replicas}"
        _report(application, why, hint, reading)
        return
    if table is None:
        return
    names = [node.host for one in deployment.clusters() if not one.is_local for node in one.nodes
             for _ in range(node.ranks)]  # fmt: skip
    if len(names) != size:
        return  # clusters on this machine stand for other hosts
    for rank in range(table.ranks):
        used = [names[one] for one in table.processes_of(rank)]
        twice = next((one for one in used if used.count(one) > 1), "")
        if twice:
            why = f"host {twice} belongs to several clusters and would have two of rank {rank}"
            _report(application, why, "let each host belong to one cluster", reading)
            return


def _report(application: Application, why: str, hint: str, reading: Reading) -> None:
    reading.fault(
        "too-few-hosts",
        f"the ranks of '{application.name}' cannot have {application.replicas} replicas: {why}",
        application.location,
        hint=hint,
    )
