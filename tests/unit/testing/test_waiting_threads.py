"""Threads of a simulated process: the locks and sockets they wait for, in the time of the world."""

from __future__ import annotations

import _thread
import random
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runtime.testing.world.engine import World
from runtime.testing.world.network import NEVER, Network
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.waiting_threads import BlockingListener, ThreadedProcess, dialled


class TwoProcesses:
    """Two processes on two hosts; `b` takes one connection, and does nothing with it."""

    def __init__(self) -> None:
        self.world = World(1)
        self.network = Network(self.world, silence=NEVER)
        self.network.places = {"hb:1": "hb"}
        self.a, self.b = self._process("a", "ha"), self._process("b", "hb")
        self.taken: Any = None
        self.b.start("taking", self._take)
        self.world.add(self.b)
        self.world.add(self.a, 0.001)

    def _process(self, name: str, host: str) -> ThreadedProcess:
        return ThreadedProcess(WorldProcess(name, host, self.network, random.Random(name)))

    def _take(self) -> None:
        self.taken, _ = BlockingListener(self.b, "hb:1").accept()

    def connected(self) -> Any:
        made, where = dialled(self.a, "hb:1")
        made.connect(where)
        return made

    def run(self, *works: Callable[[], None], limit: float = 60.0) -> None:
        for work in works:
            self.a.start(work.__name__, work)
        self.world.run(lambda: self.a.is_over, limit)


@pytest.fixture
def two() -> Iterator[TwoProcesses]:
    made = TwoProcesses()
    yield made
    made.a.leave()
    made.b.leave()


def test_a_thread_waits_for_the_lock_that_another_one_has(two: TwoProcesses) -> None:
    lock: Any = None
    happened = []

    def first() -> None:
        nonlocal lock
        lock = threading.RLock()
        with lock, lock:
            two.a.sleep(5.0)
            happened.append("first")

    def second() -> None:
        with lock:
            happened.append(f"second at {two.world.now:.0f} s")

    two.run(first, second)
    assert happened == ["first", "second at 5 s"]


def test_who_takes_a_plain_lock_twice_waits_for_ever(two: TwoProcesses) -> None:
    def taking() -> None:
        lock = _thread.allocate_lock()
        lock.acquire()
        lock.acquire()

    two.run(taking)
    assert not two.a.is_over
    assert two.a.waits_for() == "in taking"


@pytest.mark.parametrize("made", [threading.Event, threading.Condition])
def test_events_and_conditions_wait_in_the_time_of_the_world(
    two: TwoProcesses, made: type[Any]
) -> None:
    there: list[Any] = []
    happened = []

    def waiting() -> None:
        there.append(made())
        if made is threading.Event:
            happened.append(there[0].wait(20.0))
        else:
            with there[0]:
                happened.append(there[0].wait(20.0))
        happened.append(round(two.world.now))

    def waking() -> None:
        two.a.sleep(7.0)
        if made is threading.Event:
            there[0].set()
        else:
            with there[0]:
                there[0].notify_all()

    two.run(waiting, waking)
    assert happened == [True, 7]


@pytest.mark.parametrize(("ends", "wakes_at"), [("shutdown", 2.0), ("close", 10.0)])
def test_a_close_by_another_thread_wakes_nobody_but_a_shutdown_does(
    two: TwoProcesses, ends: str, wakes_at: float
) -> None:
    made: list[Any] = []
    woken: list[float] = []

    def reading() -> None:
        made.append(two.connected())
        made[0].settimeout(10.0)
        try:
            made[0].recv(1)
        except OSError:
            pass
        finally:
            woken.append(two.world.now)

    def ending() -> None:
        two.a.sleep(2.0)
        if ends == "shutdown":
            made[0].shutdown(socket.SHUT_RDWR)
        made[0].close()

    two.run(reading, ending)
    assert woken == [pytest.approx(wakes_at, abs=0.1)]


@pytest.mark.parametrize(("limit", "wakes_at"), [(20.0, 20.0), (0.0, None)])
def test_only_a_time_limit_of_the_user_gives_up_who_reads_nothing(
    two: TwoProcesses, limit: float, wakes_at: float | None
) -> None:
    gave_up = []

    def writing() -> None:
        made = two.connected()
        if limit:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limit * 1000))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            made.sendall(bytes(2 << 20))
        except OSError:
            gave_up.append(two.world.now)

    two.run(writing, limit=300.0)
    assert gave_up == ([] if wakes_at is None else [pytest.approx(wakes_at, abs=1.0)])
