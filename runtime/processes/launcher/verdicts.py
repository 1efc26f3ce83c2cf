"""The one place that decides that a front-end, its host or the way to it is lost.

Others only tell what they saw: that a connection or a process has ended, which is certain, or that
nothing is heard, about which the detector decides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from gcm.invocation import Invocation
from runtime.errors import GridError
from runtime.health import Declare, Effect, LineTimes, Suspect, Trust
from runtime.processes.heartbeats import HeartbeatLoop
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.watch import ARBITER, WatchedGroups
from runtime.topology import NamedCluster, RankNames
from runtime.transport.errors import ChannelClosed
from runtime.transport.reactor import Reactor

_log = logging.getLogger(__name__)

Lost = Callable[[ClusterPlace, str, GridError | None], None]
"""Takes a verdict: of whom, the last words, and the whole message where it was for silence."""


class Verdicts:
    """Watches the places of a run; `lost` is called once for each that is lost.

    Heartbeats are heard on the reactor's thread, so they are answered however busy the engine is.
    """

    def __init__(
        self,
        watch: WatchedGroups | None,
        places: Mapping[str, ClusterPlace],
        reactor: Reactor,
        lost: Lost,
    ) -> None:
        self._places = places
        self._reactor = reactor
        self._lost = lost
        self._judged: set[str] = set()
        self._absent: set[str] = set()  # since the others are watched
        self.settled_after = 1.0 if watch is None else LineTimes.within(watch.timeout).settled
        """Seconds in which a place is found lost for which others have no line to its ranks."""
        self._has_begun = self._is_over = False
        self._loop = None
        if watch is not None:
            self._loop = HeartbeatLoop(
                reactor, watch, ARBITER,
                send=self._send, found=self._found, received=self._received, decides=True,
                names=RankNames(
                    {name: NamedCluster(one.cluster.path, 0) for name, one in places.items()}
                ),
            )  # fmt: skip

    def begin(self) -> None:
        """Watch from now on, and let the front-ends that are up do so; once."""
        if self._loop is not None and not (self._has_begun or self._is_over):
            self._has_begun = True
            self._absent = {name for name, place in self._places.items() if not place.is_up}
            self._reactor.soon(partial(self._begin, frozenset(self._absent)))

    def join(self, place: ClusterPlace) -> None:
        """Watch a front-end too that was not up when the others began to be watched."""
        if place.identifier in self._absent and not self._is_over:
            self._absent.remove(place.identifier)
            self._reactor.soon(partial(self._join, place))

    def renew(self, lost: ClusterPlace, why: str) -> None:
        """Watch the place that has followed a lost one, once its front-end is up."""
        self._absent.add(lost.identifier)
        self._reactor.soon(partial(self._renew, lost, why))

    def heartbeat(self, place: ClusterPlace, args: tuple[Any, ...]) -> None:
        """Take what the detector of a front-end says, on the reactor's thread."""
        if len(args) != 3 or args[0] != place.identifier:
            _log.error("%s speaks of heartbeats in the name of another member", place.cluster.path)
        elif self._loop is not None:
            self._loop.hear(*args)

    def ended(self, place: ClusterPlace, words: str) -> None:
        """Record that the process or the connection of a front-end has ended; from any thread."""
        self._reactor.soon(partial(self._judge, place, words, None))

    def condemn(self, place: ClusterPlace, why: str) -> None:
        """Declare a cluster lost that others cannot reach; from any thread."""
        fault = GridError(
            "ranks of other clusters cannot reach its ranks, so it was ended: not all can go on",
            place=f"{place.cluster.path}, {place.cluster.front_end.address}",
            cause=why,
        )
        self._reactor.soon(partial(self._unreached, place, why, fault))

    def strand(self, place: ClusterPlace, leader: ClusterPlace) -> None:
        """Declare a cluster lost that never learns who is where, since its leader is lost."""
        fault = GridError(
            "its ranks cannot begin, since nobody is left who would tell them where the others are",
            place=f"{place.cluster.path}, {place.cluster.front_end.address}",
            cause=f"{leader.cluster.path}, which led it, was lost before it had done so",
        )
        self._reactor.soon(partial(self._judge, place, fault.what, fault))

    def cut(
        self, place: ClusterPlace, why: str, source: ClusterPlace, target: ClusterPlace
    ) -> None:
        """Declare a cluster lost since the line between two is cut; from any thread."""
        fault = GridError(
            f"the line from {source.cluster.path} to {target.cluster.path} is cut",
            place=f"{source.cluster.front_end.address} to {target.cluster.front_end.address}",
            cause=why,
            cure="<failure-detector timeout='60s'/> allows more time",
        )
        self._reactor.soon(partial(self._unreached, place, why, fault, fault.what))

    def end(self) -> None:
        """Watch no more: everything is about to end."""
        self._is_over = True
        if self._loop is not None:
            self._reactor.soon(self._loop.end)

    # --- on the reactor's thread ----------------------------------------------------------------

    def _begin(self, absent: frozenset[str]) -> None:
        assert self._loop is not None
        self._loop.begin()
        for name, place in self._places.items():
            if name not in absent:
                place.orders.watch(self._loop.elapsed, 0)
        judged = self._judged
        self._judged = judged | absent  # they are gone for the others, but not lost
        for one in sorted(absent):
            self._loop.gone(one, "it has not come yet")
        self._judged = judged

    def _join(self, place: ClusterPlace) -> None:
        assert self._loop is not None
        if place.identifier not in self._judged:
            incarnation = self._loop.expect(place.identifier)
            place.orders.watch(self._loop.elapsed, incarnation)

    def _renew(self, lost: ClusterPlace, why: str) -> None:
        if lost.identifier not in self._judged and self._loop is not None:
            self._judged.add(lost.identifier)  # it was given up before it ended
            self._loop.gone(lost.identifier, why)
        self._judged.discard(lost.identifier)

    def _send(self, to: str, call: Invocation) -> None:
        place = self._places[to]
        if place.channel is not None:
            with suppress(ChannelClosed):
                place.channel.note(call, now=True)

    def _received(self, member: str) -> int:
        place = self._places.get(member)
        return 0 if place is None or place.channel is None else place.channel.received_bytes

    def _found(self, effect: Effect) -> None:
        place = self._places.get(getattr(effect, "member", ""))
        if place is None or place.identifier in self._judged:
            return
        name = f"the front-end of {place.cluster.path} on {place.cluster.front_end.address}"
        match effect:
            case Suspect(_, silence):
                _log.warning("nothing has been heard from %s for %.3g s", name, silence)
            case Trust():
                _log.warning("%s has been heard from again", name)
            case Declare(_, _, why):
                self._silent(place, why)

    def _unreached(self, place: ClusterPlace, why: str, fault: GridError, said: str = "") -> None:
        """Judge a place that others cannot reach: lost itself, where it is silent here as well.

        Those others may be sooner than the detector here, which is patient on a busy machine.
        """
        if self._loop is not None and place.identifier in self._loop.suspects:
            self._silent(place, f"nothing is heard from it, and {why}")
            return
        if said:
            _log.warning("%s", said)
        self._judge(place, why, fault)

    def _silent(self, place: ClusterPlace, why: str) -> None:
        fault = GridError(
            "the front-end, its host or the way to it is lost",
            place=f"{place.cluster.path}, {place.cluster.front_end.address}",
            cause=why,
            cure="Look whether the host runs and can be reached; "
            "<failure-detector timeout='60s'/> allows more time",
        )
        place.is_silent = True
        self._judge(place, why, fault)

    def _judge(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        is_followed = self._places[place.identifier] is not place
        if is_followed or place.identifier in self._judged:
            return
        self._judged.add(place.identifier)
        if self._loop is not None:
            self._loop.gone(place.identifier, words)  # the others are told
        self._lost(place, words, fault)
