"""A master that dies at each point of sending one message: three replicas send to two."""

from collections import deque
from collections.abc import Sequence

import pytest

from runtime.replicas import (
    Drop,
    Effect,
    Keep,
    Replication,
    ReplicationLimits,
    Tell,
    Transmit,
)

SENDERS, RECEIVERS = (0, 1, 2), (3, 4)
STREAM = ("world", 0, 1, 7)


class Wires:
    """All cores, what each has sent and is not delivered, and what the receivers got."""

    def __init__(self) -> None:
        ranks = (SENDERS, RECEIVERS)
        self.cores = {one: Replication(one, ranks, ReplicationLimits(batch=1)) for one in range(5)}
        self.lines: deque[tuple[int, int, Tell | Transmit]] = deque()
        self.got: dict[int, list[object]] = {one: [] for one in RECEIVERS}
        self.free: set[int] = set()

    def send(self, process: int) -> None:
        """Let the program of a process send its message."""
        self.carry_out(process, self.cores[process].send(STREAM, "rain", 4)[1])

    def carry_out(self, process: int, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Keep | Drop):
                self.free.add(process)
            elif isinstance(effect, Tell):
                self.lines.append((process, effect.to, effect))
            elif isinstance(effect, Transmit):
                self.lines.extend((process, to, effect) for to in effect.to)

    def move(self) -> None:
        """Deliver the packet that was sent first."""
        source, to, effect = self.lines.popleft()
        if to not in self.cores:
            return
        core = self.cores[to]
        if isinstance(effect, Tell):
            effects = core.hear(source, effect.word)
        else:
            if core.is_new(source, effect.stream, effect.number):
                self.got[to].append(effect.message)
            effects = core.arrived(source)
        self.carry_out(to, [*effects, *core.answer()])

    def crash(self, process: int) -> None:
        """Lose a process and what it has sent but is not delivered; all others are told."""
        del self.cores[process]
        self.lines = deque(one for one in self.lines if one[0] != process)
        for other, core in self.cores.items():
            self.carry_out(other, core.lost(process))

    def settle(self) -> None:
        while self.lines:
            self.move()


@pytest.mark.parametrize("behind", [(), (1,), (2,), (1, 2)], ids=str)
@pytest.mark.parametrize(
    ("moved", "what"),
    [
        (None, "1: before the message is sent"),
        (0, "2: sent, and nobody has it"),
        (1, "3: the first receiver has it"),
        (2, "4: both have it, and no acknowledgement has come"),
        (3, "5: one acknowledgement has come"),
        (4, "6: all have come, and nobody was told of the commit"),
        (5, "7: one replica was told of the commit"),
    ],
)
def test_wherever_the_master_dies_each_receiver_gets_the_message_once(
    moved: int | None, what: str, behind: tuple[int, ...]
) -> None:
    wires = Wires()
    for process in (1, 2):
        if process not in behind:
            wires.send(process)
    if moved is not None:
        wires.send(0)
        for _ in range(moved):
            wires.move()
    wires.crash(0)
    wires.settle()
    for process in behind:
        wires.send(process)
    wires.settle()
    assert wires.got == {3: ["rain"], 4: ["rain"]}
    assert wires.free >= {1, 2} - set(behind)
    assert not any(core.kept_bytes for core in wires.cores.values())
    assert wires.cores[1].leads


@pytest.mark.parametrize("moved", range(7))
def test_two_masters_die_one_after_the_other_and_the_message_comes_once(moved: int) -> None:
    wires = Wires()
    for process in SENDERS:
        wires.send(process)
    wires.move()
    wires.crash(0)
    for _ in range(min(moved, len(wires.lines))):
        wires.move()
    wires.crash(1)
    wires.settle()
    assert wires.got == {3: ["rain"], 4: ["rain"]}
    assert wires.cores[2].leads


def test_a_master_that_is_alone_tracks_nothing() -> None:
    wires = Wires()
    for process in (1, 2):
        wires.crash(process)
    wires.send(0)
    wires.settle()
    assert wires.got == {3: ["rain"], 4: ["rain"]}
    assert not wires.cores[0]._sends._ways
