"""The components that live in a front-end, and the handshake that goes through them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gcm.components.clustering import SRV, UP
from gcm.components.model import Component
from gcm.components.wrapper import Wrapper
from gcm.errors import GcmError
from gcm.factory import primitive, wrapper
from gcm.interfaces.future import Future
from gcm.interfaces.submission import submit
from gcm.invocation import Invocation
from runtime.engine.configuration import Configuration
from runtime.engine.control import ControlHost
from runtime.engine.hierarchy import (
    CLUSTERING,
    Clustering,
    above,
    clustering_component_type,
    clustering_path,
    hosted_identifiers,
    part_path,
    wrapper_type,
)
from runtime.engine.outcome import Connections, Relay
from runtime.engine.route_monitor import PART
from runtime.engine.shared_routes import SharedRoutes
from runtime.errors import GridError
from runtime.membership.doorstep import Found
from runtime.membership.whereabouts import report
from runtime.transport.errors import NotSendable


class RankBehind:
    """What the wrapper of a rank wraps: the process behind the gate."""

    def __init__(
        self, rank: str, stop: Callable[[], None], connections: Callable[[], Connections]
    ) -> None:
        self._rank = rank
        self._stop = stop
        self.connections = connections

    def call(self, invocation: Invocation) -> Future[Any]:
        """Refuse: a rank serves nothing yet."""
        raise NotSendable(f"a rank serves no {invocation.operation!r}", place=self._rank)

    def on_start(self) -> None:
        """Do nothing: ranks are released all together."""

    def on_stop(self) -> None:
        """Ask the rank to end: a native process cannot rest."""
        self._stop()

    def on_terminate(self) -> None:
        """Ask the rank to end."""
        self._stop()


class Components:
    """The clustering components of a front-end and the wrappers of its ranks.

    `gathered` is called with the identifier of each level whose parts are all ready, `failed` with
    what went wrong; both from some thread.
    """

    def __init__(
        self,
        host: ControlHost,
        told: Configuration,
        gathered: Callable[[str], None],
        failed: Callable[[GridError], None],
        *,
        routes: SharedRoutes,
        relays: Callable[[], tuple[Relay, ...]],
    ) -> None:
        self._host = host
        self._told = told
        self._routes = routes
        self._relays = relays
        self._failed = failed
        self._here = {
            identifier: self._clustering(identifier, gathered)
            for identifier in hosted_identifiers(told.cluster, told.levels)
        }
        self.wrappers = {
            f"{told.cluster}:{rank}": self._wrapper(f"{told.cluster}:{rank}")
            for rank in range(told.job.ranks if told.job else 0)
        }
        for one in self.wrappers.values():
            one.bind(UP, self._here[told.cluster].server(SRV))
            one.start()

    @staticmethod
    def rehearse() -> None:
        """Make components as a front-end does, and forget them: others are made faster then."""
        behind = RankBehind("", lambda: None, Connections)
        part = wrapper("part", wrapper_type(), behind, controllers=PART)
        part.bind(UP, _new_clustering(Clustering(lambda: None, Connections)).server(SRV))

    def bind(self, bound: Callable[[], None]) -> None:
        """Bind what is here to what is above it, wherever that is; returns before that is done."""
        self._work("binding", lambda: self._bind(bound))

    def shake_hands(
        self,
        facts: Mapping[str, Any],
        forwarder: Found,
        answered: Callable[[dict[str, Any]], None],
    ) -> None:
        """Report all ranks; `answered` gets what each of them is to know. Returns at once.

        `forwarder` is where the front-end itself can be found by those to be forwarded.
        """
        self._work("handshake", lambda: self._shake_hands(facts, forwarder, answered))

    def _bind(self, bound: Callable[[], None]) -> None:
        srv = clustering_component_type().find(SRV)
        assert srv is not None
        for identifier, component in self._here.items():
            upper = above(identifier)
            if upper is not None:
                component.bind(UP, self._host.end(clustering_path(upper), SRV, srv))
            component.start()
        bound()

    def _shake_hands(
        self,
        facts: Mapping[str, Any],
        forwarder: Found,
        answered: Callable[[dict[str, Any]], None],
    ) -> None:
        cluster = self._here[self._told.cluster]
        if not self.wrappers:
            cluster.content.ready([])
            answered({})
            return
        waiting = {}
        for rank, one in self.wrappers.items():
            parent: Any = one.client(UP).reference
            waiting[rank] = submit(parent.ready, [report(rank, facts.get(rank), forwarder)])
        answered(
            {
                rank: {
                    "identifier": rank,
                    "everybody": future.result(),
                    "machine": self._told.machine,
                }
                for rank, future in waiting.items()
            }
        )

    def _work(self, name: str, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except GridError as fault:
                self._failed(fault)
            except GcmError as fault:
                self._failed(GridError(f"the {name} of the components failed", cause=str(fault)))

        threading.Thread(target=guarded, name=name, daemon=True).start()

    def _clustering(self, identifier: str, gathered: Callable[[str], None]) -> Component:
        def connections() -> Connections:
            if identifier != self._told.cluster:
                return Connections()
            return replace(self._routes.connections(self.wrappers), relays=self._relays())

        made = _new_clustering(Clustering(lambda: gathered(identifier), connections))
        self._host.publish(clustering_path(identifier), made)
        return made

    def _wrapper(self, rank: str) -> Wrapper:
        path = part_path(rank)
        name = path.rpartition("/")[2]
        behind = RankBehind(rank, lambda: None, lambda: self._routes.connections([rank]))
        made = wrapper(name, wrapper_type(), behind, controllers=PART)
        self._host.publish(path, made)
        return made


def _new_clustering(content: Clustering) -> Component:
    return primitive(
        lambda: content, CLUSTERING, type=clustering_component_type(), controllers=PART
    )
