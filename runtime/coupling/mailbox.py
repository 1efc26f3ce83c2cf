"""The mailbox of a participant: sending, receiving and waiting."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any, TypeAlias

from runtime.coupling.errors import CodeEnded, NotCoupled
from runtime.coupling.peers import RESTART_SECONDS, Peers
from runtime.matching import ANY, Envelope, Matcher, Pattern, PostedReceive, weight
from runtime.transport.messages import PLAIN

if TYPE_CHECKING:
    from runtime.machine.contracts import Coupling, Mail
    from runtime.matching.envelope import AnyOr

MOST_APART = 1000
"""A value with more large buffers is pickled as a whole, since the parts of a frame are limited."""

REPORT_AFTER = 30.0
"""Seconds after which a wait of the driving program reports what it waits for."""

SEND, RECEIVE = "send", "receive"

InnerTag: TypeAlias = tuple[str, str, int]
"""The tag of a message of a call between all ranks of codes: the call, what about, and a number.

No receive of a program matches these, not even with wildcards.
"""

Tag: TypeAlias = int | InnerTag

Fault: TypeAlias = "Callable[[], CodeEnded | None]"
"""Tells why a call between codes cannot go on, None as long as it can."""


class AwaitedMessage:
    """A message for which a thread waits: to be sent, once there is room, or to be received."""

    __slots__ = ("kind", "pattern", "serial", "since", "thread")

    def __init__(self, kind: str, pattern: Pattern, serial: int) -> None:
        self.kind = kind
        self.pattern = pattern
        self.serial = serial
        self.thread = threading.get_ident()
        self.since = time.monotonic()


class Message:
    """A received message: the value, with the code, rank and tag of its sender."""

    __slots__ = ("code", "rank", "tag", "value")

    def __init__(self, value: Any, code: str, rank: int, tag: int) -> None:
        self.value = value
        self.code = code
        self.rank = rank
        self.tag = tag

    def __repr__(self) -> str:
        return f"Message({self.value!r}, code={self.code!r}, rank={self.rank}, tag={self.tag})"


class CouplingMailbox:
    """Sends and receives for one rank, or for the program that drives the machine.

    `member` is what others call this participant. `coupling` is told which ranks it deals with;
    `mail_to` returns the `Mail` of a path. Both may block on the connection. The operations of
    `Mail` and `CouplingNews` and `lose` may be called from a thread that must not block; all else
    is for the program.
    """

    def __init__(
        self,
        peers: Peers,
        member: str,
        coupling: Coupling,
        mail_to: Callable[[str], Mail],
        report_after: float | None = REPORT_AFTER,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.peers = peers
        self._clock = clock
        self.awaited: dict[AwaitedMessage, None] = {}
        """What threads wait for now, however long that may last."""
        self._waits = 0
        self._member = member
        self._coupling = coupling
        self._mail_to = mail_to
        self._report_after = report_after
        self._matcher, self._inner = Matcher(), Matcher()
        self._changed = threading.Condition()
        self._lost = ""
        name, rank = peers.me
        size = peers.directory.sizes.get(name, 1)
        self._me = name if size == 1 else f"rank {rank} of {name}"

    # -- for the program ---------------------------------------------------------------------------

    def send(
        self,
        value: Any,
        code: str,
        rank: int,
        tag: Tag,
        timeout: float | None = None,
        *,
        fault: Fault | None = None,
    ) -> None:
        """Send a value; block only while too much of what was sent before has not been received.

        A call between codes says by its `fault` why that is in vain.

        Raises:
            UnknownCode, NoSuchRank: the receiver does not exist.
            CodeEnded: the receiver has ended.
            NotCoupled: nothing can be sent any more.
            NotSendable: the value cannot be pickled.
            TimeoutError: there was no room within `timeout` seconds.
        """
        peer, path = (code, rank), self.peers.directory.path(code, rank)
        parts = PLAIN.dump(value)
        if len(parts) > MOST_APART:
            parts = [pickle.dumps(value, protocol=5)]
        heavy = _weight(parts)
        doing = f"{self._me} {_sending(tag)} to rank {rank} of {code}"
        self._watch(code, rank)

        def in_vain(waited: float = 0.0) -> CodeEnded | None:
            its = fault() if fault is not None else None
            return its or self.peers.fault_of(code, rank, doing, waited)

        def has_room() -> bool:
            return self.peers.has_begun(code) and self.peers.window(peer).is_open

        with self._changed:
            self._wait(
                lambda: has_room() and in_vain() is None and not self._lost,
                in_vain,
                doing,
                timeout,
                (SEND, Pattern(code, rank, tag)),
            )
            self.peers.window(peer).sent(heavy)
            to, number = self.peers.incarnation_of(code, rank), self.peers.next_number(peer)
        mail, mine = self._mail_to(path), self.peers.incarnation
        # Large parts are not copied; the receiver accepts nothing but plain bytes. No variable has
        # such a buffer: before Python 3.12.4 the garbage collector crashes at one.
        mail.deliver(self._member, mine, to, number, tag, *map(pickle.PickleBuffer, parts))

    def receive(
        self,
        code: str | AnyOr,
        rank: int | AnyOr = ANY,
        tag: Tag | AnyOr = ANY,
        timeout: float | None = None,
        *,
        fault: Fault | None = None,
    ) -> Message:
        """Wait for a message and return it.

        A call between codes says by its `fault` why that is in vain.

        Raises:
            UnknownCode, NoSuchRank: the sender does not exist.
            CodeEnded: the sender has ended, and all its messages have been received.
            NotCoupled: this process can receive nothing any more.
            NotSendable: the value cannot be unpickled in this process.
            TimeoutError: no message came within `timeout` seconds.
        """
        if code is not ANY:
            self.peers.directory.check(code, None if rank is ANY else rank)
        pattern = Pattern(code, rank, tag)
        doing = f"{self._me} waits for {_awaited(pattern)}"
        matcher = self._matcher_of(tag)

        def in_vain(waited: float = 0.0) -> CodeEnded | None:
            its = fault() if fault is not None else None
            return its or self.peers.fault_of_pattern(pattern, doing, waited)

        if code is not ANY and rank is not ANY and not self.has(code, rank, tag):
            self._watch(code, rank)
        with self._changed:
            asked = matcher.post(pattern)
            try:
                self._wait(lambda: asked.has_come, in_vain, doing, timeout, (RECEIVE, pattern))
            finally:
                matcher.cancel(asked)
            code, rank, incarnation, due = self._count(asked)
        if due:
            path = self.peers.directory.path(code, rank)
            self._mail_to(path).taken(self._member, incarnation, due)
        return _opened(asked)

    def has(
        self,
        code: str | AnyOr,
        rank: int | AnyOr = ANY,
        tag: Tag | AnyOr = ANY,
    ) -> bool:
        """Return whether a matching message has arrived and would be received without blocking."""
        with self._changed:
            return self._matcher_of(tag).find(Pattern(code, rank, tag)) is not None

    # -- incoming ----------------------------------------------------------------------------------

    def deliver(
        self, member: str, incarnation: int, to: int, number: int, tag: Tag, *parts: Any
    ) -> None:
        """Accept a message, unless it is from or for an incarnation that has ended."""
        code, rank = self.peers.directory.whose(member)
        parts = tuple(
            memoryview(one) if isinstance(one, pickle.PickleBuffer) else one for one in parts
        )
        with self._changed:
            if to != self.peers.incarnation or self.peers.is_past(code, incarnation):
                return
            heavy = _weight(parts)
            if not self.peers.admits(code, rank, incarnation, heavy):
                self._changed.notify_all()
                return
            for known, whole in self.peers.in_order(
                code, rank, incarnation, number, (tag, parts), weight=heavy
            ):
                envelope = Envelope(code, rank, known)
                self._matcher_of(known).arrive(envelope, (incarnation, whole))
            self._changed.notify_all()

    def taken(self, member: str, incarnation: int, weight: int) -> None:
        """Record that a peer has received messages."""
        self._learn(lambda peers: peers.taken(*peers.directory.whose(member), incarnation, weight))

    def began(self, code: str, incarnation: int) -> None:
        """Record that a code runs."""
        self._learn(lambda peers: peers.began(code, incarnation))

    def ended(self, code: str, why: str, _: Mapping[str, int] | None = None) -> None:
        """Record that a code has ended."""
        self._learn(lambda peers: peers.ended(code, why))

    def rank_ended(self, code: str, rank: int, why: str, incarnation: int = 0) -> None:
        """Record that a rank has ended, in an incarnation if the launcher tells that."""
        self._learn(lambda peers: peers.rank_ended(code, rank, why, incarnation))

    def rank_began(self, code: str, rank: int, incarnation: int) -> None:
        """Record that another process is there in the place of a rank."""
        self._learn(lambda peers: peers.rank_began(code, rank, incarnation))

    def lose(self, why: str) -> None:
        """Record that nothing can be sent or received any more."""
        with self._changed:
            self._lost = why
            self._changed.notify_all()

    # -- inside ------------------------------------------------------------------------------------

    def _matcher_of(self, tag: Tag | AnyOr) -> Matcher:
        return self._inner if isinstance(tag, tuple) else self._matcher

    def _learn(self, about: Callable[[Peers], None]) -> None:
        with self._changed:
            about(self.peers)
            self._changed.notify_all()

    def _watch(self, code: str, rank: int) -> None:
        """Ask once to be told when a rank ends. Without the lock, because posting may block."""
        with self._changed:
            is_first = self.peers.first_contact(code, rank)
        if is_first:
            self._coupling.watch(self._member, code, rank)

    def _wait(
        self,
        is_done: Callable[[], bool],
        fault: Callable[[float], CodeEnded | None],
        doing: str,
        timeout: float | None,
        what: tuple[str, Pattern],
    ) -> None:
        """Sleep until `is_done`, with the lock held; raise if that can no longer happen.

        `fault` says why, after so many seconds. `what` is awaited: the kind of message, and its
        other end.
        """
        begun = self._clock()
        report_after, awaited = self._report_after, None
        try:
            while not is_done():
                waited = self._clock() - begun
                ended = fault(waited)
                if ended is not None:
                    raise ended
                if self._lost:
                    raise NotCoupled(f"the connection was lost while {doing}", cause=self._lost)
                if timeout is not None and waited >= timeout:
                    raise TimeoutError(f"{doing}: timed out after {timeout:g} s")
                if report_after is not None and waited >= report_after:
                    report_after = None
                    _warn(f"has waited for {waited:.0f} s: {doing}")
                if awaited is None and timeout is None:
                    self._waits += 1
                    awaited = AwaitedMessage(*what, self._waits)
                    self.awaited[awaited] = None
                left = None if timeout is None else timeout - waited
                until = None if report_after is None else report_after - waited
                hopes = waited < RESTART_SECONDS and self.peers.may_be_restarted(what[1])
                hoping = RESTART_SECONDS - waited if hopes else None
                pauses = (one for one in (left, until, hoping) if one is not None)
                self._changed.wait(min(pauses, default=None))
        finally:
            if awaited is not None:
                del self.awaited[awaited]

    def _count(self, asked: PostedReceive) -> tuple[str, int, int, int]:
        """Count a message as received; return its sender and how much to acknowledge now, or 0."""
        assert asked.envelope is not None
        code, rank, _ = asked.envelope
        incarnation, parts = asked.message
        due = self.peers.acknowledge(code, rank, incarnation, _weight(parts))
        return code, rank, incarnation, due


def _sending(tag: Tag) -> str:
    if isinstance(tag, tuple):
        return f"sends its part of coupling.{tag[0]} ({tag[1]})"
    return f"sends a message with tag {tag}"


def _awaited(pattern: Pattern) -> str:
    tag = pattern.tag
    if isinstance(tag, tuple):
        return f"the part of rank {pattern.rank} of {pattern.code} in coupling.{tag[0]} ({tag[1]})"
    return str(pattern)


def _weight(parts: Iterable[Sized]) -> int:
    return weight(sum(map(len, parts)))


def _opened(asked: PostedReceive) -> Message:
    from runtime.transport.errors import NotSendable

    assert asked.envelope is not None
    code, rank, tag = asked.envelope
    try:
        value = PLAIN.load(asked.message[1])
    except Exception as error:  # a user's class may raise anything when it is unpickled
        raise NotSendable(
            f"cannot be rebuilt in this process: {type(error).__name__}: {error}",
            place=f"a message with tag {tag} from rank {rank} of {code}",
            cure="The modules of all values have to be importable at both ends",
        ) from error
    return Message(value, code, rank, tag)


def _warn(what: str) -> None:
    import logging

    logging.getLogger(__name__).warning("%s", what)
