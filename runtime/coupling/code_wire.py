"""Messages between ranks of different codes, over connections of their own."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime.coupling.connections import CodeConnections
from runtime.lazy_import import logger
from runtime.machine.calls import CallRefused, DispatchTable, stub
from runtime.machine.contracts import CONTRACTS, Mail
from runtime.transport.messages import PLAIN_DATA
from runtime.wire.errors import PeerLost
from runtime.wire.opening import meet

if TYPE_CHECKING:
    import socket

    from runtime.coupling.directory import CodeDirectory
    from runtime.coupling.mailbox import CouplingMailbox
    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.membership.rank_link import RankLink
    from runtime.wire import Incoming

REASON_TIMEOUT = 5.0
"""Seconds to wait for the launcher to report the cause when a connection shows that a rank ended.
"""

_ALIGNED = 64  # bytes; larger arrays are received in place
_LENGTH = 8

_log = logger(__name__)


class CodeWire:
    """Sends and receives `Mail` over direct connections, as soon as a rank is connected.

    Until then, and where there is no route, messages go through the front-ends and the launcher;
    the receiver's mailbox restores their order. A thread serves the connections.

    Notices that a rank has ended are delivered after everything that rank has sent.
    """

    def __init__(
        self,
        link: RankLink,
        machine: bytes,
        mailbox: CouplingMailbox,
        listeners: list[socket.socket],
        found: AdvertisedAddresses,
        *,
        codes: CodeDirectory,
    ) -> None:
        self._link = link
        self._mailbox = mailbox
        self._dispatch = DispatchTable()
        self._dispatch.serve(Mail, mailbox)
        self._lock = threading.RLock()
        """Guards the connections."""
        self._opened: set[int] = set()
        self._news: deque[tuple[set[int], Callable[[], None]]] = deque()
        self._unexplained: dict[int, tuple[float, str]] = {}
        self._is_closed = False
        self._is_broken = False
        self._process = os.getpid()
        self._connections = CodeConnections(link, machine, self, listeners, found, codes=codes)
        self._thread = threading.Thread(target=self._run, name="gcm-coupling", daemon=True)
        self._thread.start()

    # -- for the mailbox, which may block ----------------------------------------------------------

    def mail_to(self, name: str) -> Mail | None:
        """Return the `Mail` of a connected rank, or None if there is no connection to it."""
        with self._lock:
            index = self._connections.index_of(name)
            if index is None or self._is_closed or self._is_broken:
                return None
            if index not in self._opened:
                if not self._connections.is_connected(index):
                    return None
                self._opened.add(index)
        return stub(Mail, partial(self._send, index))

    def close(self) -> None:
        """Flush what is queued and close; after a fork, only the parent process does so."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._connections.wake()
        self._thread.join()
        if self._is_broken:
            return  # too late to send anything
        with self._lock:
            self._connections.at_end = self._report_traffic
            self._connections.close()

    def _send(self, index: int, _: str, operation: str, args: tuple[Any, ...]) -> None:
        # Copied, since the caller may change its arrays before the receiver has read them.
        whole = memoryview(b"".join(_packed(operation, args)))
        with self._lock:
            if index in self._opened:  # otherwise it has ended meanwhile
                self._connections.send(index, b"", [whole])

    def _report_traffic(self) -> None:
        self._link.wrapper.references.exchanged(self._link.name, *self._connections.rows())

    # -- for the thread that listens to the front-end, which must not block ------------------------

    def here(self, report: dict[str, Any]) -> None:
        """Connect to a rank that listens at an address."""
        self._soon(partial(self._meet, report))

    def come(self, name: str) -> None:
        """Connect to a rank that cannot connect to this one."""
        self._soon(partial(self._come, name))

    def meet(self, front_end: str, token: str) -> None:
        """Connect to a front-end to meet another rank there."""
        self._soon(partial(self._meet_at, front_end, token))

    def pass_on(self, call: Callable[[], None], why: str, ended: Mapping[str, int]) -> None:
        """Call back once everything sent by some ranks has arrived, after earlier callbacks.

        Nothing more arrives from the incarnations that have `ended`. Those that were started in
        their place may be connected already.
        """
        self._soon(partial(self._pass_on, call, why, ended))

    def _soon(self, wish: Callable[[], None]) -> None:
        self._connections.soon(partial(_try, wish))

    def _meet(self, report: dict[str, Any]) -> None:
        self._connections.learn(report)
        index = self._connections.index_of(report["rank"])
        if index not in (None, self._connections.me) and self._connections.is_known(index):
            self._connections.watch(index)

    def _come(self, name: str) -> None:
        index = self._connections.index_of(name)
        if index is not None and self._connections.is_known(index):
            self._connections.watch(index)
        elif index is not None:  # the launcher sends its address
            peer = self._mailbox.peers.directory.whose(name)
            self._link.coupling.watch(self._link.name, *peer)

    def _meet_at(self, front_end: str, token: str) -> None:
        if self._connections.routed is not None:
            meet(self._connections, self._connections.routed, front_end, token)

    def _pass_on(self, call: Callable[[], None], why: str, ended: Mapping[str, int]) -> None:
        waits = set()
        for name, incarnation in ended.items():
            index = self._connections.index_of(name)
            if index is None:
                continue
            self._unexplained.pop(index, None)
            # Includes ranks that have connected and sent nothing yet.
            is_open = index in self._opened or self._connections.is_connected(index)
            if is_open and self._connections.incarnation_of(index) <= incarnation:
                waits.add(index)
        self._news.append((waits, call))
        for index in tuple(waits):
            self._connections.explain(index, PeerLost(why))
        self._call_what_is_due()

    def _call_what_is_due(self) -> None:
        while self._news and not self._news[0][0]:
            _try(self._news.popleft()[1])

    # -- the thread of the connections -------------------------------------------------------------

    def _run(self) -> None:
        while True:
            times = [at for at, _ in tuple(self._unexplained.values())]
            now = time.monotonic()
            self._connections.ready(max(0.0, min(times) - now) if times else None)
            with self._lock:
                if self._is_closed:
                    return
                try:
                    self._connections.progress()
                    self._report_unexplained()
                except Exception as fault:  # nobody may block for ever
                    _log.exception("messages of other codes cannot be received any more")
                    self._is_broken = True
                    self._mailbox.lose(f"{type(fault).__name__}: {fault}")
                    return

    def _report_unexplained(self) -> None:
        """Report ranks whose connection ended without a notice from the launcher."""
        now = time.monotonic()
        for index in [index for index, (at, _) in self._unexplained.items() if at <= now]:
            _, why = self._unexplained.pop(index)
            name = self._connections.name_of(index)
            self._mailbox.rank_ended(*self._mailbox.peers.directory.whose(name), why)

    # -- callbacks of connections ------------------------------------------------------------------

    def arrived(self, incoming: Incoming) -> None:
        """Receive a message."""
        self._opened.add(incoming.source)
        incoming.take()
        if incoming.done:
            self.completed(incoming)

    def completed(self, incoming: Incoming) -> None:
        """Deliver a complete message."""
        assert incoming.payload is not None
        member = self._connections.name_of(incoming.source)
        try:
            operation, args = _opened(incoming.payload)
            if args[:1] != (member,):
                raise CallRefused(f"{operation} was called in the name of another member")
            self._dispatch.call(CONTRACTS[Mail], operation, args)
        except Exception as fault:  # a faulty message must not end the connection
            _log.error("what rank %s says is not understood: %s", member, fault)

    def lost(self, peer: int, why: Exception) -> None:
        """Record that nothing more comes from a rank."""
        if peer in self._opened:
            self._opened.discard(peer)
            at = time.monotonic() + REASON_TIMEOUT
            if not any(peer in waits for waits, _ in self._news):
                self._unexplained[peer] = at, str(why)
        else:
            name = self._connections.name_of(peer)
            _log.info("messages to rank %s go through the launcher: %s", name, why)
        for waits, _ in self._news:
            waits.discard(peer)
        self._call_what_is_due()


def _try(call: Callable[[], None]) -> None:
    """Call a function and log its error: a faulty message of a member must not end the thread."""
    try:
        call()
    except Exception as fault:
        _log.error("what was told of other codes is not understood: %s", fault)


def _packed(operation: str, args: tuple[Any, ...]) -> list[memoryview]:
    """Return the pieces of a message; large arguments are not copied, and are aligned."""
    buffers = [one.raw() for one in args if isinstance(one, pickle.PickleBuffer)]
    plain = tuple(one for one in args if not isinstance(one, pickle.PickleBuffer))
    told = pickle.dumps((operation, plain, [len(one) for one in buffers]), protocol=5)
    first = len(told).to_bytes(_LENGTH, "big") + told
    pieces = [memoryview(first)]
    size = len(first)
    for one in buffers:
        if gap := -size % _ALIGNED:
            pieces.append(memoryview(bytes(gap)))
        pieces.append(one)
        size += gap + len(one)
    return pieces


def _opened(whole: memoryview) -> tuple[str, tuple[Any, ...]]:
    """Return the operation and arguments of a message.

    >>> raw = b"".join(_packed("deliver", ("0:0:0", 7, pickle.PickleBuffer(b"value"))))
    >>> operation, args = _opened(memoryview(raw))
    >>> operation, args[:2], bytes(args[2])
    ('deliver', ('0:0:0', 7), b'value')
    """
    at = _LENGTH + int.from_bytes(whole[:_LENGTH], "big")
    operation, plain, sizes = PLAIN_DATA.load([whole[_LENGTH:at]])
    parts = []
    for size in sizes:
        at += -at % _ALIGNED
        parts.append(whole[at : at + size])
        at += size
    return operation, (*plain, *parts)
