"""A peer gets a content itself: from another peer that has or gets it, or from a web server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.cache import ContentCache

PIECE = 1 << 20  # bytes asked for at once
STALL_TIMEOUT = 10.0  # seconds in which a source that gets the content itself has to get more
PORTION = 20.0  # seconds after which who asked has to ask for more: it may have gone
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.1


class ContentSource(Protocol):
    """Where a content can be read; `str` of it is how messages call it."""

    def read(self, offset: int, most: int) -> bytes:
        """Return a piece, b"" behind what there is; raises PeerError or OSError."""


OpenSource = Callable[[str], AbstractContextManager[ContentSource]]
"""Opens a source by its name; raises PeerError or OSError."""


def fetch(
    cache: ContentCache,
    digest: str,
    size: int,
    sources: Iterable[str],
    open_source: OpenSource,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], object],
    is_ending: Callable[[], bool] = lambda: False,
    who: str = "",
) -> str:
    """Let a content come into the cache, for `who`; return the source it came from in the end.

    A source that breaks or has no more is followed by the next one, which goes on where it ended.
    After `PORTION` seconds it is enough if some of it has come: who still wants it asks again.
    Raises Refused: no source had it all, with the words of each; or there is no room here; or
    `is_ending` says that nobody waits for it any more.
    """
    faults: list[str] = []
    begun, enough_at = cache.held(digest, who), clock() + PORTION

    def go_on() -> None:
        if is_ending():
            raise Refused("the peer is about to end", reason=Reason.ENDING)

    def read_all(source: ContentSource) -> None:
        heard, pause = clock(), FIRST_PAUSE
        while cache.path(digest) is None:
            go_on()
            offset = cache.held(digest, who)
            if offset > begun and clock() >= enough_at:
                return
            try:
                data = source.read(offset, min(PIECE, size - offset)) if size else b""
            except Refused as fault:  # there, not here
                raise PeerError(fault.what) from None
            if data or not size:
                cache.append(digest, size, offset, data, who)
                heard, pause = clock(), FIRST_PAUSE
            elif clock() - heard > STALL_TIMEOUT:
                raise PeerError(f"it has {offset} of {size} bytes and got no more for a while")
            else:
                sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    for name in sources:
        go_on()
        if cache.held(digest, who) == size:
            return name
        try:
            with open_source(name) as source:
                read_all(source)
            return name
        except (PeerError, OSError) as fault:
            if isinstance(fault, Refused) and fault.reason in (Reason.DISK, Reason.ENDING):
                raise
            faults.append(f"{name}: {' '.join(str(fault).split())}")
    # Where some has come and the sources have gone, who asked sees that and asks again.
    if cache.path(digest) is not None or cache.held(digest, who) > begun:
        return "cache"
    raise Refused(
        f"no source had all of the content {digest[:12]} ({size} bytes)",
        reason=Reason.BAD_REQUEST,
        cause="\n".join(faults),
    )
