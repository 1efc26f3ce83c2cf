"""The target of a window: what requests do to its memory, its lock, and what it answers."""

from __future__ import annotations

import pytest

from runtime.services import Resume, SendRequest
from runtime.windows.requests import AnswerCode, RequestHeader, RequestKind
from runtime.windows.runs import Run, block, packed
from runtime.windows.target import AttachedMemory, OneMemory, WindowTarget


def added(operation: int, basic: int, data: memoryview, before: memoryview) -> memoryview:
    assert (operation, basic) == (2, 0)
    return memoryview(bytes((a + b) % 256 for a, b in zip(data, before, strict=True)))


def target_of(memory: bytearray) -> WindowTarget:
    return WindowTarget(OneMemory(memoryview(memory)), added)


def ask(target: WindowTarget, kind: int, body: bytes = b"", **told: int) -> list[object]:
    return [*target.handle(1, RequestHeader(kind, **told), memoryview(body))]


def answer(token: int, data: bytes = b"", code: AnswerCode = AnswerCode.DONE) -> SendRequest:
    header = RequestHeader(RequestKind.ANSWER, code, token=token).packed()
    return SendRequest(1, header, (memoryview(data),) if data else ())


def test_a_put_in_one_place_has_room_in_the_memory_itself() -> None:
    memory = bytearray(8)
    target = target_of(memory)
    header = RequestHeader(RequestKind.PUT, start=2, length=3)
    room = target.room(header, 3)
    assert room is not None
    room[:] = b"abc"
    assert [*target.handle(1, header, None)] == []
    assert memory == b"\0\0abc\0\0\0"
    assert target.applied[0] == 1


def test_a_put_with_runs_scatters_its_data() -> None:
    memory = bytearray(8)
    body = packed([Run(0, 1, 2, 3)]) + b"abc"
    ask(target_of(memory), RequestKind.PUT, body, runs=1, start=1)
    assert memory == b"\0a\0b\0c\0\0"


def test_get_accumulate_answers_with_what_was_there() -> None:
    memory = bytearray(b"\1\2\3\4")
    told = {"operation": 2, "start": 1, "length": 2, "token": 7}
    found = ask(target_of(memory), RequestKind.GET_ACCUMULATE, b"\5\5", **told)
    assert found == [answer(7, b"\2\3")]
    assert memory == b"\1\7\x08\4"


@pytest.mark.parametrize(("expected", "after"), [(b"\1", b"\x09"), (b"\2", b"\1")])
def test_compare_and_swap_replaces_only_what_was_expected(expected: bytes, after: bytes) -> None:
    memory = bytearray(b"\1")
    found = ask(
        target_of(memory), RequestKind.COMPARE_AND_SWAP, expected + b"\x09", length=1, token=3
    )
    assert found == [answer(3, b"\1")]
    assert memory == after


def test_what_is_outside_is_told_at_the_next_flush_and_once() -> None:
    target = WindowTarget(AttachedMemory(), added)
    assert ask(target, RequestKind.PUT, b"abc", start=64, length=3) == []
    (told,) = ask(target, RequestKind.FLUSH, token=5)
    assert isinstance(told, SendRequest)
    assert RequestHeader.of(told.header).operation == AnswerCode.OUTSIDE
    assert b"0x40 to 0x43 are not attached" in bytes(told.body[0])
    assert ask(target, RequestKind.FLUSH, token=6) == [answer(6)]


def test_a_get_from_outside_is_answered_with_the_fault() -> None:
    (told,) = ask(target_of(bytearray(4)), RequestKind.GET, start=2, length=3, token=9)
    assert isinstance(told, SendRequest)
    assert RequestHeader.of(told.header).operation == AnswerCode.OUTSIDE


MALFORMED: dict[str, tuple[int, bytes, dict[str, int]]] = {
    "fewer bytes than places": (RequestKind.PUT, b"abc", {"length": 4}),
    "a negative length": (RequestKind.GET, b"", {"length": -4}),
    "negative times": (RequestKind.GET, packed([Run(0, 1, 1, -1)]), {"runs": 1}),
    "half a run": (RequestKind.GET, packed([block(0, 1)])[:-1], {"runs": 1}),
    "more than one request has": (
        *(RequestKind.GET, packed([Run(0, 1, 0, 1 << 40)]), {"runs": 1}),
    ),
    "one part of two": (RequestKind.COMPARE_AND_SWAP, b"a", {"length": 1}),
    "no such kind": (0, b"", {"length": 1}),
    "what MPI refuses": (RequestKind.ACCUMULATE, b"a", {"length": 1, "operation": 3}),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_request_that_cannot_be_served_is_answered_and_harms_no_other(name: str) -> None:
    kind, body, told = MALFORMED[name]
    memory = bytearray(b"1234")
    target = target_of(memory)
    (answered,) = ask(target, kind, body, **told, token=9)
    assert isinstance(answered, SendRequest)
    assert RequestHeader.of(answered.header).operation == AnswerCode.FAILED
    assert ask(target, kind, body, **told) == []
    (answered,) = ask(target, RequestKind.FLUSH, token=5)
    assert isinstance(answered, SendRequest)
    assert RequestHeader.of(answered.header).operation == AnswerCode.FAILED
    assert ask(target, RequestKind.GET, start=1, length=2, token=3) == [answer(3, b"23")]
    assert memory == b"1234"


def test_blocks_without_bytes_take_no_time_however_many() -> None:
    memory = bytearray(b"1234")
    nothing = packed([Run(0, 0, 0, 1 << 60), Run(0, 1, 1, 0)])
    assert ask(target_of(memory), RequestKind.PUT, nothing, runs=2) == []
    assert memory == b"1234"


def test_who_waits_for_the_lock_goes_on_when_it_is_given_back_or_its_holder_lost() -> None:
    target = target_of(bytearray(4))
    exclusive = RequestHeader(RequestKind.LOCK, 1)
    for source in (1, 2, 3):
        target.handle(source, exclusive, memoryview(b""))
    assert [target.admits(one) for one in (1, 2, 3)] == [True, False, False]
    assert ask(target, RequestKind.UNLOCK, operation=1, token=4) == [answer(4), Resume(2)]
    assert [*target.lost(2)] == [Resume(3)]


def test_a_lost_process_waits_for_the_lock_no_more() -> None:
    target = target_of(bytearray(4))
    for source in (1, 2, 3):
        target.handle(source, RequestHeader(RequestKind.LOCK, 1), memoryview(b""))
    assert [*target.lost(2)] == []
    assert ask(target, RequestKind.UNLOCK, operation=1, token=4)[1:] == [Resume(3)]
