"""What front-ends say to each other, in pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.transport.errors import FrameError
from runtime.wire.dialling.forward_requests import (
    HEAD,
    LONGEST,
    MARK,
    Answer,
    AnswerReader,
    ForwardRequest,
    RequestReader,
)

stops = st.lists(st.from_regex(r"\d{1,3}(:\d{1,3}){1,2}", fullmatch=True), min_size=1, max_size=8)


@given(stops, st.binary(max_size=20), st.integers(1, 30))
def test_a_request_is_read_in_pieces_and_what_follows_is_kept(
    names: list[str], rest: bytes, size: int
) -> None:
    data = ForwardRequest(tuple(names)).written() + rest
    reader = RequestReader()
    place, request = 0, None
    while request is None:
        request = reader.feed(data[place : place + size])
        place += size
    assert request.stops == tuple(names)
    assert reader.rest + data[place:] == rest


@pytest.mark.parametrize("why", ["", "nobody answers", "x" * 9000])
def test_an_answer_says_that_the_way_is_open_or_why_not(why: str) -> None:
    reader = AnswerReader()
    answer = reader.feed(Answer(why).written() + b"more")
    assert answer is not None
    assert (answer.why, answer.is_open) == (why[:LONGEST], not why)
    assert reader.rest == b"more"


def test_a_refusal_without_a_reason_is_one() -> None:
    answer = AnswerReader().feed(HEAD.pack(b"NO", 0))
    assert answer is not None
    assert answer.why == "no reason was given"


@pytest.mark.parametrize(
    "data", [b"GET / HTTP", HEAD.pack(b"OK", 0), HEAD.pack(MARK, LONGEST + 1)],
    ids=["http", "an answer", "too long"],
)  # fmt: skip
def test_what_is_no_request_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(FrameError, match="nothing that front-ends say"):
        RequestReader().feed(data)


@pytest.mark.parametrize("count", [0, 9])
def test_a_way_has_from_one_to_eight_stops(count: int) -> None:
    with pytest.raises(FrameError, match=f"over {count} stops; 1 to 8"):
        RequestReader().feed(ForwardRequest(("0:0",) * count).written())
