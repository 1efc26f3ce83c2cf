"""HMAC-SHA256 without OpenSSL: to load that takes a rank longer than all it proves with it."""

from __future__ import annotations

from _operator import _compare_digest as is_same

TYPE_CHECKING = False  # known to type checkers; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_same", "keyed_hash"]

_BLOCK = 64
_INNER = bytes(number ^ 0x36 for number in range(256))
_OUTER = bytes(number ^ 0x5C for number in range(256))


def _find_sha256() -> Any:
    """Return the interpreter's own SHA-256, whose module changed its name with Python 3.12."""
    for name in ("_sha2", "_sha256"):
        try:
            return __import__(name).sha256
        except ImportError:
            continue  # also where Python was built without its own hashes
    from hashlib import sha256

    return sha256


_sha256 = _find_sha256()


def keyed_hash(key: bytes, message: bytes) -> bytes:
    """Return what `hmac.digest(key, message, "sha256")` returns."""
    block = (key if len(key) <= _BLOCK else _digest(key)).ljust(_BLOCK, b"\0")
    return _digest(block.translate(_OUTER) + _digest(block.translate(_INNER) + message))


def _digest(data: bytes) -> bytes:
    found = _sha256(data).digest()
    assert isinstance(found, bytes)
    return found
