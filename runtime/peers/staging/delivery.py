"""Brings a content to peers: executes a `Broadcast` over their staging services."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gcm.records import dataclass
from runtime.peers.contracts import Plain, Staging
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Reason
from runtime.peers.staging.broadcast import Broadcast, Effect, Fetch, Push, Shape
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
    by_name = {one.name: one for one in receivers}
    events: SimpleQueue[Callable[[], list[Effect]]] = SimpleQueue()
    holders, lost = _holders(content, receivers, caller)
    sites = {one.name: one.site for one in receivers}
    suited = shape.suited(content.size // PIECE, len(receivers))
    broadcast, ending = Broadcast(sites, suited, holders), threading.Event()
    for name in holders:
        arrived(name)

    def do(effect: Effect) -> None:
        receiver = by_name[effect.peer]
        try:
            if isinstance(effect, Push):
                if not _is_fetched_from_web(content, receiver, caller, ending.is_set):
                    push(content, receiver, caller, ending.is_set)
            else:
                sources = [by_name[one].source for one in effect.sources]
                sources += [content.url] if content.url else []
                _let_fetch(content, receiver, sources, caller, ending.is_set)
        except Exception as fault:  # whatever is wrong with an answer, nobody waits for ever
            is_known = isinstance(fault, PeerError | OSError)
            words = str(fault) if is_known else f"{type(fault).__name__}: {fault}"
            if isinstance(effect, Fetch) and _is_starved(fault):
                events.put(lambda: broadcast.starved(effect.peer))
            else:
                events.put(lambda: broadcast.lost(effect.peer, words))
        else:
            events.put(lambda: broadcast.arrived(effect.peer))
            arrived(effect.peer)

    with _threads(receivers, ending) as threads:
        found = [one for name, why in lost.items() for one in broadcast.lost(name, why)]
        found += broadcast.begin()
        while True:
            for effect in found:
                threads.submit(do, effect)
            if broadcast.is_over:
                return broadcast.failures
            found = events.get()()


def _is_starved(fault: Exception) -> bool:
    """Tell whether a peer only lacks sources."""
    return isinstance(fault, Refused) and fault.reason not in _FINAL


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


def _is_fetched_from_web(
    content: StagedContent, receiver: Receiver, caller: str, is_ending: Callable[[], bool]
) -> bool:
    """Let a peer fetch from the web server, if one has it; tell whether it could.

    A peer that has gone meanwhile is found out when it is sent the content.
    """
    if not content.url:
        return False
    try:
        _let_fetch(content, receiver, [content.url], caller, is_ending)
    except PeerError as fault:
        if is_ending() or (isinstance(fault, Refused) and fault.reason in _FINAL):
            raise
        _log.warning("%s: %s\n%s", receiver.name, fault.what, fault.cause)
        return False
    return True


def _let_fetch(
    content: StagedContent,
    receiver: Receiver,
    sources: list[str],
    caller: str,
    is_ending: Callable[[], bool],
) -> None:
    with receiver.open() as service:
        told = partial(service.fetch, caller, receiver.key, content.plain(), sources)
        _pull(receiver.name, content.size, told, is_ending)


def _pull(peer: str, size: int, fetch: Callable[[], Plain], is_ending: Callable[[], bool]) -> None:
    """Let a peer fetch a content of so many bytes, a portion with each call; raises PeerError."""
    before = -1
    while before < size:
        _go_on(is_ending)
        match fetch():
            case {"bytes": int(there)} if there > before:
                before = there
            case _:
                raise PeerError(f"{peer} fetches, and does not get more")


def _go_on(is_ending: Callable[[], bool]) -> None:
    if is_ending():
        raise PeerError("the delivery has been ended")


def push(
    content: StagedContent,
    receiver: Receiver,
    caller: str,
    is_ending: Callable[[], bool] = lambda: False,
) -> None:
    """Send a content to one peer, from where it is there; raises PeerError."""
    offset = 0
    with receiver.open() as service, content.path.open("rb") as file:
        while True:
            _go_on(is_ending)
            file.seek(offset)
            data = file.read(PIECE)
            there = service.put(caller, receiver.key, content.plain(), offset, data)
            if there == content.size:
                return
            if not data and there == offset:
                raise PeerError(
                    f"{content.path} has become shorter while it was sent to {receiver.name}",
                    cure="Start again",
                )
            offset = there


def _holders(
    content: StagedContent, receivers: Sequence[Receiver], caller: str
) -> tuple[list[str], dict[str, str]]:
    """Return who has the content already, and who does not answer."""
    holders, lost = [], {}
    with ThreadPoolExecutor(len(receivers) or 1, "staging") as threads:
        asked = {one.name: threads.submit(_held, one, caller, content.digest) for one in receivers}
    for name, answer in asked.items():
        try:
            if answer.result() == [content.size]:
                holders.append(name)
        except (PeerError, OSError) as fault:
            lost[name] = str(fault)
    return holders, lost


def _held(receiver: Receiver, caller: str, digest: str) -> list[int]:
    with receiver.open() as service:
        return service.held(caller, [digest])
