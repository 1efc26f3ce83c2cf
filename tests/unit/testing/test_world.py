"""A simulated world: its guard, its network, its tape, and how a failure becomes smaller."""

from __future__ import annotations

import _thread
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.testing.world.__main__ import main
from runtime.testing.world.engine import (
    Actor,
    ActorBegun,
    Effect,
    Event,
    WakeAt,
    World,
    WorldStuck,
)
from runtime.testing.world.guard import TouchedReality
from runtime.testing.world.load import (
    ClusterShape,
    Fault,
    FaultKind,
    ProgramMessage,
    Scenario,
    draw,
)
from runtime.testing.world.network import Network
from runtime.testing.world.shrinking import shrink, smaller_messages
from runtime.testing.world.simulation import Played, play
from runtime.testing.world.sockets import WorldProcess
from runtime.wire.dialling.line import READ


class Doing(Actor):
    """An actor that does something once."""

    def __init__(self, do: Callable[[], object]) -> None:
        super().__init__("it")
        self._do = do

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        self._do()
        return ()


@pytest.mark.parametrize(
    "touch",
    [
        lambda: time.monotonic(),  # noqa: PLW0108 - looked up when it is called
        lambda: time.time(),  # noqa: PLW0108
        lambda: random.random(),  # noqa: PLW0108
        lambda: time.sleep(0),
        lambda: os.urandom(1),
        lambda: socket.socket().close(),
        lambda: _thread.start_new_thread(int, ()),
        lambda: subprocess.run(["true"], check=True),
        lambda: Path(__file__).with_suffix(".txt").open("w"),
    ],
)
def test_an_actor_that_touches_reality_fails_at_once_with_its_line(
    touch: Callable[[], object],
) -> None:
    world = World(1)
    world.add(Doing(touch))
    with pytest.raises(TouchedReality, match=r"test_world\.py:\d+|threading\.py:\d+|\.py:\d+"):
        world.run(lambda: False, 1.0)
    assert time.monotonic() > 0  # reality is there again


class Restless(Actor):
    """An actor that asks for itself again and again."""

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        return [WakeAt(now)]

    def waits_for(self) -> str:
        return "for nobody"


def test_a_world_that_never_ends_says_who_waits() -> None:
    world = World(1, most_events=100)
    world.add(Restless("0:0:0"))
    with pytest.raises(WorldStuck, match="0:0:0 waits: for nobody"):
        world.run(lambda: False, 1.0)


def test_only_the_last_wish_for_a_time_counts() -> None:
    seen: list[float] = []

    class Waiting(Actor):
        def handle(self, event: Event, now: float) -> Sequence[Effect]:
            seen.append(now)
            return [WakeAt(5.0), WakeAt(2.0)] if isinstance(event, ActorBegun) else []

    world = World(1)
    world.add(Waiting("it"))
    world.run(lambda: False, 10.0)
    assert seen == [0.0, 2.0]


def two_ends() -> tuple[World, Network, WorldProcess, WorldProcess]:
    world = World(1)
    network = Network(world, room=1000, silence=8.0)
    here = WorldProcess("a", "h0", network, random.Random(1))
    there = WorldProcess("b", "h1", network, random.Random(2))
    return world, network, here, there


def carry_out(world: World, *processes: WorldProcess) -> None:
    for process in processes:
        for effect in process.effects():
            world._own[type(effect)](Doing(int), effect)
    world.run(lambda: False, world.now + 1.0)


def test_a_connection_carries_bytes_and_its_end() -> None:
    world, network, here, there = two_ends()
    network.places["h1:1"] = "h1"
    listener = there.listen("h1:1")
    dialling, where = here.socket_for("h1:1")
    dialling.connect_ex(where)
    carry_out(world, here, there)
    accepted, _ = listener.accept()
    assert dialling.send(b"x" * 3000) <= 1000  # a system keeps so much
    dialling.close()
    carry_out(world, here, there)
    received = b""
    while piece := accepted.recv(4096):
        received += piece
        carry_out(world, here, there)
    assert set(received) == {ord("x")}


def test_nobody_listens_where_nobody_is() -> None:
    world, network, here, there = two_ends()
    network.places["h1:1"] = "h1"
    dialling, where = here.socket_for("h1:1")
    dialling.connect_ex(where)
    carry_out(world, here, there)
    assert dialling.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def test_what_was_not_read_is_lost_when_a_process_ends() -> None:
    world, network, here, there = two_ends()
    network.places["h1:1"] = "h1"
    listener = there.listen("h1:1")
    dialling, where = here.socket_for("h1:1")
    dialling.connect_ex(where)
    carry_out(world, here, there)
    accepted, _ = listener.accept()
    dialling.send(b"never read")
    accepted.send(b"unread")
    carry_out(world, here, there)
    network.end_process("b")
    carry_out(world, here, there)
    assert dialling.recv(100) == b"unread"
    with pytest.raises(OSError, match="reset"):
        dialling.recv(100)


def test_a_silent_connection_is_given_up_by_the_system() -> None:
    world, network, here, there = two_ends()
    network.places["h1:1"] = "h1"
    listener = there.listen("h1:1")
    dialling, where = here.socket_for("h1:1")
    dialling.connect_ex(where)
    carry_out(world, here, there)
    listener.accept()
    network.cut("h0", "h1", world.now + 100)
    world.run(lambda: False, world.now + 12)
    with pytest.raises(OSError, match="timed out"):
        dialling.recv(100)


def test_a_watched_descriptor_is_handled_when_something_came() -> None:
    world, network, here, there = two_ends()
    network.places["h1:1"] = "h1"
    listener = there.listen("h1:1")
    dialling, where = here.socket_for("h1:1")
    dialling.connect_ex(where)
    seen: list[int] = []

    def handle(events: int) -> bool:
        seen.append(events)
        return True

    there.watch(listener.fileno(), READ, handle)
    assert not there.progress()
    carry_out(world, here, there)
    assert there.progress()
    assert seen == [READ]


TWO = Scenario(
    7,
    (ClusterShape(1, 0), ClusterShape(1, 1)),
    (ProgramMessage(0, 1, 5000), ProgramMessage(1, 0, 3)),
    (),
    latency=0.001, rate=1e9, room=64 << 10,
)  # fmt: skip


def test_a_program_without_faults_gives_its_results() -> None:
    assert play(TWO).failures == ()


def test_a_killed_rank_is_named_by_those_that_needed_it() -> None:
    killed = replace(TWO, faults=(Fault(FaultKind.KILL, 0.0, 1),))
    assert play(killed).failures == ()


def test_what_differs_from_the_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from runtime.testing.world import auditors

    monkeypatch.setattr(auditors, "payload_of", lambda number, size: bytes(size))
    assert "something else as message" in " ".join(play(TWO).failures)


def test_a_failure_is_made_smaller() -> None:
    def fails(one: Scenario) -> bool:
        return any(isinstance(step, ProgramMessage) and step.size > 10 for step in one.program)

    seed = next(seed for seed in range(100) if fails(draw(seed)))
    smallest = shrink(draw(seed), fails, smaller_messages)
    assert len(smallest.program) == 1
    assert smallest.faults == ()
    assert len(smallest.clusters) >= 2


def test_a_seed_of_another_commit_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--commit", "0123456"]) == 2
    assert "seeds of 0123456 are other worlds here" in capsys.readouterr().out


def test_a_run_prints_its_tape_as_a_diagram(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "1", "--kind", "messages", "--tape", "--twice"]) == 0
    printed = capsys.readouterr().out
    assert "tells StepUp" in printed
    assert "right, trace" in printed


def test_played_worlds_tell_their_scenario() -> None:
    played = play(TWO)
    assert isinstance(played, Played)
    assert str(played.scenario).startswith("clusters 1@0 + 1@1, 2 steps")
