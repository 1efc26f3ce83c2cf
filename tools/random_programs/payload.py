"""What messages carry: bytes and objects that a few numbers determine, and how results are written.

Sender, receiver and model call the same functions with the same numbers, so none has to be told.
"""

from __future__ import annotations

import hashlib
from random import Random
from typing import Any

import numpy as np

from tools.random_programs.layouts import Bytes


def random_bytes(count: int, *numbers: int) -> Bytes:
    """Return that many bytes; the same numbers give the same bytes."""
    return np.frombuffer(np.random.default_rng(numbers).bytes(count), np.uint8)


def random_number(limit: int, *numbers: int) -> int:
    """Return a number from 0 to `limit`; the same numbers give the same one."""
    written = ",".join(map(str, numbers)).encode()
    return int.from_bytes(hashlib.blake2b(written, digest_size=6).digest(), "big") % (limit + 1)


def random_object(size: int, *numbers: int) -> Any:
    """Return an object of about that many bytes, made of what programs send."""
    dice = Random(",".join(map(str, numbers)))
    match dice.randrange(7):
        case 0:
            return None
        case 1:
            return dice.randint(-(10**20), 10**20)
        case 2:
            return random_bytes(size, *numbers).tobytes()
        case 3:
            return np.frombuffer(random_bytes(size // 8 * 8, *numbers).tobytes(), "<i8")
        case 4:
            return {"name": "ä" * (size // 2), (1, 2): [dice.random(), None, True]}
        case 5:
            return [list(range(size // 16)), ("a", 1.5), set()]
        case _:
            return "x" * size


def digest_of(data: Any) -> str:
    """Return a short text that differs when the data differ."""
    return hashlib.blake2b(_canonical(data), digest_size=6).hexdigest()


def _canonical(data: Any) -> bytes:
    if isinstance(data, np.ndarray):
        return f"{data.dtype.str}{data.shape}".encode() + data.tobytes()
    return repr(data).encode()


def received(source: int, tag: int, data: Any, count: int | None = None) -> str:
    """Write down a received message; `count` is its number of bytes, None for an object."""
    size = "an object" if count is None else f"{count} bytes"
    return f"{size} from {source} with tag {tag}: {digest_of(data)}"
