"""IDEA, the cipher of the kernel `crypt`, on many blocks of four 16-bit words at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Blocks = NDArray[np.int64]
Keys = list[int]

KNOWN_KEY = [1, 2, 3, 4, 5, 6, 7, 8]
KNOWN_PLAIN = [0, 1, 2, 3]
KNOWN_CIPHER = [0x11FB, 0xED2B, 0x0198, 0x6DE5]
"""The test vector of the cipher's authors."""

PRIME, WORD, ROUNDS = 0x10001, 0xFFFF, 8


def encryption_keys(key: Sequence[int]) -> Keys:
    """Return the 52 subkeys of a key of eight words: it is turned by 25 bits again and again."""
    number = int.from_bytes(b"".join(word.to_bytes(2, "big") for word in key), "big")
    words: Keys = []
    while len(words) < 6 * ROUNDS + 4:
        words += [number >> 112 - 16 * part & WORD for part in range(8)]
        number = (number << 25 | number >> 103) & (1 << 128) - 1
    return words[: 6 * ROUNDS + 4]


def decryption_keys(keys: Keys) -> Keys:
    """Return the subkeys that undo what others do: inverses, in the opposite order."""
    found: Keys = []
    for part in range(ROUNDS, -1, -1):
        one, two, three, four = keys[6 * part : 6 * part + 4]
        middle = (two, three) if part in (0, ROUNDS) else (three, two)
        found += [_inverse(one), *(-word & WORD for word in middle), _inverse(four)]
        if part:
            found += keys[6 * part - 2 : 6 * part]
    return found


def crypt(blocks: Blocks, keys: Keys) -> Blocks:
    """Return blocks encrypted, or decrypted, whatever the subkeys do."""
    a, b, c, d = blocks.T.copy()
    for part in range(ROUNDS):
        k = keys[6 * part : 6 * part + 6]
        a, b, c, d = _times(a, k[0]), b + k[1] & WORD, c + k[2] & WORD, _times(d, k[3])
        inner = _times(a ^ c, k[4])
        outer = _times(inner + (b ^ d) & WORD, k[5])
        inner = inner + outer & WORD
        a, b, c, d = a ^ outer, c ^ outer, b ^ inner, d ^ inner
    k = keys[6 * ROUNDS :]
    return np.stack((_times(a, k[0]), c + k[1] & WORD, b + k[2] & WORD, _times(d, k[3])), axis=1)


def _times(words: Blocks, key: int) -> Blocks:
    """Multiply modulo 65537, where 0 stands for 65536."""
    factors = np.where(words == 0, PRIME - 1, words)
    product: Blocks = factors * (key or PRIME - 1) % PRIME & WORD
    return product


def _inverse(word: int) -> int:
    return pow(word or PRIME - 1, -1, PRIME) & WORD
