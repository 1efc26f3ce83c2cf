"""One connection of a tunnel: bytes in order, whole, and never more than a window of them held."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.tunnels.carried import Carried
from runtime.tunnels.frames import PIECE, WINDOW

STEPS = st.lists(st.tuples(st.sampled_from(["write", "take"]), st.integers(1, 2 * PIECE)))


@given(STEPS)
def test_what_is_read_here_comes_out_there_however_slowly_it_is_taken(
    steps: list[tuple[str, int]],
) -> None:
    here, there = Carried(), Carried()
    written, taken, number = bytearray(), bytearray(), 0
    for what, size in steps:
        if what == "write":
            number += 1
            data = bytes([number % 256]) * min(size, here.may_read)
            written += data
            if data:
                assert here.outwards(data)
                assert there.inwards(data)
        elif there.holds:
            piece = there.next_piece()[:size]
            taken += piece
            here.room += there.taken(len(piece))
        assert 0 <= here.room <= WINDOW
    while there.holds:
        piece = there.next_piece()
        taken += piece
        here.room += there.taken(len(piece))
    assert taken == written
    assert here.room > WINDOW // 2, "a window would be used up"


def test_nothing_more_is_read_once_the_other_end_has_no_room() -> None:
    one = Carried()
    for _ in range(WINDOW // PIECE):
        assert one.may_read == PIECE
        one.outwards(bytes(PIECE))
    assert one.may_read == 0
    one.room += 5
    assert one.may_read == 5


def test_who_sends_more_than_a_window_is_found_out() -> None:
    one = Carried()
    for _ in range(WINDOW // PIECE):
        assert one.inwards(bytes(PIECE))
    assert not one.inwards(b"x")


def test_a_connection_is_over_once_both_ends_have_shut_and_all_is_taken() -> None:
    one = Carried()
    assert one.inwards(b"last words")
    one.is_shut = True
    assert not one.outwards(b"")
    assert one.may_read == 0
    assert not one.is_over
    one.taken(len(b"last words"))
    assert one.is_over


def test_bytes_behind_the_end_are_refused() -> None:
    one = Carried()
    one.is_shut = True
    assert not one.inwards(b"more")
