"""Memory for payloads that nobody gave a buffer for; a large one takes none until it is written."""

from __future__ import annotations

import mmap

from runtime.wire.errors import BadFrame

_LARGE = 1 << 20


def room(size: int) -> memoryview:
    """Return writable memory of a size, whatever is in it; it goes when the view does.

    Raises:
        BadFrame: the system has no room for it.
    """
    if size < _LARGE:
        return memoryview(bytearray(size))
    try:
        return memoryview(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    except OSError as error:
        raise BadFrame(f"there is no memory here for a message of {size} bytes: {error}") from error
