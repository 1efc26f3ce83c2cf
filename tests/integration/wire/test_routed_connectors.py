"""Posts that find each other by routes: what fails, what is shared of that, and what is retried."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import cast

import pytest

from runtime.forwarding.forwarder import Forwarder
from runtime.machine.contracts import Routes
from runtime.routing import Experience, ScaleOut
from runtime.routing.tension import RETRY_AFTER
from runtime.topology import Cluster, Grid, Node, Site
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor
from runtime.wire import Incoming, PeerConnections
from runtime.wire.dialling.connecting import DIAL_TIMEOUT, DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.references import ReferenceController
from runtime.wire.dialling.routed import RoutedConnector
from runtime.wire.errors import PeerLost, WireError

SECRET = b"a secret of a test of routes"
PATIENCE = 20.0
HEAD_START = 0.3
NAMES = ("0:0:0", "0:0:1", "1:0:0", "1:0:1")
GRID = Grid(tuple(Site(f"s{n}", (Cluster("c", (Node("n", ranks=2),)),)) for n in range(2)))


class Ear:
    """A receiver that takes every message at once."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.kept: dict[bytes, Incoming] = {}
        self.gone: dict[int, Exception] = {}

    def arrived(self, incoming: Incoming) -> None:
        self.heads.append(incoming.head)
        self.kept[incoming.head] = incoming
        incoming.take()

    def completed(self, incoming: Incoming) -> None:
        assert incoming.done

    def lost(self, peer: int, why: Exception) -> None:
        self.gone[peer] = why


class Asked:
    """The contract of a peer: it comes when it is called, if `come` does something about it."""

    def __init__(self, come: Callable[[str], None]) -> None:
        self.come = come


def listening(host: str = "127.0.0.3", port: int = 0) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(16)
    return listener


def address_of(listener: socket.socket) -> str:
    return "{}:{}".format(*listener.getsockname())


class Rank:
    """A rank with its post; others look for it at `address`."""

    def __init__(self, index: int, listener: socket.socket, address: str) -> None:
        self.index = index
        self.name = NAMES[index]
        self.listener = listener
        self.address = address
        self.ear = Ear()
        self.told: list[Experience] = []
        self.connections: PeerConnections
        self.connector: RoutedConnector
        self.references: ReferenceController


class Machine:
    """Ranks of two clusters, of which the front-end of the second one forwards."""

    def __init__(self, stack: ExitStack) -> None:
        self._listeners: dict[str, tuple[str, ...]] = {}
        self.comes = False
        self.ranks: list[Rank] = []
        self.forwarder = Forwarder(
            stack.enter_context(Reactor()), ["127.0.0.3:0"], Credentials(SECRET, "1:0"), self._find
        )
        stack.callback(self.forwarder.close)

    def _find(self, stop: str) -> tuple[str, ...]:
        return self._listeners.get(stop, ())

    def begin(self, addresses: dict[str, str]) -> None:
        """Begin; `addresses` tells of whom others believe to be elsewhere, or where another is."""
        listeners = {name: listening() for name in NAMES}
        self._listeners = {name: (address_of(listener),) for name, listener in listeners.items()}
        for index, (name, listener) in enumerate(listeners.items()):
            address = addresses.get(name, name)
            self.ranks.append(Rank(index, listener, *self._listeners.get(address, (address,))))
        parties = tuple(Party(one.name, "host", "", (one.address,)) for one in self.ranks)
        for rank in self.ranks:
            self._open(rank, RankDirectory(parties))

    def _peers(self, peer: int) -> Routes:
        return cast(Routes, Asked(lambda name: self.called(peer, name)))

    def called(self, peer: int, name: str) -> None:
        """Let a rank connect to one that asks for it; as long as it `comes`."""
        if self.comes:
            self.ranks[peer].connections.soon(
                lambda: self.ranks[peer].connections.watch(NAMES.index(name))
            )

    def _open(self, rank: Rank, directory: RankDirectory) -> None:
        credentials = Credentials(SECRET, rank.name)
        rank.connector = RoutedConnector(
            rank.index,
            directory,
            credentials,
            GRID,
            front_ends={(1, 0): Party("1:0", "host", "", self.forwarder.addresses)},
            peers=self._peers,
            share=rank.told.extend,
            head_start=HEAD_START,
        )
        rank.references = ReferenceController(rank.connector)
        rank.connections = PeerConnections(
            rank.index,
            directory,
            rank.ear,
            rank.references,
            listeners=[rank.listener],
            credentials=credentials,
        )
        rank.references.keeper = rank.connections

    def close(self) -> None:
        """Close all at the same time, since each hears the goodbyes of the others."""
        closing = [
            threading.Thread(target=rank.connections.close, args=(0.0,)) for rank in self.ranks
        ]
        for one in closing:
            one.start()
        for one in closing:
            one.join()

    def until(self, condition: Callable[[], object]) -> None:
        """Let all go on until something is true."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, [rank.ear.gone for rank in self.ranks]
            happened = [rank.connections.progress() for rank in self.ranks]
            if not any(happened):
                self.ranks[0].connections.ready(0.002)

    def send(self, source: int, target: int, head: bytes) -> float:
        """Send a message; return after how many seconds it arrived."""
        begun = time.monotonic()
        self.ranks[source].connections.send(target, head)
        self.until(lambda: head in self.ranks[target].ear.heads)
        return time.monotonic() - begun


@pytest.fixture
def machine() -> Iterator[Machine]:
    with ExitStack() as stack:
        made = Machine(stack)
        stack.callback(made.close)
        yield made


def nowhere() -> str:
    """Return an address that refuses, at which somebody can listen later."""
    with listening("127.0.0.2") as listener:
        return address_of(listener)


def test_where_somebody_else_has_the_address_the_next_route_is_taken(machine: Machine) -> None:
    """As where private address ranges of two sites overlap: a member of the run, but another."""
    machine.begin({"1:0:0": "1:0:1"})
    machine.send(0, 2, b"hello")
    connector = machine.ranks[0].connector
    assert connector.between == {2: ("1:0",)}
    assert (connector.tries, connector.failures) == (3, 1)
    assert machine.ranks[3].ear.heads == []


@contextmanager
def deaf() -> Iterator[str]:
    """Yield an address at which what tries to connect is dropped, as a firewall does."""
    with socket.socket() as listener, ExitStack() as stack:
        listener.bind(("127.0.0.4", 0))
        listener.listen(0)
        for _ in range(2):  # they fill its queue
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield address_of(listener)


def test_a_peer_that_takes_nothing_from_outside_is_asked_to_connect(machine: Machine) -> None:
    """Nobody has told of its firewall; what was learned saves the next rank the try."""
    with deaf() as address:
        machine.begin({"1:0:0": address, "1:0:1": address})
        machine.comes = True
        assert machine.send(0, 2, b"first") < DIAL_TIMEOUT
        first, second = machine.ranks[:2]
        assert [one.worked for one in first.told] == [False]
        second.connector.learn(first.told, second.connections.now())
        machine.send(1, 3, b"second")
        assert second.connector.failures == 0


def test_a_connection_that_the_peer_has_opened_is_used_at_once(machine: Machine) -> None:
    with deaf() as address:
        machine.begin({"1:0:0": address})
        machine._listeners["1:0:0"] = (address,)  # nor does its front-end reach it
        machine.ranks[0].connections.send(2, b"from the lower index")
        assert machine.send(2, 0, b"hello") < DIAL_TIMEOUT
        machine.until(lambda: b"from the lower index" in machine.ranks[2].ear.heads)
        assert not machine.ranks[0].ear.gone


def test_a_route_of_which_nothing_is_heard_costs_no_more_than_its_head_start(
    machine: Machine,
) -> None:
    with deaf() as address:
        machine.begin({"1:0:0": address})
        assert machine.send(0, 2, b"by the front-end") < DIAL_TIMEOUT
        assert machine.ranks[0].references.passed(2) == ("1:0",)


def test_what_one_rank_has_learned_saves_the_next_one_the_try(machine: Machine) -> None:
    machine.begin({"1:0:0": nowhere(), "1:0:1": nowhere()})
    first, second = machine.ranks[:2]
    machine.send(0, 2, b"first")
    assert (first.connector.tries, first.connector.failures) == (3, 1)
    second.connector.learn(first.told, second.connections.now())
    machine.send(1, 3, b"second")
    assert (second.connector.tries, second.connector.failures) == (2, 0)
    assert second.told == []
    machine.send(1, 3, b"third")
    sums = second.references.figures(second.connections.traffic())
    assert (sums["hits"], sums["misses"]) == (1, 1)


def test_a_peer_that_nobody_reaches_says_nothing_about_routes(machine: Machine) -> None:
    machine.begin({"1:0:0": nowhere()})
    machine._listeners["1:0:0"] = (nowhere(),)
    first = machine.ranks[0]
    first.connections.send(2, b"hello")
    machine.until(lambda: first.ear.gone)
    assert isinstance(first.ear.gone[2], PeerLost)
    assert first.connector.failures > 1
    assert first.told == []


def test_a_closed_route_is_tried_again_in_the_background_and_shared(machine: Machine) -> None:
    address = nowhere()
    machine.begin({"1:0:0": address})
    first, second = machine.ranks[:2]
    now = first.connections.now
    machine.send(0, 2, b"by the front-end")
    (told,) = first.told
    assert first.connector.probes(now()) == []
    later = now() + RETRY_AFTER
    (probe,) = first.connector.probes(later)
    done = threading.Event()
    results: list[bool] = []

    def has_ended(has_worked: bool) -> None:
        results.append(has_worked)
        done.set()

    probe.begin(has_ended)
    assert done.wait(PATIENCE)
    assert results == [False]
    assert first.connector.probed(probe, later, has_worked=False) == []
    assert first.told[-1].failures == told.failures + 1
    assert first.connector.probes(later + RETRY_AFTER) == []  # the pause is longer now

    second.connector.learn(first.told, later)
    assert first.connector.probed(probe, later, has_worked=True) == [2]
    assert first.told[-1].worked
    assert second.connector.learn(first.told[-1:], later) == []  # it has no connection yet


def test_who_is_beyond_the_bound_rests_and_is_connected_to_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", "1")
    machine.begin({})
    first = machine.ranks[0]
    for head in (b"1", b"2", b"3"):
        for target in (2, 3):
            machine.send(0, target, head)
            machine.until(lambda: len(first.connections.connected()) == 1)
    figures = first.references.figures(first.connections.traffic())
    assert figures == {
        "tries": 6,
        "failures": 0,
        "hits": 0,
        "misses": 6,
        "evictions": 5,
        "resumptions": 0,
        "lanes": 0,
    }
    assert machine.ranks[2].ear.heads == [b"1", b"2", b"3"]


def test_a_connection_over_which_somebody_waits_does_not_rest(machine: Machine) -> None:
    machine.begin({})
    first, third = machine.ranks[0], machine.ranks[2]
    machine.send(0, 2, b"hello")
    first.connections.watch(2)
    assert not first.connections.rest(2)
    assert third.connections.rest(0)  # who waits refuses, so the connection is used again
    machine.send(2, 0, b"answer")
    assert first.connections.rest(2)
    machine.until(lambda: not first.connections.connected() and not third.connections.connected())
    assert first.connections.traffic()[2].connections == 1


@pytest.mark.parametrize("told", ["0", "-3", "many"])
def test_a_bound_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", told)
    with pytest.raises(WireError, match=f"GCM_MOST_CONNECTIONS is '{told}', which is not a number"):
        ReferenceController(DirectConnector(0, RankDirectory(()), Credentials(SECRET, "0:0:0")))


def test_a_probe_proves_who_answers(machine: Machine) -> None:
    listener = listening("127.0.0.2")
    machine.begin({"1:0:0": address_of(listener)})
    listener.close()
    first, third = machine.ranks[0], machine.ranks[2]
    machine.send(0, 2, b"by the front-end")
    (probe,) = first.connector.probes(first.connections.now() + RETRY_AFTER)
    address = third.address
    with listening("127.0.0.2", int(address.rpartition(":")[2])) as silent:
        for name, expected in (("1:0:1", False), ("1:0:0", True)):
            connections = PeerConnections(
                2,
                RankDirectory(tuple(Party(one) for one in NAMES)),
                Ear(),
                third.references,
                listeners=[socket.socket(fileno=os.dup(silent.fileno()))],
                credentials=Credentials(SECRET, name),
            )
            results: list[bool] = []
            probe.begin(results.append)
            deadline = time.monotonic() + PATIENCE
            while not results and time.monotonic() < deadline:
                connections.ready(0.05)
                connections.progress()
            assert results == [expected]
            assert connections.traffic() == {}
            connections.close(0.0)


def want(rank: Rank, peer: int, lanes: int) -> None:
    """Let a rank want so many lanes to a peer: on the loopback nobody needs any."""
    held = rank.connections._peers[peer].streams.opened()
    held._scale_out = ScaleOut()
    held._scale_out.wanted = 1 + lanes
    held._scale_out._used_at = rank.connections.now()
    held._measured_at = 0.0
    rank.connections.tick_soon()


def test_lanes_take_the_route_of_the_first_connection(machine: Machine) -> None:
    machine.begin({"1:0:0": nowhere()})
    first, third = machine.ranks[0], machine.ranks[2]
    machine.send(0, 2, b"hello")
    assert first.references.passed(2) == ("1:0",)
    want(first, 2, 3)
    machine.until(lambda: first.connections.lanes == third.connections.lanes == 3)
    assert machine.forwarder.opened == 4
    payload = os.urandom(5 << 20)
    sent = first.connections.send(2, b"large", [memoryview(payload)])
    machine.until(lambda: sent.done)
    assert bytes(third.ear.kept[b"large"].payload or b"") == payload
    figures = first.references.figures(first.connections.traffic())
    assert (figures["tries"], figures["failures"], figures["lanes"]) == (3, 1, 3)
    assert third.references.figures(third.connections.traffic())["lanes"] == 0


def test_whoever_has_not_dialled_asks_for_lanes(machine: Machine) -> None:
    machine.begin({})
    first, third = machine.ranks[0], machine.ranks[2]
    machine.send(0, 2, b"hello")
    want(third, 0, 2)
    machine.until(lambda: first.connections.lanes == third.connections.lanes == 2)
    want(third, 0, 0)
    machine.until(lambda: first.connections.lanes == third.connections.lanes == 0)
    assert first.connections.traffic()[2].lanes == 2


def test_lanes_are_bounded_and_make_room_for_other_peers(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCM_MOST_CONNECTIONS", "3")
    machine.begin({})
    first = machine.ranks[0]
    machine.send(0, 2, b"hello")
    want(first, 2, 7)
    machine.until(lambda: first.connections.lanes == 2)
    machine.send(0, 3, b"hello")
    machine.until(lambda: first.connections.lanes == 0)
    assert set(first.connections.connected()) == {2, 3}
