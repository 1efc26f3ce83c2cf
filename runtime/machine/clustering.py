"""The clustering component of a cluster, a site or the grid: who has come, and who is where.

The reports of one kind are collected in rounds, which are pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role
from runtime.machine.contracts import (
    CONTRACTS,
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

MEMBERSHIP, VIEWS = CONTRACTS[Membership], CONTRACTS[Views]
UP, DOWN = f"{MEMBERSHIP}-up", f"{VIEWS}-down"

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

    @property
    def missing(self) -> list[str]:
        """The members that are waited for."""
        return self._round.missing

    def expect(self, members: list[str]) -> None:
        """Wait for these members."""
        self._round.expect(members)
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
        """Begin a round."""
        self._expected = tuple(members)

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
