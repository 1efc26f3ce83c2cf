"""What is not as any member would write it: an error that says so, and never another one."""

from __future__ import annotations

import pickle

import pytest

from runtime.transport.errors import FrameError, NotSendable, RemoteError
from runtime.transport.frames import Frame
from runtime.transport.messages import (
    CALL,
    FAILURE,
    RESULT,
    Target,
    arguments_of,
    call_frame,
    outcome_of,
    result_frame,
    target_of,
)


@pytest.mark.parametrize("count", [0, 1, 4, 6])
def test_a_failure_in_the_wrong_number_of_parts_is_named(count: int) -> None:
    with pytest.raises(FrameError, match=f"there: a failure came in {count} parts"):
        outcome_of(Frame(FAILURE, 1, [b""] * count), "there")


def test_a_failure_that_is_no_text_still_tells_what_it_can() -> None:
    with pytest.raises(RemoteError) as caught:
        outcome_of(Frame(FAILURE, 1, [b"", b"\xff", b"Odd\xff", b"\xfe", b"\xfd"]), "there")
    assert (caught.value.kind, caught.value.text) == ("Odd\ufffd", "\ufffd")
    assert str(caught.value).endswith("Remote traceback of there:\n    \ufffd")


def test_a_pickle_that_is_no_exception_is_not_raised() -> None:
    parts = [b"", pickle.dumps("no exception"), b"Odd", b"words", b"trace"]
    with pytest.raises(RemoteError, match="Odd: words"):
        outcome_of(Frame(FAILURE, 1, parts), "there")


@pytest.mark.parametrize("parts", [[], [b""], [b"", b""], [b"", b"\x80\x05"], [b"", b"no pickle"]])
def test_a_result_that_is_none_cannot_be_rebuilt(parts: list[bytes]) -> None:
    with pytest.raises(NotSendable, match="there: the result cannot be rebuilt"):
        outcome_of(Frame(RESULT, 1, parts), "there")


@pytest.mark.parametrize(
    "where", [[], [b""], [b"a\0b\0c"], [b"a\0b\0c\0d\0e\0f"], [b"\xff\0b\0c\0d"]]
)
def test_a_call_that_leads_nowhere_is_no_frame(where: list[bytes]) -> None:
    with pytest.raises(FrameError, match="does not say where it goes"):
        target_of(Frame(1, 1, where))


@pytest.mark.parametrize("pickled", [b"", b"no pickle", pickle.dumps(7), pickle.dumps((1, 2, 3))])
def test_arguments_that_are_none_cannot_be_rebuilt(pickled: bytes) -> None:
    with pytest.raises(NotSendable, match=r"an argument of a\.b\.c: cannot be rebuilt"):
        arguments_of(Frame(1, 1, [b"a\0b\0c\0d", pickled]))


def test_bytes_are_not_pickled() -> None:
    data = bytes(1 << 20)
    call = call_frame(CALL, 1, Target("/a", "b", "c"), ((data,), {}))
    result = result_frame(1, data)
    assert call.parts[2] is data
    assert result.parts[2] is data
    assert arguments_of(call) == ((data,), {})
    assert outcome_of(result, "there") == data


@pytest.mark.parametrize("value", [b"", bytearray(b"x"), (b"x",), [b"x"], None])
def test_a_value_comes_as_what_it_was(value: object) -> None:
    args, kwargs = arguments_of(call_frame(CALL, 1, Target("/a", "b", "c"), ((value,), {})))
    assert (args, [type(one) for one in args], kwargs) == ((value,), [type(value)], {})
    named = call_frame(CALL, 1, Target("/a", "b", "c"), ((), {"value": value}))
    assert arguments_of(named) == ((), {"value": value})
    outcome = outcome_of(result_frame(1, value), "there")
    assert (outcome, type(outcome)) == (value, type(value))


@pytest.mark.parametrize("chain", ["", "1.2.ab /a.b.c"])
def test_where_a_call_goes_comes_as_it_was_sent(chain: str) -> None:
    sent = Target("/a", "b", "c", "client", chain)
    came = target_of(call_frame(CALL, 1, sent, ((), {})))
    fields = [came.component, came.interface, came.operation, came.client, came.chain]
    assert fields == ["/a", "b", "c", "client", chain]


def test_where_calls_go_is_parsed_once_unless_it_is_long() -> None:
    frames = [call_frame(CALL, n, Target("/a", "b", "c"), ((n,), {})) for n in range(2)]
    assert target_of(frames[0]) is target_of(frames[1])
    long = [call_frame(CALL, n, Target("/a" * 300, "b", "c"), ((), {})) for n in range(2)]
    assert target_of(long[0]) is not target_of(long[1])
