"""One direction between real sockets, moved step by step: through pipes and without."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from runtime.forwarding.flow import MUCH, Flow
from runtime.forwarding.pipes import Pipes


class Ends:
    """Who sends, who receives, and the flow between them; nothing waits."""

    def __init__(self, stack: ExitStack, pipes: Pipes | None) -> None:
        def pair() -> tuple[socket.socket, socket.socket]:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                one = stack.enter_context(socket.create_connection(listener.getsockname()))
                other, _ = listener.accept()
            stack.enter_context(other).setblocking(False)
            one.setblocking(False)
            return one, other

        self.sender, source = pair()
        self.receiver, sink = pair()
        self.flow = Flow(source, sink, pipes)

    def carry(self, data: bytes) -> bytes:
        """Send data and return what was received."""
        rest, got = memoryview(data), bytearray()
        while len(got) < len(data):
            if rest:
                with suppress(BlockingIOError):
                    rest = rest[self.sender.send(rest) :]
            self.flow.move()
            with suppress(BlockingIOError):
                got += self.receiver.recv(1 << 20)
        return bytes(got)

    def fill(self) -> None:
        """Send until nobody takes any more."""
        data = bytes(1 << 20)
        while not self.flow.wants_write:
            with suppress(BlockingIOError):
                self.sender.send(data)
            self.flow.move()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_moves_through_pipes_is_what_was_sent(stack: ExitStack) -> None:
    pipes = Pipes()
    ends = Ends(stack, pipes)
    before = descriptors()
    small = os.urandom(MUCH)
    assert ends.carry(small) == small
    assert descriptors() == before  # those with little to say need none
    large = os.urandom(9 << 20)
    assert ends.carry(large) == large
    assert descriptors() == before + 2
    assert ends.flow.moved == MUCH + (9 << 20)
    pipes.close()
    assert descriptors() == before


def test_flows_that_hold_nothing_share_one_pipe(stack: ExitStack) -> None:
    pipes = Pipes()
    flows = [Ends(stack, pipes) for _ in range(3)]
    before = descriptors()
    for _ in range(2):
        for ends in flows:
            data = os.urandom(2 << 20)
            assert ends.carry(data) == data
    assert descriptors() == before + 2
    pipes.close()


def test_where_all_pipes_are_lent_bytes_are_copied(stack: ExitStack) -> None:
    pipes = Pipes(most=1)
    stuck, ends = Ends(stack, pipes), Ends(stack, pipes)
    before = descriptors()
    stuck.fill()
    assert pipes.borrow() is None
    data = os.urandom(5 << 20)
    assert ends.carry(data) == data
    stuck.flow.let_go()
    assert descriptors() == before  # nobody else may get what was left in it
    assert ends.carry(data) == data
    assert descriptors() == before + 2
    pipes.close()


@pytest.mark.parametrize("why", [errno.EINVAL, errno.ENOSYS, errno.EPERM])
def test_where_the_system_has_no_splice_bytes_are_copied(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(os, "splice", refuse)
    pipes = Pipes()
    ends = Ends(stack, pipes)
    data = os.urandom(5 << 20)
    assert ends.carry(data) == data
    pipes.close()


def test_a_sink_that_breaks_ends_the_flow_and_frees_its_pipe(stack: ExitStack) -> None:
    pipes = Pipes()
    ends = Ends(stack, pipes)
    before = descriptors()
    ends.fill()
    assert (ends.flow.wants_read != 0, descriptors()) == (False, before + 2)
    ends.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    ends.receiver.close()
    while not ends.flow.has_ended:
        ends.flow.move()
    assert (ends.flow.wants_read, ends.flow.wants_write) == (0, 0)
    assert descriptors() == before - 1
    pipes.close()


def test_the_end_of_a_stream_comes_after_what_is_in_the_pipe(stack: ExitStack) -> None:
    pipes = Pipes()
    ends = Ends(stack, pipes)
    ends.fill()
    ends.sender.shutdown(socket.SHUT_WR)
    got = 0
    while not ends.flow.has_ended:
        ends.flow.move()
        with suppress(BlockingIOError):
            got += len(ends.receiver.recv(1 << 20))
    ends.receiver.setblocking(True)
    while more := len(ends.receiver.recv(1 << 20)):
        got += more
    assert got == ends.flow.moved
    pipes.close()


def test_pipes_that_come_back_after_the_end_are_closed(stack: ExitStack) -> None:
    pipes = Pipes()
    ends = Ends(stack, pipes)
    before = descriptors()
    ends.fill()
    pipes.close()
    assert descriptors() == before + 2
    ends.flow.let_go()
    assert descriptors() == before
    assert pipes.borrow() is None
