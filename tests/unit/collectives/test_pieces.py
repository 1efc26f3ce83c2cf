"""What goes at a time over a line, as both of its ends cut it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.collectives.layout import ClusterPart
from runtime.collectives.turns import pieces

HERE, BESIDE, FAR = ClusterPart(0, 0, (0,)), ClusterPart(1, 0, (1,)), ClusterPart(2, 1, (2,))
SIZES = st.integers(0, 30)


@given(size=SIZES, piece=st.integers(1, 9))
def test_pieces_are_the_block_one_behind_the_other(size: int, piece: int) -> None:
    block = memoryview(bytes(range(size)))
    cut = pieces(block, HERE, FAR, piece)
    assert b"".join(cut) == block
    assert {len(one) for one in cut[:-1]} <= {piece}
    assert len(cut[-1]) < piece


@given(sent=SIZES, room=SIZES, piece=st.integers(1, 9))
def test_ends_that_differ_about_the_size_meet_a_piece_of_another_size(
    sent: int, room: int, piece: int
) -> None:
    ends = [pieces(memoryview(bytes(size)), FAR, HERE, piece) for size in (sent, room)]
    is_noticed = any(len(one) != len(other) for one, other in zip(*ends, strict=False))
    assert is_noticed is (sent != room)


def test_what_stays_in_a_site_is_not_cut() -> None:
    block = memoryview(bytes(10))
    assert pieces(block, HERE, BESIDE, 3) == [block]
