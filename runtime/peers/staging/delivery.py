"""Brings a content to peers: executes a `Broadcast` over their staging services."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gcm.records import dataclass
from runtime.interruptible import next_of
from runtime.peers.contracts import Staging
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.broadcast import Broadcast, Effect, Fetch, Shape
from runtime.peers.staging.fetching import PIECE

_log = logging.getLogger(__name__)

_FINAL = frozenset({Reason.DISK, Reason.UNKNOWN_KEY, Reason.WRONG_KEY, Reason.NOT_TRUSTED})
"""For what reasons a peer will never take a content, whoever sends it."""


@dataclass(frozen=True, slots=True)
class StagedContent:
    """A file to bring to peers: its path, its SHA-256, its size; where a web server has it too."""

    path: Path
    digest: str
    size: int
    url: str = ""

    @classmethod
    def of(cls, path: Path) -> StagedContent:
        """Read the digest of a file."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return cls(path, digest, file.tell())

    def plain(self) -> list[Any]:
        """Return what staging services are told."""
        return [self.digest, self.size]


@dataclass(frozen=True, slots=True)
class Receiver:
    """A peer that gets a content: its service, the key of the reservation, its address and site.

    `open` leads to the service; each call is made by one thread. What it raises means that the
    peer is gone. `hang_up` ends all calls that go on there.
    """

    name: str
    address: str
    key: str
    open: Callable[[], AbstractContextManager[Staging]]
    hang_up: Callable[[], None] = lambda: None
    site: str = ""

    @property
    def source(self) -> str:
        """How other peers are told to fetch from it."""
        return f"peer:{self.name}={self.address}"


def deliver(
    content: StagedContent,
    receivers: Sequence[Receiver],
    *,
    caller: str,
    shape: Shape = Shape.AUTO,
    arrived: Callable[[str], None] = lambda _: None,
) -> Mapping[str, str]:
    """Bring a content to all receivers; return why some did not get it, by name.

    `arrived` is told who has it. Returns once each peer has it or is lost; interrupted, it ends
    what goes on.
    """
    delivery, by_name = _Delivery(content, caller), {one.name: one for one in receivers}
    events: SimpleQueue[Callable[[], list[Effect]]] = SimpleQueue()
    holders, lost = delivery.holders(receivers)
    sites = {one.name: one.site for one in receivers}
    suited = shape.suited(content.size // PIECE, len(receivers))
    broadcast = Broadcast(sites, suited, holders)
    for name in holders:
        arrived(name)

    def do(effect: Effect) -> None:
        try:
            delivery.do(effect, by_name)
        except Exception as fault:  # whatever is wrong with an answer, nobody waits for ever
            is_known = isinstance(fault, PeerError | OSError)
            words = str(fault) if is_known else f"{type(fault).__name__}: {fault}"
            if isinstance(effect, Fetch) and isinstance(fault, Refused) and not _is_final(fault):
                events.put(lambda: broadcast.starved(effect.peer))
            else:
                events.put(lambda: broadcast.lost(effect.peer, words))
        else:
            events.put(lambda: broadcast.arrived(effect.peer))
            arrived(effect.peer)

    with _threads(receivers, delivery.ending) as threads:
        found = [one for name, why in lost.items() for one in broadcast.lost(name, why)]
        found += broadcast.begin()
        while True:
            for effect in found:
                threads.submit(do, effect)
            if broadcast.is_over:
                return broadcast.failures
            found = next_of(events)()


def _is_final(fault: Exception) -> bool:
    return isinstance(fault, Refused) and fault.reason in _FINAL


@contextmanager
def _threads(
    receivers: Sequence[Receiver], ending: threading.Event
) -> Iterator[ThreadPoolExecutor]:
    """Return threads; what they do ends at once if this is left by an error, such as Ctrl-C."""
    with ThreadPoolExecutor(2 * len(receivers) or 1, "staging") as threads:
        try:
            yield threads
        except BaseException:
            ending.set()
            threads.shutdown(wait=False, cancel_futures=True)
            for one in receivers:
                one.hang_up()
            raise


@dataclass(frozen=True, slots=True)
class _Delivery:
    """A content on its way to peers, for a caller. All methods raise PeerError or OSError."""

    content: StagedContent
    caller: str
    ending: threading.Event = field(default_factory=threading.Event)
    """Once it is set, nothing more is sent or fetched."""

    def do(self, effect: Effect, by_name: Mapping[str, Receiver]) -> None:
        """Bring the content to a peer, from here or from others."""
        receiver, web = by_name[effect.peer], [self.content.url] if self.content.url else []
        if isinstance(effect, Fetch):
            sources = [by_name[one].source for one in effect.sources]
            self._let_fetch(receiver, [*sources, *web])
        elif not (web and self._is_fetched(receiver, web)):
            self._push(receiver)

    def holders(self, receivers: Sequence[Receiver]) -> tuple[list[str], dict[str, str]]:
        """Return who has the content already, and who does not answer."""
        holders, lost = [], {}
        with ThreadPoolExecutor(len(receivers) or 1, "staging") as threads:
            asked = {one.name: threads.submit(self._held, one) for one in receivers}
        for name, answer in asked.items():
            try:
                if answer.result() == [self.content.size]:
                    holders.append(name)
            except (PeerError, OSError) as fault:
                lost[name] = str(fault)
        return holders, lost

    def _held(self, receiver: Receiver) -> list[int]:
        with receiver.open() as service:
            return service.held(self.caller, [self.content.digest])

    def _is_fetched(self, receiver: Receiver, web: list[str]) -> bool:
        """Let a peer fetch from the web server; tell whether it could.

        A peer that has gone meanwhile is found out when it is sent the content.
        """
        try:
            self._let_fetch(receiver, web)
        except PeerError as fault:
            if self.ending.is_set() or _is_final(fault):
                raise
            _log.warning("%s: %s\n%s", receiver.name, fault.what, fault.cause)
            return False
        return True

    def _let_fetch(self, receiver: Receiver, sources: list[str]) -> None:
        """Let a peer fetch the content, a portion with each call."""
        before = -1
        with receiver.open() as service:
            while before < self.content.size:
                self._go_on()
                match service.fetch(self.caller, receiver.key, self.content.plain(), sources):
                    case {"bytes": int(there)} if there > before:
                        before = there
                    case _:
                        raise PeerError(f"{receiver.name} fetches, and does not get more")

    def _push(self, receiver: Receiver) -> None:
        """Send the content to one peer, from where it is there."""
        content, offset = self.content, 0
        with receiver.open() as service, content.path.open("rb") as file:
            while True:
                self._go_on()
                file.seek(offset)
                data = file.read(PIECE)
                there = service.put(self.caller, receiver.key, content.plain(), offset, data)
                if there == content.size:
                    return
                if not data and there == offset:
                    raise PeerError(
                        f"{content.path} has become shorter while it was sent to {receiver.name}",
                        cure="Start again",
                    )
                offset = there

    def _go_on(self) -> None:
        if self.ending.is_set():
            raise PeerError("the delivery has been ended")
