"""The side of a window that accesses: what leaves when, is waited for, and is given up."""

from __future__ import annotations

import pytest

from runtime.services.port import SEVERAL
from runtime.windows.epochs import WrongEpoch
from runtime.windows.origin import MOST_OWED, Access, RequestState, WindowOrigin
from runtime.windows.requests import AT_ONCE, AnswerCode, RequestHeader, RequestKind
from runtime.windows.runs import block

GET, PUT = RequestHeader(RequestKind.GET), RequestHeader(RequestKind.PUT)


class Message:
    """A message whose body the wire still needs."""

    def __init__(self) -> None:
        self.is_sent = False
        self.error: BaseException | None = None

    def test(self) -> bool:
        return self.is_sent or self.error is not None


class Wire:
    """Takes what leaves an origin, and keeps the requests that are to be answered."""

    def __init__(self, origin: WindowOrigin) -> None:
        self.origin = origin
        self.kinds: list[int] = []
        self.to_answer: list[RequestHeader] = []
        self.message: Message | None = None

    def take(self) -> list[int]:
        """Let all leave; return the kinds of requests, SEVERAL as its number."""
        found = []
        while self.origin.departures:
            one = self.origin.departures.popleft()
            found.append(one.header[0])
            if one.request is not None:
                one.request.left(self.message)
            if one.header != SEVERAL and (header := RequestHeader.of(one.header)).token:
                self.to_answer.append(header)
        self.kinds += found
        return found

    def answer(self, data: bytes | None = None, code: AnswerCode = AnswerCode.DONE) -> None:
        """Answer the oldest request."""
        header = self.to_answer.pop(0)
        body = bytes(header.length) if data is None else data
        self.origin.answered(header.token, code, memoryview(body) if body else None)


def locked() -> tuple[WindowOrigin, Wire]:
    """An origin of rank 0 of three, which has locked rank 1."""
    origin = WindowOrigin(0, 3)
    origin.lock(1, exclusive=True)
    return origin, Wire(origin)


def take(origin: WindowOrigin, into: bytearray) -> Access:
    origin.begin(1, "Get")
    return origin.take(1, GET, 0, [block(0, len(into))], memoryview(into))


def put(origin: WindowOrigin, data: bytes) -> Access:
    origin.begin(1, "Put")
    return origin.give(1, PUT, 0, [block(0, len(data))], memoryview(data))


def test_a_lock_a_small_put_and_the_unlock_leave_as_one_message() -> None:
    origin, wire = locked()
    assert put(origin, b"abc").test()
    assert wire.take() == []
    (asked,) = origin.unlock(1)
    assert wire.take() == [SEVERAL[0]]
    origin.answered(asked.header.token, AnswerCode.DONE, None)
    assert asked.test()


def test_a_large_put_is_over_once_the_wire_needs_its_memory_no_more() -> None:
    origin, wire = locked()
    wire.message = Message()
    access = put(origin, bytes(1000))
    assert wire.take() == [RequestKind.LOCK, RequestKind.PUT]
    assert not access.test()
    assert origin.under_way([1]) == [access]
    wire.message.is_sent = True
    assert access.test()
    origin.forget([access])
    assert origin.under_way([1]) == []


def test_a_rank_never_owes_more_than_the_bound_and_what_follows_waits_in_order() -> None:
    origin, wire = locked()
    into = bytearray(3 * MOST_OWED)
    access = take(origin, into)
    put(origin, b"behind")
    (asked,) = origin.unlock(1)
    pieces = MOST_OWED // AT_ONCE
    assert wire.take() == [SEVERAL[0], *[RequestKind.GET] * (pieces - 1)]
    # the first piece left with the lock, so its answer is given by its token
    for token in range(1, 3 * pieces + 1):
        owed = sum(one.length for one in wire.to_answer) + (AT_ONCE if token == 1 else 0)
        assert owed <= MOST_OWED
        assert not access.test()
        wire.to_answer = [one for one in wire.to_answer if one.token != token]
        origin.answered(token, AnswerCode.DONE, memoryview(bytes([token % 256]) * AT_ONCE))
        wire.take()
    assert access.test()
    assert wire.kinds[-1] == SEVERAL[0]  # the put and the unlock, behind the last piece
    assert [into[at * AT_ONCE] for at in range(3 * pieces)] == [
        one % 256 for one in range(1, 3 * pieces + 1)
    ]
    assert not asked.test()


def test_a_loss_ends_all_that_is_under_way_and_late_answers_stay_out_of_the_buffer() -> None:
    origin, wire = locked()
    into = bytearray(MOST_OWED + AT_ONCE)
    access = take(origin, into)
    (asked,) = origin.unlock(1)
    wire.take()
    token = wire.to_answer[0].token
    lost = OSError("lost")
    origin.lost(1, lost)
    assert access.test()
    assert asked.test()
    assert access.error is asked.error is lost
    assert origin.room(token, AT_ONCE) is None
    origin.answered(token, AnswerCode.DONE, memoryview(b"x" * AT_ONCE))
    assert into == bytes(len(into))


def test_a_refusal_is_the_error_of_its_access_alone() -> None:
    origin, wire = locked()
    first, second = take(origin, bytearray(1 << 17)), take(origin, bytearray(1 << 17))
    wire.take()
    origin.answered(1, AnswerCode.OUTSIDE, memoryview(b"not there"))
    wire.answer()
    assert first.test()
    assert second.test()
    assert str(first.error) == "not there"
    assert second.error is None


def test_what_another_thread_has_begun_meanwhile_is_not_forgotten() -> None:
    origin, wire = locked()
    waited_for = take(origin, bytearray(1 << 17))
    accesses = origin.under_way([1])
    begun = take(origin, bytearray(1 << 17))
    wire.take()
    origin.answered(1, AnswerCode.DONE, None)
    origin.answered(2, AnswerCode.OUTSIDE, memoryview(b"not there"))
    origin.forget(accesses)
    assert waited_for.test()
    assert origin.under_way([1]) == [begun]
    assert begun.test()
    assert str(begun.error) == "not there"


def test_a_flush_covers_what_was_asked_for_before_it_and_threads_share_it() -> None:
    origin, wire = locked()
    assert origin.flush(1) is None
    put(origin, b"abc")
    asked = origin.flush(1)
    assert asked is not None
    assert origin.flush(1) is asked
    origin.answered(asked.header.token, AnswerCode.FAILED, memoryview(b"no"))
    again = origin.flush(1)
    assert again is not None  # the last one has failed: nobody knows what is done
    assert again is not asked
    origin.answered(again.header.token, AnswerCode.DONE, None)
    assert origin.flush(1) is None
    assert wire.take() == [SEVERAL[0], RequestKind.FLUSH]


def test_an_epoch_of_all_locks_asks_for_those_that_are_used() -> None:
    origin = WindowOrigin(0, 3)
    wire = Wire(origin)
    origin.lock_all()
    assert wire.take() == [RequestKind.LOCK]  # its own
    origin.begin(2, "Put")
    origin.give(2, PUT, 0, [block(0, 3)], memoryview(b"abc"))
    assert [one.rank for one in origin.unlock_all()] == [0, 2]
    assert wire.take() == [RequestKind.UNLOCK, SEVERAL[0]]
    with pytest.raises(WrongEpoch, match="Put to rank 1: there is no epoch"):
        origin.begin(1, "Put")


def test_who_has_waited_for_long_asks_for_the_holders_of_the_lock() -> None:
    origin, wire = locked()
    origin.ask_for_holders(1)
    assert wire.take() == []  # nothing was asked for that could wait
    origin.unlock(1)
    wire.take()
    origin.ask_for_holders(1)
    assert wire.take() == [RequestKind.HOLDERS]


def test_many_accesses_that_are_over_are_forgotten() -> None:
    origin, wire = locked()
    wire.message = Message()
    for _ in range(500):
        put(origin, bytes(1000))
    assert len(origin.under_way([1])) == 500
    wire.take()
    wire.message.is_sent = True
    for _ in range(600):
        put(origin, bytes(1000))
        wire.take()
    assert len(origin.under_way([1])) < 200


def test_states_that_are_final_stay() -> None:
    origin, wire = locked()
    wire.take()
    (asked,) = origin.unlock(1)
    wire.take()
    origin.answered(asked.header.token, AnswerCode.DONE, None)
    asked.fail(OSError("late"))
    assert asked.state is RequestState.DONE
    assert asked.error is None
