"""Runs a deployment whose machine has to be booked at peers first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runtime.cli.load import Sites, load_deployment
from runtime.cli.options import Options
from runtime.cli.programs import look_at_programs
from runtime.cli.streams import write
from runtime.deployment import DeployedCluster, Deployment, DeploymentPlan, make_plan
from runtime.deployment.model import PeersRequest
from runtime.exit_codes import FAULTS, NEVER_STARTED
from runtime.launchers.local import LocalLauncher
from runtime.launchers.peer import PeerLauncher
from runtime.peers.booking import AskerSettings, Demand, Offer, strategy_named
from runtime.peers.configuration import user_credential, user_folder
from runtime.peers.credentials import Credential
from runtime.peers.errors import PeerError
from runtime.peers.model import Role
from runtime.peers.submission import FAR, Booking, Lab, StagedPrograms, launcher_on, sites_of


def run_on_peers(deployment: Deployment, options: Options) -> int:
    """Book the machine of a deployment, run it there, and give everything back."""
    request = deployment.peers
    assert request is not None
    programs = look_at_programs(deployment, options)
    if programs is None:
        return FAULTS
    try:
        lab = _lab(request)
        try:
            if options.dry_run:
                return _show_who_is_asked(deployment, request, lab)
            return _run(deployment, request, lab, options)
        finally:
            lab.close()
    except PeerError as fault:
        from runtime.cli.run import complain

        complain(str(fault))
        return NEVER_STARTED


def _lab(request: PeersRequest) -> Lab:
    file = Path(request.credential).expanduser() if request.credential else user_credential()
    return Lab(Credential.read(file, role=Role.USER), user_folder() / "hosts.json")


def _demand(deployment: Deployment, request: PeersRequest) -> Demand:
    replicas = max((one.replicas for one in deployment.applications), default=1)
    return Demand(request.ranks, replicas)


def _run(deployment: Deployment, request: PeersRequest, lab: Lab, options: Options) -> int:
    demand, strategy = _demand(deployment, request), strategy_named(request.strategy)

    def told(text: str) -> None:
        if not options.quiet:
            with suppress(OSError):  # nobody may read it any more
                print(f"gcm-run: {text}", file=sys.stderr)

    settings = AskerSettings(search=request.wait)
    with (
        Booking(lab, demand, strategy, settings, told) as booking,
        StagedPrograms(booking) as staged,
    ):
        hosts = booking.book()
        told(f"booked {demand.places} places at {len(hosts)} peers")
        while True:
            plan = _plan(options, sites_of(hosts, lab))
            if plan is None:
                return FAULTS
            failures = staged.bring(plan, lambda peer: told(f"{peer} has the program"))
            if not failures:
                break
            for peer, why in failures.items():
                told(f"{peer} does not get the program: {why}")
                if peer in booking.keys:
                    hosts = booking.replaced(peer, why)

        def reach(cluster: DeployedCluster, _: LocalLauncher, patience: float) -> PeerLauncher:
            return launcher_on(booking, staged, cluster.peer, place=cluster.path, patience=patience)

        from runtime.cli.run import run_plan

        return run_plan(plan, options, reach=reach)


def _plan(options: Options, booked: Sites) -> DeploymentPlan | None:
    """Return the plan for the peers that are booked, or None after its faults were written."""
    deployment = load_deployment(options, booked=booked)
    programs = None if deployment is None else look_at_programs(deployment, options)
    if deployment is None or programs is None:
        return None
    return make_plan(deployment, programs)


def _show_who_is_asked(deployment: Deployment, request: PeersRequest, lab: Lab) -> int:
    """Write who would be asked, in this order, and who would be with enough answers."""
    demand, strategy = _demand(deployment, request), strategy_named(request.strategy)
    offers = strategy.order(lab.offers(lab.find_hosts(2 * demand.overbooked)))
    write(asked_first(offers, demand))
    return 0


def asked_first(offers: Sequence[Offer], demand: Demand) -> str:
    """Return the table of the peers in the order in which they are asked."""
    asked = min(demand.overbooked, len(offers))
    lines = [f"{demand.places} places are needed; {asked} of {len(offers)} peers are asked first"]
    width = max((len(one.peer) for one in offers), default=0)
    for number, one in enumerate(offers, 1):
        away = "no answer" if one.rtt >= FAR else f"{one.rtt * 1000:.1f} ms"
        when = "first" if number <= asked else "if others refuse"
        lines.append(f"{number:>4}  {one.peer:<{width}}  {away:>9}  {one.places} places  {when}")
    return "\n".join(lines) + "\n"
