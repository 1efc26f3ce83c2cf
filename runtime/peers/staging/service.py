"""The staging service of a peer, over its cache."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from runtime.peers.contracts import Plain
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.broadcast import MOST_SOURCES
from runtime.peers.staging.cache import ContentCache
from runtime.peers.staging.fetching import PIECE, ContentSource, OpenSource, fetch
from runtime.web_address import is_web_address

MOST_DIGESTS = 1000


class StagingService:
    """Serves the contract `Staging`.

    `check` raises Refused unless a caller may bring files with a key. `open_peer` opens another
    peer as a source: its name and its address; `open_web` what a web server has, None where the
    owner does not want that. Once `ending` is set nothing is fetched any more.
    What is given by strangers to the lab never gets here.
    """

    def __init__(
        self,
        cache: ContentCache,
        check: Callable[[str, str], None],
        open_peer: Callable[[str, str, str], AbstractContextManager[ContentSource]],
        ending: threading.Event | None = None,
        open_web: OpenSource | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.cache = cache
        self._check = check
        self._open_peer = open_peer
        self._open_web = open_web
        self._ending = ending or threading.Event()
        self._clock = clock

    def held(self, caller: str, digests: list[str]) -> list[int]:
        """Return how many bytes there are of each content."""
        if len(digests) > MOST_DIGESTS:
            raise Refused(f"more than {MOST_DIGESTS} contents", reason=Reason.BAD_REQUEST)
        return [self.cache.held(one, caller) for one in digests]

    def put(self, caller: str, key: str, content: list[Any], offset: int, data: bytes) -> int:
        """Write a piece of a content; return how many bytes there are now."""
        digest, size = _described(content)
        self._check(caller, key)
        return self.cache.append(digest, size, offset, data, caller)

    def get(self, caller: str, digest: str, offset: int, most: int) -> bytes:  # noqa: ARG002
        """Return a piece of a content, b"" behind what there is."""
        if offset < 0 or most < 0:
            raise Refused("a piece has no negative offset or size", reason=Reason.BAD_REQUEST)
        return self.cache.read(digest, offset, min(most, PIECE))

    def fetch(self, caller: str, key: str, content: list[Any], sources: list[str]) -> Plain:
        """Get a content from `peer:NAME=HOST:PORT` or web addresses, in order; tell how much there
        is now.
        """
        digest, size = _described(content)
        self._check(caller, key)
        wanted = sources[: MOST_SOURCES + 1]  # and a web server
        source = fetch(
            self.cache,
            digest,
            size,
            wanted,
            lambda name: self._open(name, digest),
            clock=self._clock,
            sleep=self._ending.wait,
            who=caller,
            is_ending=self._ending.is_set,
        )
        return {"bytes": self.cache.held(digest, caller), "source": source}

    def _open(self, source: str, digest: str) -> AbstractContextManager[ContentSource]:
        if is_web_address(source):
            if self._open_web is None:
                raise PeerError("its owner does not let it fetch from web servers")
            return self._open_web(source)
        name, _, address = source.removeprefix("peer:").partition("=")
        return self._open_peer(name, address, digest)


def _described(content: list[Any]) -> tuple[str, int]:
    match content:
        case [str(digest), int(size)] if size >= 0:
            return digest, size
    raise Refused(f"{content!r:.120} describes no content", reason=Reason.BAD_REQUEST)
