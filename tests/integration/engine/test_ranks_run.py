"""Ranks that are killed while their job is just being started, or started again after a failure."""

from __future__ import annotations

import os
import select
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import pytest

from gcm.invocation import Invocation
from runtime.machine.calls import DispatchTable, stub
from runtime.machine.contracts import Control, Orders, Views
from runtime.membership.run_directory import KEY
from runtime.native_mpi import Job, RankProgram
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.front_end.components import Components
from runtime.processes.front_end.main import FrontEndProcess
from runtime.processes.front_end.output_credit import OutputCredit
from runtime.processes.front_end.ranks_run import RanksRun
from runtime.processes.front_end.shared_routes import SharedRoutes
from runtime.processes.member_host import FRONT_END
from runtime.transport.channel import Channel, IncomingCall
from runtime.transport.keys import RunKeys, audience_of
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor

WAIT = 10.0

# A start asks it what it is, before it has it run anything.
PROGRAM = """#!/bin/sh
if [ "$1" = --version ]; then
    echo "$$" > asked
    read word < answer
    echo HYDRA
else
    echo "$$" > runs
    read word < end
fi
"""


class Pipe:
    """A named pipe, of which this end is open all the time."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._descriptor = os.open(path, os.O_RDWR)

    def read(self) -> str:
        assert select.select([self._descriptor], [], [], WAIT)[0], "nobody wrote"
        return os.read(self._descriptor, 100).decode().strip()

    def has_any(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def write(self) -> None:
        os.write(self._descriptor, b"go\n")

    def close(self) -> None:
        os.close(self._descriptor)


class Mpiexec:
    """An `mpiexec` that says what it is when it may, and runs until it may end."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mpiexec"
        self.path.write_text(PROGRAM.replace("> ", f"> {folder}/").replace("< ", f"< {folder}/"))
        self.path.chmod(0o700)
        self.asked, self.answer, self.runs, self.end = self.pipes = [
            Pipe(folder / name) for name in ("asked", "answer", "runs", "end")
        ]

    def is_there(self) -> bool:
        """Tell whether it runs as any process."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has just ended
                continue
            if os.fsencode(self.path) in words[:2]:
                return True
        return False

    def run_once(self) -> None:
        """Start when it is asked to, and end well."""
        self.asked.read()
        self.answer.write()
        self.runs.read()
        self.end.write()


@pytest.fixture
def mpiexec(tmp_path: Path) -> Iterator[Mpiexec]:
    made = Mpiexec(tmp_path)
    yield made
    for pipe in made.pipes:
        pipe.close()


@pytest.fixture
def told(tmp_path: Path, mpiexec: Mpiexec) -> FrontEndSettings:
    run_directory = tmp_path / "room"
    run_directory.mkdir()
    return FrontEndSettings(
        cluster="0:0",
        path="/grid/site0/cluster0",
        levels=(),
        run_directory=str(run_directory),
        folder=str(run_directory),
        umask=0o022,
        port=None,
        job=Job(
            RankProgram(
                "python", "0:0", "code", "script", "a.py", run_directory=str(run_directory)
            ),
            1,
            str(mpiexec.path),
        ),
        at_once=False,
        launcher="",
        keys=RunKeys(b"a secret of a test").keyring([audience_of("0:0"), audience_of("0:0:0")]),
    )


class Nobody:
    """What ranks are bound to where none comes."""

    def __init__(self) -> None:
        self.from_ranks = DispatchTable()
        self.views = stub(Views, lambda *_: None)
        self.control = stub(Control, lambda *_: None)

    def join(self, rank: str, channel: Channel) -> None:
        raise AssertionError(f"{rank} has come: {channel}")

    def is_ready(self, rank: str) -> None:
        raise AssertionError(rank)


class Runs:
    """Runs of the same ranks, and what was told of them, on a reactor that does nothing."""

    def __init__(self, told: FrontEndSettings, reactor: Reactor) -> None:
        self.told: list[tuple[Any, ...]] = []
        self._configuration, self._reactor = told, reactor
        self._made = ExitStack()

    def new(self, mpiexec: str = "") -> RanksRun:
        told = self._configuration
        assert told.job is not None
        if mpiexec:
            told = replace(told, job=replace(told.job, mpiexec=mpiexec))
        run = RanksRun(
            told,
            self._reactor,
            lambda _, *call: self.told.append(call),
            lambda _: None,
            lambda: None,
            components=cast(Components, Nobody()),
            routes=SharedRoutes(self._reactor),
            credit=OutputCredit(self._reactor),
            incarnation=1,
        )
        self._made.callback(run.close)
        return run

    def close(self) -> None:
        self._made.close()


@pytest.fixture
def runs(told: FrontEndSettings) -> Iterator[Runs]:
    # It is not run: what it was to do `soon` has not been done yet when the tests look.
    reactor = Reactor()
    made = Runs(told, reactor)
    yield made
    made.close()
    with reactor:
        """What it was to do is done now."""


def let_starts_end() -> None:
    """Wait until the threads in which jobs are started have done all they do."""
    for thread in threading.enumerate():
        if thread.name == "starting ranks":
            thread.join(WAIT)
            assert not thread.is_alive()


def test_a_start_that_a_later_life_cut_short_is_no_fault_of_that_life(
    mpiexec: Mpiexec, runs: Runs
) -> None:
    first, second = runs.new(), runs.new()
    first.start()
    before = mpiexec.asked.read()
    first.kill_ranks()
    second.start([first])
    assert mpiexec.asked.read() != before
    assert not Path("/proc", before).exists()
    mpiexec.answer.write()
    let_starts_end()
    assert mpiexec.runs.read()
    assert runs.told == []


def test_a_start_that_fails_by_itself_is_told(runs: Runs) -> None:
    runs.new("/no/mpiexec").start()
    let_starts_end()
    ((operation, (_, step, why)),) = runs.told
    assert (operation, step) == ("failed", "ranks:0:0")
    assert "there is no '/no/mpiexec'" in why


def test_a_job_that_starts_just_when_it_was_killed_is_stopped(mpiexec: Mpiexec, runs: Runs) -> None:
    run = runs.new()
    run.start()
    mpiexec.asked.read()
    run.kill_ranks()
    mpiexec.answer.write()
    let_starts_end()
    assert not run.is_over
    until = time.monotonic() + WAIT
    while mpiexec.is_there():
        assert time.monotonic() < until, "it runs on"
        time.sleep(0.01)


def test_a_job_that_was_only_asked_to_end_while_it_starts_is_not_killed(
    mpiexec: Mpiexec, runs: Runs
) -> None:
    run = runs.new()
    run.start()
    mpiexec.asked.read()
    run.ask_to_end()
    mpiexec.answer.write()
    let_starts_end()
    assert mpiexec.runs.read()
    assert mpiexec.is_there()


def test_ranks_that_are_killed_before_their_turn_are_not_started_at_all(
    mpiexec: Mpiexec, runs: Runs
) -> None:
    before, run = runs.new(), runs.new()
    run.kill_ranks()
    run.start([before])
    let_starts_end()
    assert not mpiexec.asked.has_any()


class Driver:
    """A front-end in a thread, and the launcher's end of its channel."""

    def __init__(self, told: FrontEndSettings, reactor: Reactor) -> None:
        self._heard: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
        near, far = MemoryStream.pair()
        self._channel = Channel(reactor, near, "front-end", self._hear).open()
        self.orders = stub(Orders, self._send)
        self._front_end = FrontEndProcess(told, reactor, far)
        self._thread = threading.Thread(target=self._front_end.run)
        self._thread.start()

    def _hear(self, request: IncomingCall) -> None:
        if request.target.operation != "logged":
            self._heard.put((request.target.operation, request.invocation().args))

    def _send(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        self._channel.note(Invocation(FRONT_END, interface, operation, args))

    def hears(self) -> str:
        return self._heard.get(timeout=WAIT)[0]

    def close(self) -> None:
        self._front_end.end()
        self._thread.join(WAIT)
        assert not self._thread.is_alive()
        self._channel.close()


@pytest.fixture
def driver(told: FrontEndSettings) -> Iterator[Driver]:
    with Reactor() as reactor:
        made = Driver(told, reactor)
        assert made.hears() == "up"
        yield made
        made.close()


def test_ranks_can_be_started_again_after_a_restart_that_had_no_room(
    driver: Driver, mpiexec: Mpiexec, told: FrontEndSettings
) -> None:
    run_directory = Path(told.run_directory)
    driver.orders.start_ranks(1)
    mpiexec.run_once()
    assert driver.hears() == "job_ended"
    shutil.rmtree(run_directory)  # as a system does that tidies up
    driver.orders.start_ranks(2)
    assert driver.hears() == "failed"
    run_directory.mkdir()
    driver.orders.kill_ranks()
    assert driver.hears() == "job_ended"
    driver.orders.start_ranks(3)
    mpiexec.run_once()
    assert (run_directory / KEY).exists()
    assert driver.hears() == "job_ended"


def test_the_end_of_a_rank_that_does_not_exist_is_told_to_nobody(runs: Runs) -> None:
    run = runs.new()
    for rank in (-1, 1, 99):
        run.ends.process_ended(rank, 9, 1.0, 1)
    assert runs.told == []
