"""A peer gets a content itself: from another peer that has or gets it, or from a URL."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Protocol

from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.cache import ContentCache

PIECE = 1 << 20  # bytes asked for at once
STALL_TIMEOUT = 10.0  # seconds in which a source that gets the content itself has to get more
PORTION = 20.0  # seconds after which who asked has to ask for more: it may have gone
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.1
URL_TIMEOUT = 10.0


class ContentSource(Protocol):
    """Where a content can be read; `str` of it is how messages call it."""

    def read(self, offset: int, most: int) -> bytes:
        """Return a piece, b"" behind what there is; raises PeerError or OSError."""
        ...


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
) -> str:
    """Let a content come into the cache; return the source it came from in the end.

    A source that breaks or has no more is followed by the next one, which goes on where it ended.
    After `PORTION` seconds it is enough if some of it has come: who still wants it asks again.
    Raises Refused: no source had it all, with the words of each; or there is no room here; or
    `is_ending` says that nobody waits for it any more.
    """
    faults: list[str] = []
    begun, enough_at = cache.held(digest), clock() + PORTION

    def go_on() -> None:
        if is_ending():
            raise Refused("the peer is about to end", reason=Reason.ENDING)

    def read_all(source: ContentSource) -> None:
        heard, pause = clock(), FIRST_PAUSE
        while cache.path(digest) is None:
            go_on()
            offset = cache.held(digest)
            if offset > begun and clock() >= enough_at:
                return
            try:
                data = source.read(offset, min(PIECE, size - offset)) if size else b""
            except Refused as fault:  # there, not here
                raise PeerError(fault.what) from None
            if data or not size:
                cache.append(digest, size, offset, data)
                heard, pause = clock(), FIRST_PAUSE
            elif clock() - heard > STALL_TIMEOUT:
                raise PeerError(f"it has {offset} of {size} bytes and got no more for a while")
            else:
                sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    for name in sources:
        go_on()
        if cache.held(digest) == size:
            return name
        try:
            with open_source(name) as source:
                read_all(source)
            return name
        except (PeerError, OSError, http.client.HTTPException) as fault:
            if isinstance(fault, Refused) and fault.reason in (Reason.DISK, Reason.ENDING):
                raise
            faults.append(f"{name}: {' '.join(str(fault).split())}")
    if cache.path(digest) is not None:
        return "cache"
    raise Refused(
        f"no source had all of the content {digest[:12]} ({size} bytes)",
        reason=Reason.BAD_REQUEST,
        cause="\n".join(faults),
    )


class UrlSource:
    """A content behind a URL of http or https, read from where it is needed."""

    def __init__(self, url: str, offset: int) -> None:
        self._url = url
        self._offset = offset
        self._answer: http.client.HTTPResponse | None = None

    def __enter__(self) -> UrlSource:
        """Return the source; the first read opens it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        if self._answer is not None:
            self._answer.close()

    def __str__(self) -> str:
        """Return the URL."""
        return self._url

    def read(self, offset: int, most: int) -> bytes:
        """Return a piece; the whole is not asked for again where the server knows ranges."""
        if self._answer is None or offset != self._offset:
            self._open(offset)
        assert self._answer is not None
        data = self._answer.read(most)
        if not data:
            raise PeerError(f"{self._url} ends after {offset} bytes")
        self._offset += len(data)
        return data

    def _open(self, offset: int) -> None:
        if not self._url.startswith(("http://", "https://")):
            raise PeerError(f"{self._url!r} is neither http nor https")
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={offset}-"})
        try:
            answer = urllib.request.urlopen(request, timeout=URL_TIMEOUT)
        except urllib.error.HTTPError as fault:
            with fault:
                raise PeerError(f"{self._url} cannot be read: {fault}") from None
        if answer.status != http.client.PARTIAL_CONTENT:
            left = offset
            while left and (skipped := answer.read(min(PIECE, left))):
                left -= len(skipped)
        with suppress(AttributeError):
            self._answer = answer
        self._offset = offset
