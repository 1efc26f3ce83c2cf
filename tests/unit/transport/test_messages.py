"""What is not as any member would write it: an error that says so, and never another one."""

from __future__ import annotations

import pickle

import pytest

from runtime.transport.errors import FrameError, NotSendable, RemoteError
from runtime.transport.frames import Frame
from runtime.transport.messages import FAILURE, RESULT, arguments_of, outcome_of, target_of


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
