"""Staging at a peer as a component: the service over its cache, with this daemon's connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any

from gcm import provides, requires
from runtime.peers.contracts import Plain, Staging
from runtime.peers.daemon.surroundings import ReservedPlaces, Surroundings
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, MemberRole, Principal
from runtime.peers.staging import ContentCache, ContentSource, StagingService

GET_TIMEOUT = 10.0
"""Seconds for a piece; a daemon that ends waits no longer than that."""


@provides("staging", Staging)
class StagingPart:
    """Takes files for reservations, and gets them from other peers and web servers."""

    places: Annotated[ReservedPlaces, requires()]

    _surroundings: Surroundings
    _service: StagingService

    def begin(self, surroundings: Surroundings) -> None:
        """Open the cache; raises PeerError."""
        self._surroundings = surroundings
        folder, most = surroundings.folder.cache, surroundings.configuration.number("cache_size")
        try:
            cache = ContentCache(folder, most)
        except OSError as error:
            raise PeerError("cannot be used", place=str(folder), cause=str(error)) from error
        self._service = StagingService(
            cache, self.places.check, self._open_peer, surroundings.ending,
            open_web=_open_web if surroundings.configuration.is_on("web") else None,
        )  # fmt: skip

    def end(self) -> None:
        """Need nothing: what has come in part stays, and a transfer goes on there."""

    def held(self, caller: str, digests: list[str]) -> list[int]:
        """Return how many bytes there are of each content."""
        return self._service.held(caller, digests)

    def put(self, caller: str, key: str, content: list[Any], offset: int, data: bytes) -> int:
        """Write a piece of a content."""
        return self._service.put(caller, key, content, offset, data)

    def get(self, caller: str, digest: str, offset: int, most: int) -> bytes:
        """Return a piece of a content."""
        return self._service.get(caller, digest, offset, most)

    def fetch(self, caller: str, key: str, content: list[Any], sources: list[str]) -> Plain:
        """Get a content from other peers, or from web servers."""
        return self._service.fetch(caller, key, content, sources)

    @contextmanager
    def _open_peer(self, name: str, address: str, digest: str) -> Iterator[ContentSource]:
        """Open another peer as the source of a content."""
        dialler = self._surroundings.dialler
        expected = Principal.parse(f"{MemberRole.PEER}:{name}")
        with dialler.dial(Address.parse(address), expected) as connection:
            yield _PeerSource(connection.stub(Staging, GET_TIMEOUT), dialler.me, digest)


def _open_web(url: str) -> AbstractContextManager[ContentSource]:
    from runtime.peers.staging.web import open_web_source  # only where somebody asks for it

    return open_web_source(url)


class _PeerSource:
    def __init__(self, staging: Staging, me: str, digest: str) -> None:
        self._staging, self._me, self._digest = staging, me, digest

    def read(self, offset: int, most: int) -> bytes:
        return self._staging.get(self._me, self._digest, offset, most)
