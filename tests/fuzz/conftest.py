"""What fuzzed parsers are fed: bytes after accidents, and bytes in pieces."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

LARGE = (0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 34, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)

Break = Callable[[bytes, int], bytes]
Cut = Callable[[bytes, int], list[bytes]]


@pytest.fixture(scope="session")
def broken() -> Break:
    """Return valid bytes after one to four accidents; which ones, a seed says."""

    def with_accidents(valid: bytes, seed: int) -> bytes:
        chance = random.Random(seed)
        data = bytearray(valid)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data) + 1)
            to = min(len(data), at + chance.randint(1, 40))
            match chance.randrange(6):
                case 0:
                    data[at:to] = chance.randbytes(to - at)
                case 1:
                    del data[at:to]
                case 2:
                    data[at:at] = data[at:to]
                case 3:
                    large = chance.choice(LARGE)
                    size = max(1, (large.bit_length() + 7) // 8)
                    data[at : at + size] = large.to_bytes(size, chance.choice(("big", "little")))
                case 4:
                    del data[at:]
                case _:
                    data[at:at] = chance.randbytes(chance.randint(1, 40))
        return bytes(data)

    return with_accidents


@pytest.fixture(scope="session")
def cut() -> Cut:
    """Return data in pieces; which ones, a seed says."""

    def in_pieces(data: bytes, seed: int) -> list[bytes]:
        chance = random.Random(seed)
        places = sorted(chance.randint(0, len(data)) for _ in range(chance.randint(0, 6)))
        begins, ends = [0, *places], [*places, len(data)]
        return [data[begin:end] for begin, end in zip(begins, ends, strict=True)]

    return in_pieces
