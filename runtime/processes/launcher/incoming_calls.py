"""What front-ends and ranks call in the launcher: who may, on which thread, and what is refused.

Front-ends call on the reactor's thread. Their reports are carried out one by one on the engine's
thread, in order; the appeals of ranks too, which are opened as from untrusted processes.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from gcm.errors import NoSuchComponentError
from gcm.interfaces.future import Future
from runtime.coupling.deployed_codes import Codes
from runtime.coupling.message_paths import cluster_of, rank_path
from runtime.hosting.host import Host
from runtime.machine.authority import APPEALS, MOST_BYTES, is_for_launcher
from runtime.machine.calls import CallRefused, DispatchTable
from runtime.machine.contracts import CONTRACTS, Heartbeats
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.verdicts import Verdicts
from runtime.processes.member_host import HEARTBEAT, is_to_launcher
from runtime.rank_name import RankName
from runtime.transport.channel import IncomingCall
from runtime.transport.keys import member_name, parsed
from runtime.views.stream import ListenerRaised

if TYPE_CHECKING:
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly

_OF_ANY_INCARNATION = {
    "lines", "node_lines", "input_wanted", "rank_exchanged", "carried", "forwarded", "logged",
}  # fmt: skip
"""Reports that are taken of former incarnations of ranks, too: output and figures."""

_ABOUT_RANKS = {
    "rank_here", "rank_ready", "rank_ended", "rank_aborted", "rank_exchanged", "rank_frozen",
}  # fmt: skip
"""Operations whose second argument is a rank of the cluster that tells it."""

_log = logging.getLogger(__name__)


class IncomingCalls:
    """Passes each call to its method; `dispatch` has a table for each cluster, made later."""

    def __init__(
        self,
        codes: Codes,
        host: Host,
        verdicts: Verdicts,
        post: Post,
        assembly: DeployedAssembly | None,
    ) -> None:
        self.dispatch: dict[str, DispatchTable] = {}
        self._codes = codes
        self._host = host
        self._verdicts = verdicts
        self._post = post
        self._assembly = assembly

    def take(self, place: ClusterPlace, request: IncomingCall) -> Future[Any] | IncomingCall | None:
        """Take a call that came over the connection of a front-end."""
        target = request.target
        if cluster_of(target.component):  # of no rank that is there, so it must not be opened here
            raise NoSuchComponentError("there is no such rank here", component=target.component)
        if target.interface == APPEALS:
            self._post(lambda: self._understand_appeal(place, request))
            return None
        if is_for_launcher(target):
            self._understand_coupling(place, request)
            return None
        if target.interface == HEARTBEAT:
            return None  # of a front-end that has not come yet
        if not is_to_launcher(target):
            if self._assembly is None:
                raise NoSuchComponentError("nothing is served here", component=target.component)
            return self._host.serve(request)
        if target.interface == CONTRACTS[Heartbeats]:
            self._verdicts.heartbeat(place, request.invocation().args)
            return None
        self._post(lambda: self._understand(place, request))
        return None

    def _understand(self, place: ClusterPlace, request: IncomingCall) -> None:
        target = request.target
        try:
            args = request.invocation().args
            cluster, incarnation = parsed(args[0])
            if cluster != place.identifier:
                raise CallRefused(f"{target} was called in the name of another member")
            is_past = 0 < incarnation < self._codes.incarnation(cluster)
            if is_past and target.operation not in _OF_ANY_INCARNATION:
                _log.info("what ranks of %s told in incarnation %d is over", cluster, incarnation)
                return
            if target.operation in _ABOUT_RANKS and cluster_of(rank_path(args[1])) != cluster:
                raise CallRefused(f"{target} is told of a rank of another cluster")
            self.dispatch[cluster].call(target.interface, target.operation, args[1:])
        except CallRefused as fault:
            fault.place = place.cluster.path
            _log.error("%s", fault)
        except ListenerRaised:
            raise
        except Exception as fault:  # without what it said the run could wait for ever
            _log.exception("what %s says is not understood: %s", place.cluster.path, target)
            words = f"{target} is not understood: {type(fault).__name__}: {fault}"
            self._verdicts.ended(place, words)

    def _understand_coupling(self, place: ClusterPlace, request: IncomingCall) -> None:
        """Carry out what a rank tells the launcher of codes; nonsense ends nothing."""
        target = request.target
        called = target.component, target.interface, target.operation
        try:
            args = request.invocation().args
            self._codes.registry.handle_call(target.client, *called, args)
        except Exception as fault:
            text = "what %s of %s tells of coupled codes is not understood: %s"
            _log.warning(text, target.client, place.cluster.path, fault)

    def _understand_appeal(self, place: ClusterPlace, request: IncomingCall) -> None:
        """Carry out what a rank asks; what is not understood ends nothing, and nobody waits.

        The rank counts its incarnations with those of its code, the state of the run without them.
        """
        target, size = request.target, request.frame.size
        rank, incarnation = parsed(target.client)
        started = self._codes.incarnation(place.identifier)
        try:
            if size > MOST_BYTES:
                raise CallRefused(f"{target} was called with {size} bytes")
            args = request.invocation().args
            if args[:1] != (target.client,):
                raise CallRefused(f"{target} was called in the name of another member")
            if incarnation < started:
                _log.info("what %s asked in incarnation %d is over", rank, incarnation)
                return
            by = member_name(rank, incarnation - started + 1)
            dispatch = self.dispatch[place.identifier]
            dispatch.call(APPEALS, target.operation, (by, *args[1:]))
        except Exception as fault:
            text = "what rank %s of %s asks of the launcher is not understood: %s"
            _log.warning(text, RankName.parse(rank).rank, place.cluster.path, fault)
