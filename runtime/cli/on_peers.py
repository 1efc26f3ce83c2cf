"""Runs a deployment whose machine has to be booked at peers first."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.cli.line.options import Options
from runtime.cli.load import Sites, load_deployment
from runtime.cli.programs import look_at_programs, surveyed
from runtime.cli.screens.steps import Hears, StepListener, StepsScreen
from runtime.cli.streams import write
from runtime.deployment import DeployedCluster, Deployment, DeploymentPlan, make_plan
from runtime.deployment.model import PeersRequest
from runtime.errors import GridError
from runtime.exit_codes import FAULTS, NEVER_STARTED
from runtime.launchers.local import LocalLauncher
from runtime.launchers.peer import PeerLauncher
from runtime.lifecycle.outcome import Outcome
from runtime.peers.booking import (
    BookedHost,
    Demand,
    Offer,
    ReservationSettings,
    Strategy,
    best_first,
    in_order,
    missing,
    strategy_named,
)
from runtime.peers.configuration.folder import user_credential, user_folder
from runtime.peers.credentials.credential import Credential
from runtime.peers.model import MemberRole
from runtime.peers.staging.broadcast import Shape
from runtime.peers.submission.booking import Booking
from runtime.peers.submission.lab import FAR, UNKNOWN_LOAD, Lab
from runtime.peers.submission.launching import launcher_on
from runtime.peers.submission.programs import StagedPrograms
from runtime.peers.submission.sites import sites_of
from runtime.peers.submission.steps import SubmissionStep
from runtime.peers.submission.ways import ways_between
from runtime.peers.submission.web_contents import WebContents, web_addresses
from runtime.views.stream import FactListener

JOINING = 5.0
"""Seconds to wait for hosts to join where all that are known lend what they have, unless a user
says how long to look."""

MOST_LAUNCHES = 3
"""How often a run is launched, each time without the peers lost in the launch before."""


def run_on_peers(
    deployment: Deployment,
    options: Options,
    hears: Hears = lambda _: None,
) -> int:
    """Book the machine of a deployment, run it there, and give everything back.

    `hears` is told of each step before it begins.
    """
    from runtime.cli.run import complain, wants_tree

    request = deployment.peers
    assert request is not None
    is_quiet = options.quiet or options.dry_run
    screen = StepsScreen(is_live=wants_tree(options), is_quiet=is_quiet, is_verbose=options.verbose)
    try:
        return _Submission(deployment, request, options, screen, hears).run()
    except GridError as fault:
        screen.steps.fail(fault.what)
        screen.close()
        complain(str(fault))
        return NEVER_STARTED
    finally:
        screen.close()


def lab_of(request: PeersRequest) -> Lab:
    """Return the lab of a request; raises PeerError without a credential."""
    file = Path(request.credential).expanduser() if request.credential else user_credential()
    credential = Credential.read(file, role=MemberRole.USER)
    hosts = user_folder() / f"hosts-{credential.lab_digest}.json"
    return Lab(credential, hosts, by_load=request.by == "load")


def _strategy(name: str, deployment: Deployment) -> Strategy:
    """Return the strategy of that name, which may be a class in a folder of a program."""
    beside = [os.path.dirname(one.path) for one in deployment.applications if one.is_file]
    folders = [*beside, *(one.folder for one in deployment.applications), os.getcwd()]
    before = list(sys.path)
    sys.path[:0] = dict.fromkeys(folders)
    try:
        return strategy_named(name)
    finally:
        sys.path[:] = before


def _patient(wait: float) -> ReservationSettings:
    """Return settings of who has said how long to look."""
    return ReservationSettings(search=wait, joining=wait)


def demand_of(deployment: Deployment, request: PeersRequest) -> Demand:
    """Return how many places are needed."""
    replicas = max((one.replicas for one in deployment.applications), default=1)
    return Demand(request.ranks, replicas)


class _Submission:
    """One submission; each method does some of its steps."""

    def __init__(
        self,
        deployment: Deployment,
        request: PeersRequest,
        options: Options,
        screen: StepsScreen,
        hears: Hears,
    ) -> None:
        self._deployment = deployment
        self._request = request
        self._options = options
        self._screen = screen
        self._hears = hears
        self._demand = demand_of(deployment, request)
        self._launches = 0
        self._lost: frozenset[str] = frozenset()

    def run(self) -> int:
        """Do all steps; return the exit code. Raises GridError."""
        self._enter(SubmissionStep.REQUEST)
        strategy = _strategy(self._request.strategy, self._deployment)
        if look_at_programs(self._deployment, self._options) is None:
            return FAULTS
        lab = lab_of(self._request)
        try:
            self._enter(SubmissionStep.LAB, str(lab.me))
            names = lab.find_hosts(2 * self._demand.overbooked)
            self._enter(SubmissionStep.HOSTS, f"{len(names)} peers are known from {lab.source}")
            offers = lab.offers(names)
            if self._options.dry_run:
                write(asked_first(in_order(offers, strategy), self._demand))
                return self._feasible(offers)
            with WebContents(web_addresses(self._deployment)) as web:
                self._enter(SubmissionStep.BOOK, f"{self._demand.places} places")
                while True:
                    code = self._attempt(lab, strategy, offers, web)
                    if not self._lost:
                        return code
                    gone = " and ".join(sorted(self._lost))
                    self._enter(SubmissionStep.BOOK, f"again, since the launch has lost {gone}")
                    offers = lab.offers(names)
        finally:
            lab.close()

    def _feasible(self, offers: Sequence[Offer]) -> int:
        """Return the exit code of a run that finds what is offered now, and say what is missing."""
        lacking = missing([one for one in offers if one.rtt < FAR], self._demand)
        if not lacking:
            return 0
        from runtime.cli.run import complain

        complain(f"a run would end with exit code {NEVER_STARTED}: {lacking} places are missing")
        return NEVER_STARTED

    def _attempt(
        self, lab: Lab, strategy: Strategy, offers: Sequence[Offer], web: WebContents
    ) -> int:
        """Book and launch once; records which peers a repeated launch has to do without."""
        wait = self._request.wait
        settings = ReservationSettings(joining=JOINING) if wait is None else _patient(wait)
        note = self._screen.steps.note
        self._lost = frozenset()
        program = os.path.basename(self._deployment.applications[0].path)
        with (
            Booking(lab, self._demand, strategy, settings, note, program=program) as booking,
            StagedPrograms(booking, Shape(self._request.staging), web) as staged,
        ):
            plan = self._booked(booking, staged, booking.book(offers))
            return FAULTS if plan is None else self._launched(plan, booking, staged)

    def _booked(
        self, booking: Booking, staged: StagedPrograms, hosts: Sequence[BookedHost]
    ) -> DeploymentPlan | None:
        """Return the plan for peers that have all they need; None after reporting errors."""
        note = self._screen.steps.note
        while True:
            self._enter(SubmissionStep.ASSIGN, f"{self._demand.places} ranks on {len(hosts)} peers")
            peers = [one.allocation.offer.peer for one in hosts]
            apart = ways_between(booking.lab, peers).given_up(peers)
            if apart:
                self._enter(SubmissionStep.BOOK, "so that all peers reach each other")
                hosts = self._replaced(booking, hosts, apart, for_good=True)
                continue
            self._enter(SubmissionStep.MACHINE)
            plan = _plan(self._options, sites_of(hosts, booking.lab))
            if plan is None:
                return None
            self._enter(SubmissionStep.STAGE)
            failures = staged.bring(plan, lambda peer: note(f"{peer} has it"))
            if not failures:
                self._enter(SubmissionStep.STAGED)
                failures = staged.confirm(booking.keys)
                if not failures:
                    others = booking.changed()
                    if others is None:
                        return plan
                    note("a peer has given up its places meanwhile, and others have taken theirs")
                    hosts = others
                    continue
            self._enter(SubmissionStep.BOOK, "in the place of those that did not get it")
            hosts = self._replaced(booking, hosts, failures)

    def _replaced(
        self,
        booking: Booking,
        hosts: Sequence[BookedHost],
        failures: Mapping[str, str],
        *,
        for_good: bool = False,
    ) -> Sequence[BookedHost]:
        """Give up booked hosts, and return them with others in their places."""
        for peer in [one for one in failures if one in booking.keys]:
            self._screen.steps.note(f"{peer} is given up: {' '.join(failures[peer].split())}")
            if peer in booking.keys:
                hosts = booking.replaced(peer, failures[peer], for_good=for_good)
        return hosts

    def _launched(self, plan: DeploymentPlan, booking: Booking, staged: StagedPrograms) -> int:
        """Run the plan; return the exit code."""
        from runtime.cli.run import run_plan

        self._enter(SubmissionStep.LAUNCH)
        self._screen.close()
        clusters = sum(1 for _ in plan.deployment.clusters())

        def reach(cluster: DeployedCluster, _: LocalLauncher, timeout: float) -> PeerLauncher:
            return launcher_on(booking, staged, plan, cluster, timeout)

        def through(inner: FactListener) -> FactListener:
            return StepListener(inner, clusters, self._hears)

        def is_repeated(_: Outcome) -> bool:
            self._launches += 1
            if self._launches < MOST_LAUNCHES:
                answers = booking.lab.offers(booking.keys)
                self._lost = frozenset(one.peer for one in answers if one.rtt >= FAR)
            return bool(self._lost)

        return run_plan(plan, self._options, reach=reach, through=through, is_repeated=is_repeated)

    def _enter(self, step: SubmissionStep, detail: str = "") -> None:
        self._hears(step)
        self._screen.steps.enter(step, detail)


def _plan(options: Options, booked: Sites) -> DeploymentPlan | None:
    """Return the plan for the booked peers, or None after reporting its errors."""
    deployment = load_deployment(options, booked=booked)
    return None if deployment is None else make_plan(deployment, surveyed(deployment))


def asked_first(offers: Sequence[Offer], demand: Demand) -> str:
    """Return the table of the peers in the order in which they are asked."""
    asked = min(demand.overbooked, len(offers))
    lines = [f"{demand.places} places are needed; {asked} of {len(offers)} peers are asked first"]
    sites = list(dict.fromkeys(one.site for one in best_first(list(offers)) if one.site))
    width = max((len(one.peer) for one in offers), default=0)
    for number, one in enumerate(offers, 1):
        away = "no answer" if one.rtt >= FAR else f"{one.rtt * 1000:.1f} ms"
        when = "first" if number <= asked else "if others refuse"
        site = f"site{sites.index(one.site)}" if one.site else ""
        if 0 < one.busy < UNKNOWN_LOAD:
            when += f", load {one.busy:.1f} for each core"
        lines.append(
            f"{number:>4}  {one.peer:<{width}}  {away:>9}  {site:<6}  {one.places} places  {when}"
        )
    return "\n".join(lines) + "\n"
