"""Staging at a peer as a component: the service over its cache, with this daemon's connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated

from gcm import provides, requires
from runtime.peers.contracts import Staging
from runtime.peers.daemon.context import DaemonContext, ReservedPlaces
from runtime.peers.errors import of_file
from runtime.peers.model import Address, MemberRole, Principal
from runtime.peers.staging.cache import ContentCache
from runtime.peers.staging.fetching import ContentSource
from runtime.peers.staging.service import StagingService

GET_TIMEOUT = 10.0
"""Seconds for a piece; a daemon that ends waits no longer than that."""


@provides("staging", Staging)
class StagingPart(StagingService):
    """Takes files for reservations, and gets them from other peers and web servers."""

    places: Annotated[ReservedPlaces, requires()]

    _context: DaemonContext

    def __init__(self) -> None:
        """Wait for `begin`, which says where files are kept."""

    def begin(self, context: DaemonContext) -> None:
        """Open the cache; raises PeerError."""
        self._context = context
        folder, most = context.folder.cache, context.configuration.number("cache_size")
        with of_file("cannot be used", folder):
            cache = ContentCache(folder, most)
        super().__init__(
            cache, self.places.check, self._open_peer, context.ending,
            open_web=_open_web if context.configuration.is_on("web") else None,
        )  # fmt: skip

    def end(self) -> None:
        """Need nothing: what has come in part stays, and a transfer goes on there."""

    @contextmanager
    def _open_peer(self, name: str, address: str, digest: str) -> Iterator[ContentSource]:
        """Open another peer as the source of a content."""
        dialler = self._context.dialler
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
