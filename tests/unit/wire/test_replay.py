"""What is kept to be written once more is what was written, however it was kept and let go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.wire.stream.replay import Replay

SIZES = st.one_of(st.integers(1, 300), st.sampled_from([9000, 20_000, 100_000, 262_144]))
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "keep", "copy", "let go", "since"]), SIZES), max_size=60
)


@given(STEPS)
def test_it_returns_the_stream_from_any_place_on(steps: list[tuple[str, int]]) -> None:
    replay, stream, told = Replay(), bytearray(), 0
    for number, (what, size) in enumerate(steps):
        data = bytes([number + 1]) * size
        if what == "let go":
            told = min(len(stream), told + size)
            replay.let_go(told)
            assert replay.start <= told
            assert told == replay.start or told < len(stream)
        elif what == "since":
            place = told + min(size, len(stream) - told)
            lent = replay.since(place)
            assert b"".join(lent) == stream[place:]
        else:
            if what == "add":
                replay.add([data, memoryview(data)])
                data *= 2
            elif what == "keep":
                replay.keep(data)
            else:
                mine = bytearray(data)
                replay.copy([b"head", memoryview(mine)], len(stream), 4 + size)
                mine[:] = bytes(size)  # whoever sent it uses the memory again
                data = b"head" + data
            stream += data
    assert b"".join(replay.since(told)) == stream[told:]


def test_small_pieces_are_joined_and_large_ones_let_go_one_by_one() -> None:
    replay = Replay()
    for _ in range(2000):
        replay.keep(bytes(20))
    pieces = replay.since(0)
    assert len(pieces) == 3
    replay.let_go(len(pieces[0]) + 5)
    assert replay.start == len(pieces[0])


def test_memory_is_used_again_only_for_what_was_let_go() -> None:
    replay = Replay()
    size = 200_000

    def copy(number: int) -> None:
        replay.copy([bytes([number]) * size], number * size, size)

    for number in range(4):
        copy(number)
    replay.let_go(size + 1)
    for number in range(4, 8):
        copy(number)
    assert replay.start == size
    found = [bytes(piece) for piece in replay.since(size)]
    assert found == [bytes([number]) * size for number in range(1, 8)]


def test_what_was_lent_does_not_change() -> None:
    replay = Replay()
    replay.keep(b"before")
    lent = replay.since(0)
    replay.keep(b"behind")
    assert b"".join(lent) == b"before"
    assert b"".join(replay.since(0)) == b"beforebehind"
