"""Ranks that are killed while their job is just being started, or started again after a failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from gcm.invocation import Invocation
from runtime.engine import ranks_life
from runtime.engine.configuration import Configuration, Job
from runtime.engine.control import CONTROL
from runtime.engine.front_end import FrontEnd
from runtime.engine.ranks_life import RanksLife
from runtime.engine.room import KEY
from runtime.engine.shared_routes import SharedRoutes
from runtime.launchers.errors import LauncherClosed, LaunchError
from runtime.transport.channel import Channel, Request
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor

WAIT = 10.0


class FakeJob:
    """A job whose start takes until it is let go, or closed, which ends it with an error."""

    blamed: int | None = None
    last_lines = ""

    def __init__(self, done: Callable[[int, str], None], starting: SimpleQueue[FakeJob]) -> None:
        self._done = done
        self.let_go = threading.Event()
        self.has_started = self.is_stopped = self.is_closed = False
        self._starting = starting

    def start(self) -> None:
        self._starting.put(self)
        assert self.let_go.wait(WAIT)
        if self.is_closed:
            raise LauncherClosed("the launcher was closed")
        self.has_started = True

    def end(self) -> None:
        """Start, and end well."""
        self.let_go.set()
        self._done(0, "")

    def stop(self) -> None:
        self.is_stopped = True

    def close(self) -> None:
        self.is_closed = True
        self.let_go.set()


class Jobs(list[FakeJob]):
    """The jobs that were made, none of which starts an `mpiexec`."""

    def __init__(self) -> None:
        super().__init__()
        self._starting: SimpleQueue[FakeJob] = SimpleQueue()

    def make(
        self, job: Job, folder: str, say: object, done: Callable[[int, str], None], *_: object,
        guard: object,
    ) -> FakeJob:  # fmt: skip
        self.append(FakeJob(done, self._starting))
        return self[-1]

    def starting(self) -> FakeJob:
        """Return the next one that begins to start."""
        return self._starting.get(timeout=WAIT)

    def has_begun_any(self) -> bool:
        """Tell whether one begins to start that nobody has asked for."""
        return not self._starting.empty()


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    made = Jobs()
    monkeypatch.setattr(ranks_life, "RanksJob", made.make)
    yield made
    for job in made:
        job.let_go.set()


def configuration(room: Path) -> Configuration:
    return Configuration(
        cluster="0:0",
        path="/grid/site0/cluster0",
        levels=(),
        room=str(room),
        folder=str(room),
        port=None,
        job=Job(("python", "--room", str(room)), 1, "mpiexec", "mpich", (), (), {}),
        at_once=False,
        launcher="",
        secret=b"a secret of a test",
    )


class Lives:
    """Lives of the same ranks, and what was told of them, on a reactor that does nothing."""

    def __init__(self, room: Path, reactor: Reactor) -> None:
        self.told: list[tuple[Any, ...]] = []
        self._room, self._reactor = room, reactor

    def new(self) -> RanksLife:
        return RanksLife(
            configuration(self._room),
            self._reactor,
            lambda *told: self.told.append(told),
            lambda _: None,
            lambda: None,
            routes=SharedRoutes(self._reactor),
        )


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    # It is not run: what it was to do `soon` has not been done yet when the tests look.
    reactor = Reactor()
    yield Lives(tmp_path, reactor)
    reactor.close()


def let_starts_end() -> None:
    """Wait until the threads in which jobs are started have done all they do."""
    for thread in threading.enumerate():
        if thread.name == "starting ranks":
            thread.join(WAIT)


def test_a_start_that_a_later_life_cut_short_is_no_fault_of_that_life(
    jobs: Jobs, lives: Lives
) -> None:
    first, second = lives.new(), lives.new()
    first.start()
    assert jobs.starting() is jobs[0]
    first.kill()
    second.start(first)
    jobs[1].let_go.set()
    let_starts_end()
    assert jobs.starting() is jobs[1]
    assert jobs[0].is_closed
    assert lives.told == []


def test_a_start_that_fails_by_itself_is_told(jobs: Jobs, lives: Lives) -> None:
    life = lives.new()
    jobs[0].close()
    life.start()
    let_starts_end()
    ((operation, step, why),) = lives.told
    assert (operation, step) == ("failed", "ranks:0:0")
    assert "the launcher was closed" in why


def test_a_job_that_starts_just_when_it_was_killed_is_stopped(jobs: Jobs, lives: Lives) -> None:
    life = lives.new()
    life.start()
    jobs.starting()
    life.kill()
    jobs[0].let_go.set()
    let_starts_end()
    assert (jobs[0].has_started, life.is_over, jobs[0].is_stopped) == (True, False, True)


def test_a_job_that_was_only_asked_to_end_while_it_starts_is_not_killed(
    jobs: Jobs, lives: Lives
) -> None:
    life = lives.new()
    life.start()
    jobs.starting()
    life.ask_to_end()
    jobs[0].let_go.set()
    let_starts_end()
    assert (jobs[0].has_started, jobs[0].is_stopped) == (True, False)


def test_ranks_that_are_killed_before_their_turn_are_not_started_at_all(
    jobs: Jobs, lives: Lives, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, life = lives.new(), lives.new()
    monkeypatch.setattr(jobs[0], "close", life.kill)
    jobs[1].let_go.set()
    life.start(before)
    let_starts_end()
    assert not jobs.has_begun_any()


class Driver:
    """A front-end in a thread, and the launcher's end of its channel."""

    def __init__(self, room: Path, reactor: Reactor) -> None:
        self._heard: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
        near, far = MemoryStream.pair()
        self._channel = Channel(reactor, near, "front-end", self._hear).open()
        self._front_end = FrontEnd(configuration(room), reactor, far)
        self._thread = threading.Thread(target=self._front_end.run)
        self._thread.start()

    def _hear(self, request: Request) -> None:
        self._heard.put((request.target.operation, request.invocation().args))

    def tell(self, operation: str) -> None:
        self._channel.note(Invocation("/grid", CONTROL, operation))

    def hears(self) -> str:
        return self._heard.get(timeout=WAIT)[0]

    def close(self) -> None:
        self._front_end.end()
        self._thread.join(WAIT)
        self._channel.close()


@pytest.fixture
def driver(jobs: Jobs, tmp_path: Path) -> Iterator[Driver]:
    with Reactor() as reactor:
        made = Driver(tmp_path, reactor)
        assert made.hears() == "up"
        yield made
        made.close()


def test_ranks_can_be_started_again_after_a_restart_for_which_there_was_no_door(
    driver: Driver, jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_door(*_: object, **__: object) -> None:
        raise LaunchError("the port is taken")

    driver.tell("start_ranks")
    jobs.starting().end()
    assert driver.hears() == "job_ended"
    with monkeypatch.context() as patched:
        patched.setattr(ranks_life, "Gate", no_door)
        driver.tell("start_ranks")
        assert driver.hears() == "failed"
    driver.tell("kill_ranks")
    assert driver.hears() == "job_ended"
    driver.tell("start_ranks")
    again = jobs.starting()
    assert (tmp_path / KEY).exists()
    again.end()
    assert driver.hears() == "job_ended"
