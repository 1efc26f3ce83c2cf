"""The processes of the ranks of a run: where they are, which have died, which are started again.

Each place in the machine is taken by one process after the other. What happens to them is told
here, and the places are told what to do about it.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from runtime.coupling.deployed_codes import CallLater, Codes
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.lifecycle.asked_ends import AskedEnds
from runtime.lifecycle.events import (
    Announce,
    CondemnRank,
    LimitTime,
    Signal,
    StepUp,
    Suspected,
    TellUnreachable,
)
from runtime.lifecycle.replacements import (
    FIRST,
    EndRank,
    ReplacementEffect,
    Replacements,
    StartAgain,
    TellMoved,
)
from runtime.lifecycle.run_plan import run_plan_of
from runtime.lifecycle.suspicions import AFTER_STANDSTILL, Suspicion, Suspicions
from runtime.machine.deaths import RankDeath
from runtime.membership.whereabouts import RankArrival, Report
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.services import Effects, Starts
from runtime.processes.launcher.wait_facts import ProcessOfRank
from runtime.rank_name import RankName
from runtime.step_name import StepKind

_HOMELESS = (
    "could not be started again: its front-end is lost. The front-end of a cluster survives the "
    "hosts of its ranks where it runs on another one: name these in <nodes>"
)

_log = logging.getLogger(__name__)


def _time_of_day() -> str:
    return time.strftime("%H:%M:%S")


class RankProcesses:
    """Decides nothing that the state of the run decides; for the engine's thread.

    Which of two ranks is lost that cannot reach each other is decided `patience` seconds after it
    was told, when all else is known that could explain it.
    """

    def __init__(
        self,
        plan: DeploymentPlan,
        places: Mapping[str, ClusterPlace],
        codes: Codes,
        later: CallLater,
        post: Post,
        *,
        patience: float,
        time_of_day: Callable[[], str] = _time_of_day,
    ) -> None:
        self.names = plan.deployment.rank_names()
        """How messages name ranks."""
        self._places = places
        self._codes = codes
        self._later = later
        self._post = post
        self._patience = patience
        self._time_of_day = time_of_day
        self._arrivals: dict[RankName, RankArrival] = {}
        self._announced: dict[RankName, RankDeath] = {}
        self._replacements = Replacements(sum(one.ranks for one in plan.deployment.clusters()))
        self._replaceable = _ranks_that_go_on(plan)
        self._suspicions = Suspicions(self._replacements.incarnation)
        self._asked = AskedEnds()
        self._lost_places: set[str] = set()
        self._late: set[str] = set()
        self._absent: set[str] = set()
        self._ends: list[RankDeath] = []
        self._moves: list[Report] = []
        self.is_over = False
        """Whether everything is about to end."""

    @property
    def go_on(self) -> bool:
        """Whether some ranks go on without lost ones."""
        return bool(self._replaceable)

    def present(self) -> dict[str, ProcessOfRank]:
        """Return the processes of ranks that go on without lost ones."""
        known, ranks = self._replacements, set[RankName]().union(*self._replaceable.values())
        return {str(one): ProcessOfRank(known.state(one), known.incarnation(one)) for one in ranks}

    def segments_of(self, cluster: str) -> set[str]:
        """Return the files of shared memory that the MPI of a cluster has made."""
        arrivals = (one for rank, one in self._arrivals.items() if rank.cluster == cluster)
        return {path for one in arrivals for path in one.segments}

    @property
    def effects(self) -> Effects:
        """What is done to ranks."""
        return {
            Announce: self.announce,
            CondemnRank: self._condemn,
            TellUnreachable: self._lose_to,
            Signal: self._signal,
            LimitTime: self._limit_time,
        }

    @property
    def starts(self) -> Starts:
        """The ranks of clusters; idle ones start when somebody wants them."""
        return {StepKind.RANKS: self._start}

    def _start(self, step: Step) -> None:
        if self._codes.idle:
            self._post(StepUp(step.name))
        else:
            incarnation = self._codes.incarnation(step.about)
            self._places[step.about].orders.start_ranks(incarnation)

    def _signal(self, effect: Signal) -> None:
        number = int(signal.Signals[f"SIG{effect.signal}"])
        self._places[effect.cluster].orders.signal_ranks(number)

    def _limit_time(self, effect: LimitTime) -> None:
        self._places[effect.cluster].orders.limit_time(effect.ends, effect.saves)

    def end(self) -> None:
        """Start none again from now on."""
        self.is_over = True

    # --- their ends -------------------------------------------------------------------------------

    def announce(self, effect: Announce) -> None:
        """Tell all other ranks how one has died, or tell them again."""
        death = effect.death
        if not effect.is_new:
            self._send(self._announced[death.rank.place])
            return
        rank = death.rank.place
        arrival = self._arrivals.get(rank)
        self._announced[rank] = dated = replace(
            death.brief,
            rank=self._present(rank),
            host="" if arrival is None else arrival.host,
            when=self._time_of_day(),
        )
        self._ends.append(dated)
        effects = self._replacements.ended(rank)
        self._do(one for one in effects if isinstance(one, TellMoved))  # else nobody knows it
        self._send(dated)
        self._do(one for one in effects if not isinstance(one, TellMoved))

    def _condemn(self, effect: CondemnRank) -> None:
        """End a rank although it lives: others of its cluster cannot reach it."""
        text = "%s is ended: others cannot reach it, and not all can go on: %s"
        _log.warning(text, self.names.name(effect.rank), effect.why)
        self._places[effect.rank.cluster].orders.end_rank(str(effect.rank))

    def _lose_to(self, effect: TellUnreachable) -> None:
        """Tell one rank that another one is lost to it, which lives."""
        rank = replace(effect.rank, incarnation=FIRST)
        death = replace(RankDeath.lost(rank, effect.why), when=self._time_of_day())
        told = death.plain | {"lost_to": str(effect.by)}
        self._places[effect.by.cluster].orders.lost([told])

    def place_lost(self, cluster: str) -> None:
        """Start no rank of a cluster again, since its front-end is lost.

        One that asks for nodes again comes late, or the run ends. At its end nobody waits for them.
        """
        if self.is_over:
            return
        if self._places[cluster].cluster.asks_again:
            self.leave_out(cluster)
            return
        self._lost_places.add(cluster)
        for rank in self._replacements.joining(cluster):
            self._post(RankDeath.lost(rank, _HOMELESS))

    def _send(self, death: RankDeath) -> None:
        for name, place in self._places.items():
            if not (place.was_lost or name in self._absent):
                place.orders.lost([death.plain])

    def of_other_order(self, arrival: RankArrival) -> str:
        """Return the name of a rank whose numbers have another order of bytes, "" if there is none.

        What is sent between the two would be taken for other numbers.
        """
        first = next(iter(self._arrivals.items()), None)
        if first is None or first[1].order == arrival.order:
            return ""
        return self.names.name(first[0])

    # --- others in their place --------------------------------------------------------------------

    def arrived(self, rank: RankName, arrival: RankArrival) -> None:
        """Take in what a rank tells of itself, and let all know where one is in another's place."""
        self._arrivals[rank.place] = arrival
        self._suspicions.begins(rank)
        self._asked.begins(rank)
        self._do(self._replacements.ready(rank, arrival))

    def replace_lost(self, cluster: str, lost: list[RankName]) -> None:
        """Start ranks again in place of lost ones, unless the run ends.

        A cluster may ask for ranks of its own application, if that survives losses.
        """
        if not self.is_over:
            known = self._replaceable.get(self._places[cluster].cluster.application, ())
            self._do(self._replacements.wanted(one for one in lost if one.place in known))

    # --- clusters that come late ------------------------------------------------------------------

    def leave_out(self, cluster: str) -> None:
        """Keep the places of the ranks of a cluster until it has come."""
        self._late.add(cluster)
        self._absent.add(cluster)

    def brief(self, cluster: str) -> None:
        """Let the front-end of a cluster that has come late know which processes came and went.

        It is told of all others when they do.
        """
        self._absent.remove(cluster)
        orders = self._places[cluster].orders
        orders.lost([one.plain for one in self._ends])
        orders.moved(self._moves)

    def fill(self, cluster: str) -> None:
        """Start the ranks of a cluster that has come late, also those that were wanted before."""
        self._late.discard(cluster)
        for rank in self._replacements.joining(cluster):
            self._start_again(self._present(rank))
        found = self._places[cluster].cluster
        ranks = (RankName(*found.position, number) for number in range(found.ranks))
        lost = [self._present(rank) for rank in ranks if self._announced[rank].code]
        self._do(self._replacements.wanted(lost))

    def _present(self, rank: RankName) -> RankName:
        """Return the name of the process that has a rank now."""
        return replace(rank, incarnation=self._replacements.incarnation(rank))

    def _do(self, effects: Iterable[ReplacementEffect]) -> None:
        for effect in effects:
            match effect:
                case StartAgain(rank):
                    self._start_again(rank)
                case EndRank(rank):
                    self._places[rank.cluster].orders.end_rank(str(rank))
                case TellMoved(report):
                    self._moves.append(report)
                    for name, place in self._places.items():
                        if name not in self._absent:
                            place.orders.moved([report])

    def _start_again(self, rank: RankName) -> None:
        cluster = rank.cluster
        place = self._places[cluster]
        if self._codes.incarnation(cluster) > 1:
            text = "could not be started again alone: its code was itself started again"
            self._post(RankDeath.lost(rank.place, text))
        elif cluster in self._lost_places or (place.was_lost and not place.cluster.asks_again):
            self._post(RankDeath.lost(rank.place, _HOMELESS))
        elif cluster not in self._late:  # else it is started once that has come
            self._codes.starts_again(rank.place)
            place.orders.start_again(str(rank.place), rank.incarnation)

    # --- those that cannot reach each other -------------------------------------------------------

    def suspected(self, by: RankName, rank: RankName, why: str) -> None:
        """Record that a rank cannot reach another one."""
        self._decide_later(self._suspicions.add(by, rank, why))

    def trusted(self, by: RankName, rank: RankName) -> None:
        """Record that a rank is reached again."""
        self._suspicions.withdraw(by, rank)

    def stands_still(self, rank: RankName, *, goes_on: bool) -> None:
        """Decide nothing about a rank that is stopped, until it could be reached again."""
        if not goes_on:
            self._suspicions.stopped(rank)
            return
        for one in self._suspicions.goes_on(rank):
            self._decide_later(one, max(self._patience, AFTER_STANDSTILL))

    def asked_for_end(self, by: RankName, rank: RankName) -> None:
        """Tell one rank how another one has ended, now or once it has."""
        death = self._asked.ask(by, rank)
        if death is not None:
            self._tell_end(by.place, death)

    def rank_ended(self, _: str, death: RankDeath) -> None:
        """Decide about a rank that was stopped, and has ended so; tell those who have asked."""
        for one in self._suspicions.goes_on(death.rank):
            self._decide_later(one)
        for by in self._asked.ended(death):
            self._tell_end(by, death)

    def _tell_end(self, to: RankName, death: RankDeath) -> None:
        place = self._places[to.cluster]
        if not place.was_lost:
            dated = replace(death.brief, rank=self._present(death.rank))
            place.orders.lost([dated.plain | {"told_to": str(to)}])

    def _decide_later(self, suspicion: Suspicion, patience: float | None = None) -> None:
        after = self._patience if patience is None else patience
        self._later(after, partial(self._decide, suspicion))

    def _decide(self, one: Suspicion) -> None:
        if not self._suspicions.is_due(one):
            return
        if any(map(self._is_end_awaited, one.places)):
            self._decide_later(one)  # no other one is to blame
            return
        by, rank, blamed = one.by.place, one.rank.place, self._suspicions.blamed(one)
        self._post(Suspected(by, rank, one.why, blamed))

    def _is_end_awaited(self, rank: RankName) -> bool:
        """Tell whether its front-end has gone, and its end is told once it is known why.

        A batch system may take seconds to say what became of a job.
        """
        if self.is_over or not self._places[rank.cluster].was_lost:
            return False
        death = self._announced.get(rank)
        return death is None or death.rank.incarnation != self._replacements.incarnation(rank)


def _ranks_that_go_on(plan: DeploymentPlan) -> dict[str, set[RankName]]:
    """Return the ranks of each application that survives losses."""
    run_plan = run_plan_of(plan)
    found: dict[str, set[RankName]] = {}
    for cluster in plan.deployment.clusters():
        if cluster.identifier in run_plan.survivors:
            ranks = run_plan.ranks[cluster.identifier]
            found.setdefault(cluster.application, set()).update(ranks)
    return found
