"""The clustering component of a cluster, a site or the grid: who has come, and who is where.

The reports of one kind are collected in rounds, which are pure.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role
from runtime.lazy_import import LazyModule
from runtime.machine.calls import CallRefused
from runtime.machine.contracts import (
    CONTRACTS,
    CollectiveData,
    Control,
    Delivery,
    Facts,
    Health,
    Membership,
    References,
    Routes,
    Views,
)
from runtime.machine.delivery import DELIVERY, PEERS, at_site
from runtime.machine.table import encoded
from runtime.transport.keys import member_name, parsed

if TYPE_CHECKING:
    from runtime.collectives import components
else:
    components = LazyModule("runtime.collectives.components")  # few runs need it

MEMBERSHIP, VIEWS = CONTRACTS[Membership], CONTRACTS[Views]
UP, DOWN = f"{MEMBERSHIP}-up", f"{VIEWS}-down"

MOST_GIVEN = 256 << 20
"""The bytes of contributions that wait for those of other members."""

_FULL = f"in a component {MOST_GIVEN >> 20} MiB already wait for other members of their collectives"

TO_RANKS = (Views, Control, Routes)
FROM_RANKS = (Membership, Health, References)


def names_of(contracts: Iterable[type]) -> list[str]:
    """Return the names of the interfaces of contracts."""
    return [CONTRACTS[one] for one in contracts]


def _server(contract: type) -> InterfaceType:
    return InterfaceType(CONTRACTS[contract], contract, Role.SERVER)


def _up(contract: type) -> InterfaceType:
    name = f"{CONTRACTS[contract]}-up"
    return InterfaceType(name, contract, Role.CLIENT, Contingency.OPTIONAL)


def _down(contract: type) -> InterfaceType:
    name, optional = f"{CONTRACTS[contract]}-down", Contingency.OPTIONAL
    return InterfaceType(name, contract, Role.CLIENT, optional, Cardinality.MULTICAST)


OPEN_TYPE = ComponentType((_server(Views), _up(Membership)))
"""What every cluster and site has, as the level above sees it."""

TYPE = ComponentType((_server(Membership), *OPEN_TYPE.interfaces, _down(Views)))
"""The type of the clustering component of a site or the grid."""

CLUSTER_TYPE = ComponentType(
    (*map(_server, FROM_RANKS), *OPEN_TYPE.interfaces, *map(_down, TO_RANKS))
)
"""The type of the clustering component of a cluster."""

WRAPPER_TYPE = ComponentType((*map(_server, TO_RANKS), *map(_up, FROM_RANKS)))
"""The type of the wrapper of a native executable."""


def _delivery(cardinality: Cardinality, names: Iterable[tuple[str, str]]) -> list[InterfaceType]:
    optional = Contingency.OPTIONAL
    return [
        one
        for peers, delivery in names
        for one in (
            InterfaceType(peers, Delivery, Role.CLIENT, optional, cardinality),
            InterfaceType(delivery, Delivery, Role.SERVER, cardinality=cardinality),
        )
    ]


RANK_TYPE = ComponentType(
    (*WRAPPER_TYPE.interfaces, *_delivery(Cardinality.SINGLETON, [(PEERS, DELIVERY)]))
)
"""The type of the wrapper of a rank that exchanges messages with those of other clusters."""


def cluster_type(code: str) -> ComponentType:
    """Return the type of a cluster; `code` is what its ranks run, "" if that is native."""
    names = [(PEERS, DELIVERY)] if code else []
    return ComponentType((*OPEN_TYPE.interfaces, *_delivery(Cardinality.MULTICAST, names)))


def site_type(codes: Iterable[str]) -> ComponentType:
    """Return the type of a site, some of whose clusters run these codes."""
    names = [(at_site(PEERS, code), at_site(DELIVERY, code)) for code in codes]
    return ComponentType((*OPEN_TYPE.interfaces, *_delivery(Cardinality.MULTICAST, names)))


class Clustering:
    """Collects the reports of its members, passes them on as one, and hands the view down.

    Members are ranks for a cluster, clusters for a site, sites for the grid. `gathered` is called
    with the reports of all that are expected and all before them; it returns what is passed on.
    `seen` is called with each view that comes.
    """

    membership_up: Membership | None = None
    views_down: Views | None = None

    def __init__(
        self,
        identifier: str,
        gathered: Callable[[list[Facts]], list[Facts]],
        seen: Callable[[bytes], None] = lambda *_: None,
    ) -> None:
        self._identifier = identifier
        self._gathered = gathered
        self._seen = seen
        self._round = Round[list[Facts]]()
        self._known: dict[str, list[Facts]] = {}
        self.branches: dict[str, Views] = {}
        """The views of each member, by identifier."""
        self._collectives: dict[str, dict[str, CollectiveData]] = {}
        self._given = 0
        self._incarnations: dict[str, int] = {}
        self._lock = _thread.allocate_lock()  # members call from several threads

    @property
    def missing(self) -> list[str]:
        """The members that are waited for."""
        return self._round.missing

    def expect(self, members: list[str]) -> None:
        """Wait for these members."""
        self._round.expect(members)
        self._go_on()

    def forget(self, member: str) -> None:
        """Wait for a member no more, since it is lost."""
        self._round.forget(member)
        self._go_on()

    def ready(self, member: str, reports: list[Facts]) -> None:
        """Take what a member reports, of itself or of all below it."""
        self._round.report(member, reports)
        self._go_on()

    def view(self, table: bytes) -> None:
        """Pass a view on as it came, not opened."""
        self._seen(table)
        if self.views_down is not None:
            self.views_down.view(table)

    def lost(self, reports: list[Facts]) -> None:
        """Pass on which ranks have ended."""
        if self.views_down is not None:
            self.views_down.lost(reports)

    def contribute(
        self, member: str, call: str, how: tuple[str, str], group: list[str], data: CollectiveData
    ) -> None:
        """Merge what members give to a collective, and pass it on as one.

        Where that cannot be all go on as usual, with a text that says why: so it fails at all
        ranks, and none is told before it has begun the call.

        Raises:
            CallRefused: it is no contribution of one who takes part.
        """
        match how, group, data:
            case (str(rule), str(to)), [*names], bytes() | str() if all(
                isinstance(one, str) for one in (call, *names)
            ):
                pass
            case _:
                raise CallRefused(f"what {member} gives to a collective is no contribution")
        given = self._gathered_of(call, member, components.below(self._identifier, group), data)
        if given is None:
            return
        data = components.merged(rule, given)
        if components.has_all(self._identifier, group):
            self.collected(call, to, group, data)
        elif self.membership_up is not None:
            self.membership_up.contribute(self._identifier, call, how, group, data)

    def _gathered_of(
        self, call: str, member: str, members: list[str], data: CollectiveData
    ) -> list[CollectiveData] | None:
        """Return what all members have given to a collective, None before that.

        A code that was started again has left its former calls.
        """
        code, incarnation = parsed(call.partition(":")[0])
        with self._lock:
            former = self._incarnations.get(code, incarnation)
            if member not in members or incarnation < former:
                raise CallRefused(f"{member} gives data to a collective that cannot take them")
            if incarnation > former:
                left = f"{member_name(code, former)}:"
                for one in [one for one in self._collectives if one.startswith(left)]:
                    self._drop(one)
            self._incarnations[code] = incarnation
            given = self._collectives.setdefault(call, {})
            self._given += len(data) - len(given.get(member, b""))
            given[member] = data
            if all(one in given for one in members):
                self._drop(call)
                return [given[one] for one in members]
            if self._given > MOST_GIVEN and isinstance(data, bytes):
                self._given += len(_FULL) - len(data)
                given[member] = _FULL
            return None

    def _drop(self, call: str) -> None:
        self._given -= sum(map(len, self._collectives.pop(call).values()))

    def collected(self, call: str, to: str, group: list[str], data: CollectiveData) -> None:
        """Pass the result of a collective on to those below."""
        for member in components.below(self._identifier, group):
            if member in self.branches:
                gets = isinstance(data, str) or not to or f"{to}:".startswith(f"{member}:")
                self.branches[member].collected(call, to, group, data if gets else b"")

    def _go_on(self) -> None:
        reported = self._round.take()
        if reported is None:
            return
        self._known |= reported
        reports = self._gathered([one for reports in self._known.values() for one in reports])
        if self.membership_up is not None:
            self.membership_up.ready(self._identifier, reports)
        else:
            self.view(encoded(reports))


R = TypeVar("R")


class Round(Generic[R]):
    """Knows whom it waits for, not only who has come.

    Members may report before it is known who is expected.

    >>> round = Round[str]()
    >>> round.report("0:0:1", "b")
    >>> round.expect(["0:0:0", "0:0:1"])
    >>> round.missing
    ['0:0:0']
    >>> round.report("0:0:0", "a"); round.take()
    {'0:0:0': 'a', '0:0:1': 'b'}
    >>> round.take() is None
    True
    """

    def __init__(self) -> None:
        self._expected: tuple[str, ...] | None = None
        self._reports: dict[str, R] = {}

    def expect(self, members: Iterable[str]) -> None:
        """Begin a round, or have more members in the present one."""
        self._expected = tuple(dict.fromkeys([*(self._expected or ()), *members]))

    def forget(self, member: str) -> None:
        """Wait for a member no more."""
        if self._expected is not None:
            self._expected = tuple(one for one in self._expected if one != member)

    def report(self, member: str, report: R) -> None:
        """Take what a member reports."""
        self._reports[member] = report

    @property
    def missing(self) -> list[str]:
        """The members that are expected and have not reported."""
        return [one for one in self._expected or () if one not in self._reports]

    def take(self) -> dict[str, R] | None:
        """Return what everybody reported, in the order of `expect`, once; None before that."""
        if self._expected is None or self.missing:
            return None
        reports = {member: self._reports.pop(member) for member in self._expected}
        self._expected = None
        return reports
