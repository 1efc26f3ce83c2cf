"""The engine: messages between clusters, and with itself, in one process."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest
from mpi4py import MPI

from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress.operations import NativeOperation, Operation
from runtime.wire import PeerLeft, PeerLost

if TYPE_CHECKING:
    from tests.unit.mpi.conftest import Pair


def test_a_message_lands_in_the_memory_given_for_it(pair: Pair) -> None:
    memory = bytearray(8)
    received = pair.engines[1].receive(pair.members[1], 0, 7, memoryview(memory))
    sent = pair.engines[0].send(pair.members[0], 1, 7, b"hello")
    assert sent.test()
    assert not received.test()
    pair.move()
    assert received.test()
    assert (received.source, received.tag, received.nbytes) == (0, 7, 5)
    assert memory == b"hello\0\0\0"
    assert received.data is None


def test_without_memory_the_data_is_in_the_operation(pair: Pair) -> None:
    pair.engines[0].send(pair.members[0], 1, 7, [b"hel", memoryview(b"lo")])
    pair.move()
    received = pair.engines[1].receive(pair.members[1], 0, 7, None)
    assert received.done
    assert received.data == b"hello"


def test_a_message_that_is_too_long_is_an_error_of_mpi(pair: Pair) -> None:
    memory = bytearray(3)
    received = pair.engines[1].receive(pair.members[1], 0, 7, memoryview(memory))
    pair.engines[0].send(pair.members[0], 1, 7, b"hello")
    with pytest.raises(MPI.Exception) as caught:
        pair.engines[1].waits.wait_for(received)
    assert caught.value.error_class == MPI.ERR_TRUNCATE
    assert received.nbytes == 5


def test_messages_of_collectives_never_meet_those_of_programs(pair: Pair) -> None:
    program = pair.engines[1].receive(pair.members[1], 0, 7, None)
    inner = pair.engines[1].receive(pair.members[1], 0, 7, None, inner=True)
    pair.engines[0].send(pair.members[0], 1, 7, b"c", inner=True)
    pair.move()
    assert inner.data == b"c"
    assert not program.done


def test_a_synchronous_send_is_done_when_matched(pair: Pair) -> None:
    sent = pair.engines[0].send(pair.members[0], 1, 7, b"x", sync=True)
    pair.move()
    assert not sent.test()
    pair.engines[1].receive(pair.members[1], 0, 7, None)
    assert sent.test()


def test_a_payload_may_come_after_its_head(pair: Pair) -> None:
    pair.connections[1].is_slow = True
    memory = bytearray(5)
    received = pair.engines[1].receive(pair.members[1], 0, 7, memoryview(memory))
    pair.engines[0].send(pair.members[0], 1, 7, b"hello")
    pair.move()
    assert not received.test()
    assert received.awaited() == (0,)
    pair.connections[1].finish_slow()
    assert received.test()
    assert memory == b"hello"


def test_a_message_may_come_before_its_communicator(pair: Pair) -> None:
    from runtime.mpi.progress.membership import derived_context, intra

    context = derived_context(pair.members[0].context, 1)
    natives = [MPI.COMM_SELF.Dup() for _ in range(4)]
    first = intra(pair.engines[0], (0, 1), natives[0], natives[1], context)
    pair.engines[0].send(first, 1, 7, b"early")
    pair.move()
    second = intra(pair.engines[1], (0, 1), natives[2], natives[3], context)
    assert pair.engines[1].receive(second, 0, 7, None).data == b"early"
    for native in natives:
        native.Free()


def test_a_wildcard_gets_a_message_of_its_own_cluster(pair: Pair) -> None:
    m = pair.members[1]
    received = pair.engines[1].receive(m, MPI.ANY_SOURCE, MPI.ANY_TAG, None)
    sent = pair.engines[1].send(m, 1, 9, b"mine")
    pair.engines[1].waits.wait_for(received, sent)
    assert (received.source, received.tag, received.data) == (1, 9, b"mine")
    assert not m.sought


def test_a_wildcard_gets_a_message_of_another_cluster(pair: Pair) -> None:
    received = pair.engines[1].receive(pair.members[1], MPI.ANY_SOURCE, MPI.ANY_TAG, None)
    pair.engines[0].send(pair.members[0], 1, 9, b"far")
    pair.engines[1].waits.wait_for(received)
    assert (received.source, received.tag, received.data) == (0, 9, b"far")
    assert not pair.members[1].sought


def test_a_cancelled_receive_gets_nothing(pair: Pair) -> None:
    cancelled = pair.engines[1].receive(pair.members[1], 0, 7, None)
    cancelled.cancel()
    assert (cancelled.done, cancelled.cancelled) == (True, True)
    pair.engines[0].send(pair.members[0], 1, 7, b"x")
    pair.move()
    assert cancelled.data is None
    assert pair.engines[1].receive(pair.members[1], 0, 7, None).data == b"x"


def test_who_waits_for_a_lost_process_is_told_which(pair: Pair) -> None:
    received = pair.engines[1].receive(pair.members[1], 0, 7, None)
    pair.connections[1].lose(0, PeerLost("connection reset"))
    with pytest.raises(ProcessGone, match="0:0:0 on node is gone") as caught:
        pair.engines[1].waits.wait_for(received)
    assert caught.value.cause == "connection reset"


def test_a_receive_from_a_lost_process_fails_at_once_unless_its_message_is_here(
    pair: Pair,
) -> None:
    pair.engines[0].send(pair.members[0], 1, 7, b"last")
    pair.connections[1].lose(0, PeerLost("reset"))
    pair.move()
    assert pair.engines[1].receive(pair.members[1], 0, 7, None).data == b"last"
    assert isinstance(pair.engines[1].receive(pair.members[1], 0, 7, None).error, ProcessGone)


def test_a_send_to_a_lost_process_fails(pair: Pair) -> None:
    pair.connections[0].lose(1, PeerLost("reset"))
    pair.move()
    with pytest.raises(ProcessGone, match="0:1:0 on node is gone"):
        pair.engines[0].waits.wait_for(pair.engines[0].send(pair.members[0], 1, 7, b"x"))


def test_a_wildcard_outlives_a_process_that_left_but_not_one_that_died(pair: Pair) -> None:
    engine, m = pair.engines[1], pair.members[1]
    received = engine.receive(m, MPI.ANY_SOURCE, 7, None)
    pair.connections[1].lose(0, PeerLeft("done"))
    pair.move()
    assert not received.done  # it may still come from this process itself
    received.cancel()
    pair.connections[1].lose(0, PeerLost("reset"))
    pair.move()
    assert isinstance(engine.receive(m, MPI.ANY_SOURCE, 7, None).error, ProcessGone)


def test_a_payload_that_stops_coming_is_an_error(pair: Pair) -> None:
    pair.connections[1].is_slow = True
    received = pair.engines[1].receive(pair.members[1], 0, 7, None)
    pair.engines[0].send(pair.members[0], 1, 7, b"hello")
    pair.move()
    pair.connections[1].lose(0, PeerLost("reset"))
    pair.move()
    assert isinstance(received.error, ProcessGone)


def test_collectives_of_a_communicator_run_one_after_the_other(pair: Pair) -> None:
    engine, m = pair.engines[1], pair.members[1]
    told: list[str] = []

    def steps(name: str) -> Generator[Operation | list[Operation], None, str]:
        told.append(f"{name} begins")
        received = engine.receive(m, 0, 1, None, inner=True)
        yield [received]
        told.append(f"{name} got {bytes(received.data or b'').decode()}")
        return name

    first, second = engine.start(m, steps("a")), engine.start(m, steps("b"))
    assert told == ["a begins"]
    for text in (b"1", b"2"):
        pair.engines[0].send(pair.members[0], 1, 1, text, inner=True)
    engine.waits.wait_for(second)
    assert told == ["a begins", "a got 1", "b begins", "b got 2"]
    assert (first.result, second.result) == ("a", "b")


def test_an_error_is_thrown_into_a_collective_and_the_next_one_begins(pair: Pair) -> None:
    engine, m = pair.engines[1], pair.members[1]

    def steps(fails: bool) -> Generator[Operation, None, str]:
        yield engine.receive(m, 0, 1, memoryview(bytearray(0)), inner=True)
        return "not reached" if fails else "good"

    first, second = engine.start(m, steps(True)), engine.start(m, steps(False))
    for text in (b"long", b""):
        pair.engines[0].send(pair.members[0], 1, 1, text, inner=True)
    engine.waits.wait_for(second)
    assert isinstance(first.error, MPI.Exception)
    assert second.result == "good"


def test_a_native_request_is_an_operation(pair: Pair) -> None:
    native = pair.members[0].inner
    memory = bytearray(2)
    received = NativeOperation(native.Irecv(memory, 0, 3))
    sent = NativeOperation(native.Isend(b"ok", 0, 3))
    pair.engines[0].waits.wait_for(received, sent)
    assert memory == b"ok"
    assert received.nbytes == 2


def test_a_wait_is_ended_by_another_thread_and_says_what_it_is_for(pair: Pair) -> None:
    engine = pair.engines[1]
    received = engine.receive(pair.members[1], 0, 7, None)
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            engine.waits.wait_for(received)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not engine.waits.describe():
        pass
    assert engine.waits.describe()[0].startswith("a message with tag 7 from rank 0 (0:0:0 on node)")
    pair.engines[0].send(pair.members[0], 1, 7, b"x")
    thread.join(timeout=20)
    assert failures == []
    assert received.data == b"x"
    assert engine.waits.describe() == []


def test_freeing_a_communicator_takes_what_nobody_asked_for(pair: Pair) -> None:
    sent = pair.engines[0].send(pair.members[0], 1, 7, b"x", sync=True)
    pair.move()
    pair.engines[1].leave(pair.members[1])
    assert sent.test()


def test_nobody_is_sent_to_nobody(pair: Pair) -> None:
    sent: Any = pair.engines[0].send(pair.members[0], MPI.PROC_NULL, 7, b"x")
    received = pair.engines[0].receive(pair.members[0], MPI.PROC_NULL, 7, None)
    assert sent.done
    assert (received.done, received.source, received.nbytes) == (True, MPI.PROC_NULL, 0)
