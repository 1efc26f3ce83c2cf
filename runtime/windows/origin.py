"""The side of a window that accesses others: what is under way to each rank, as a machine.

Requests to one rank leave in their order. Small ones are held back and leave together, at the next
synchronisation at the latest. A rank owes this process at most `MOST_OWED` bytes of answers: a
request for more waits here, with all behind it, until some have come. So a large Get does not fill
the memory of its target, and an Unlock does not overtake it.

A call of a program begins an `Access`, which has one request or many. A synchronisation waits for
the accesses that are under way, and where it has to know that the target has carried them out, for
the answer to a request behind them.

The machine sends nothing: whoever calls it, with the engine's lock held, carries out `departures`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Protocol

from gcm.records import dataclass
from runtime.services.port import OUT_OF_TURN, SEVERAL, several
from runtime.windows.epochs import Epoch, WindowEpochs, WrongEpoch
from runtime.windows.requests import AT_ONCE, AnswerCode, RequestHeader, RequestKind
from runtime.windows.runs import Run, packed, pieces, size_of

MOST_OWED = 16 << 20
"""So many bytes of answers a rank prepares for one process at once: 16 pieces, enough for 5 ms and
10 Gbit/s."""

SMALL, MOST_HELD = 256, 16
"""Bodies of up to so many bytes are copied and held back, and so many of them at most."""

LARGE_ANSWER = 64 << 10
"""A request for so many bytes leaves at once: its answer takes longer than its own message."""

_LEAST_KEPT = 64
"""So many accesses to a rank are kept before those that are over are looked for."""


class AccessRefused(Exception):
    """The target's answer: it could not do what it was asked for, and says why."""

    def __init__(self, code: AnswerCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Transmission(Protocol):
    """A message that leaves this process, whose body is the program's memory."""

    error: BaseException | None

    def test(self) -> bool:
        """Return whether the memory may be used again, or the message was lost."""


class RequestState(StrEnum):
    """Where a request is. DONE and FAILED are final."""

    WAITING = "waiting"
    """It is held back, or behind answers that its rank owes."""
    LEFT = "left"
    """Its body may still be on its way, or its answer."""
    DONE = "done"
    FAILED = "failed"


class OutgoingRequest:
    """A request to one rank, and where its answer goes.

    It is over once its body is needed no more and its answer, if it has a token, has come.
    """

    __slots__ = ("body", "error", "header", "into", "rank", "state", "transmission")

    def __init__(
        self, rank: int, header: RequestHeader, body: tuple[memoryview, ...] = (),
        into: memoryview | None = None,
    ) -> None:  # fmt: skip
        self.rank, self.header, self.body = rank, header, body
        self.into = into
        """The program's memory for the answer; None where it has no data, and once it failed."""
        self.state = RequestState.WAITING
        self.error: BaseException | None = None
        self.transmission: Transmission | None = None

    @property
    def owed(self) -> int:
        """How many bytes of data its answer has."""
        return 0 if self.into is None else len(self.into)

    def test(self) -> bool:
        """Return whether it is over."""
        if self.state is RequestState.LEFT:
            sent = self.transmission
            if sent is not None and sent.test():
                self.transmission = None
                if sent.error is not None:
                    self.fail(sent.error)
            self._end_without_answer()
        return self.state in (RequestState.DONE, RequestState.FAILED)

    def left(self, transmission: Transmission | None) -> None:
        """Know that it has left; there is no transmission where its body was copied."""
        if self.state is RequestState.WAITING:
            self.state, self.transmission, self.body = RequestState.LEFT, transmission, ()
            self._end_without_answer()

    def _end_without_answer(self) -> None:
        if self.state is RequestState.LEFT and self.transmission is None and not self.header.token:
            self.state = RequestState.DONE

    def answer(self, body: memoryview | None) -> None:
        """Take the answer; it has no body where that went into the memory already."""
        if self.state is RequestState.FAILED:
            return
        if body is not None and self.into is not None:
            if len(body) != len(self.into):
                text = f"{len(body)} bytes came, {len(self.into)} were asked for"
                self.fail(AccessRefused(AnswerCode.FAILED, text))
                return
            self.into[:] = body
        self.state = RequestState.DONE  # its body has come there, whatever the wire still thinks

    def fail(self, error: BaseException) -> None:
        """Give it up; what comes late stays out of the program's memory."""
        if self.state is not RequestState.DONE:
            self.state, self.error, self.into, self.body = RequestState.FAILED, error, None, ()


class Access:
    """What one call of a program has begun at a rank."""

    __slots__ = ("_is_over", "_left", "_then", "error", "is_requested", "rank")

    def __init__(
        self, rank: int, requests: Iterable[OutgoingRequest], then: Callable[[], object] | None
    ) -> None:
        self.rank = rank
        self._left = deque(requests)
        self._then = then
        self._is_over = False
        self.error: BaseException | None = None
        self.is_requested = False
        """Whether the program has a request of it, which alone tells its error."""

    def test(self) -> bool:
        """Return whether it is over: the program's memory is its own again."""
        left = self._left
        while left and left[0].test():
            error = left.popleft().error
            self.error = self.error or error
        if not left and not self._is_over:
            self._is_over = True
            if self.error is None and self._then is not None:
                self._then()
            self._then = None
        return self._is_over


@dataclass(frozen=True, slots=True)
class Departure:
    """A message that is to leave now; the request is told that it has, if there is one."""

    rank: int
    header: bytes
    body: tuple[memoryview, ...]
    request: OutgoingRequest | None = None


class _Way:
    """All that is under way to one rank."""

    __slots__ = ("accesses", "flush", "has_lock", "held", "is_touched", "limit", "owed", "queue")

    def __init__(self) -> None:
        self.held: list[OutgoingRequest] = []
        """Small ones that leave together; nothing is queued then."""
        self.queue: deque[OutgoingRequest] = deque()
        """Those that wait for answers, and all behind them."""
        self.owed = 0
        """How many bytes of answers are to come."""
        self.accesses: list[Access] = []
        self.limit = _LEAST_KEPT
        self.is_touched = False
        """Whether something was asked for since the last flush."""
        self.flush: OutgoingRequest | None = None
        """The last flush."""
        self.has_lock: bool | None = None
        """Whether its lock was asked for; None where there is no epoch of one."""

    def forget(self, told: Container[Access]) -> None:
        """Forget accesses that are over and whose errors were told."""
        self.accesses = [one for one in self.accesses if one not in told or not one.test()]
        self.limit = max(_LEAST_KEPT, 2 * len(self.accesses))

    def keep(self, access: Access) -> None:
        """Keep an access. All are tested only when they have doubled: each rarely, that is."""
        if len(self.accesses) >= self.limit:
            self.accesses = [
                one
                for one in self.accesses
                if not one.test() or (one.error is not None and not one.is_requested)
            ]
            self.limit = max(_LEAST_KEPT, 2 * len(self.accesses))
        self.accesses.append(access)


class WindowOrigin:
    """What a process does to the memory of all ranks of a window, and what it waits for."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.epochs = WindowEpochs()
        self.departures: deque[Departure] = deque()
        self.sent = [0] * size
        """How many requests have gone to each rank since the last fence."""
        self.fences = 0
        self.posts: Counter[int] = Counter()
        """Whose exposure epochs have begun for this process, less those that it has used."""
        self.holders: dict[int, tuple[int, ...]] = {}
        """Who has the locks of ranks for which requests from here wait, as the targets say."""
        self._ways: dict[int, _Way] = {}
        self._asked: dict[int, OutgoingRequest] = {}
        self._token = 0

    # --- accesses ---------------------------------------------------------------------------------

    def begin(self, rank: int, call: str, *, requested: bool = False) -> None:
        """Take note that a call accesses a rank, and lock that in an epoch of Lock_all.

        Raises WrongEpoch.
        """
        try:
            self.epochs.check_access(rank, requested=requested)
        except WrongEpoch as fault:
            raise WrongEpoch(f"{call} to rank {rank}: {fault}") from None
        if self.epochs.access is Epoch.ALL_LOCKED:
            way = self._way(rank)
            if way.has_lock is None:
                self._post(OutgoingRequest(rank, RequestHeader(RequestKind.LOCK)))
                way.has_lock = True

    def give(  # noqa: PLR0917 - a request, and what goes with it
        self, rank: int, header: RequestHeader, start: int, runs: Sequence[Run], data: memoryview,
        unit: int = 1,
    ) -> Access:  # fmt: skip
        """Send data to a place of a rank, in pieces of whole units."""
        is_block = len(runs) == 1 and runs[0].times == 1
        is_put_at_once = header.kind == RequestKind.PUT and is_block  # it lands in the window
        most = len(data) or 1 if is_put_at_once else AT_ONCE
        made = []
        at = 0
        for piece in pieces(runs, most, unit):
            size = size_of(piece)
            sent = (data[at : at + size],)
            made.append(self._access(self._placed(rank, header, start, piece, sent)))
            at += size
        return self._kept(rank, made, None)

    def take(  # noqa: PLR0917 - as above
        self, rank: int, header: RequestHeader, start: int, runs: Sequence[Run], into: memoryview,
        data: Sequence[memoryview] = (), unit: int = 1, then: Callable[[], object] | None = None,
    ) -> Access:  # fmt: skip
        """Ask for the data of a place of a rank; `then` is called once they are here."""
        if header.kind == RequestKind.GET:
            in_sight = self.epochs.access in (Epoch.FENCED, Epoch.STARTED)
            header = header._replace(operation=int(in_sight))
        made = []
        at = 0
        for piece in pieces(runs, AT_ONCE, unit):
            size = size_of(piece)
            sent = [one[at : at + size] for one in data]
            asked = self._placed(rank, header, start, piece, sent, into[at : at + size])
            made.append(self._access(self._with_token(asked)))
            at += size
        return self._kept(rank, made, then)

    def _placed(  # noqa: PLR0917 - as above
        self, rank: int, header: RequestHeader, start: int, piece: Sequence[Run],
        data: Sequence[memoryview], into: memoryview | None = None,
    ) -> OutgoingRequest:  # fmt: skip
        """Return the request for a piece of a place."""
        told = header._replace(epoch=self.fences)
        if len(piece) == 1 and piece[0].times == 1:
            told = told._replace(start=start + piece[0].start, length=piece[0].length)
            return OutgoingRequest(rank, told, tuple(data), into)
        told = told._replace(start=start, runs=len(piece))
        return OutgoingRequest(rank, told, (memoryview(packed(piece)), *data), into)

    def _access(self, request: OutgoingRequest) -> OutgoingRequest:
        self.sent[request.rank] += 1
        self._way(request.rank).is_touched = True
        return self._post(request)

    def _kept(
        self, rank: int, requests: Iterable[OutgoingRequest], then: Callable[[], object] | None
    ) -> Access:
        """Keep an access until a synchronisation, unless it is over already."""
        made = Access(rank, requests, then)
        if not made.test():
            self._way(rank).keep(made)
        return made

    # --- requests on their way --------------------------------------------------------------------

    def _way(self, rank: int) -> _Way:
        known = self._ways.get(rank)
        if known is None:
            known = self._ways[rank] = _Way()
        return known

    def _with_token(self, request: OutgoingRequest) -> OutgoingRequest:
        self._token += 1
        request.header = request.header._replace(token=self._token)
        self._asked[self._token] = request
        return request

    def _post(self, request: OutgoingRequest) -> OutgoingRequest:
        """Let a request leave when its turn comes. A small body is copied now."""
        way, header = self._way(request.rank), request.header
        if header.kind & OUT_OF_TURN:
            self._push(request.rank, way)
            self._depart(request)
            return request
        is_small = sum(map(len, request.body)) <= SMALL
        if is_small:
            request.body = (memoryview(b"".join(request.body)),) if request.body else ()
            if not header.token:
                request.state = RequestState.DONE
        if way.queue or not self._fits(way, request):
            self._push(request.rank, way)
            way.queue.append(request)
        else:
            self._leave(way, request, is_small=is_small)
        return request

    @staticmethod
    def _fits(way: _Way, request: OutgoingRequest) -> bool:
        return not request.owed or way.owed + request.owed <= MOST_OWED

    def _leave(self, way: _Way, request: OutgoingRequest, *, is_small: bool) -> None:
        """Let a request leave: at once, or with others."""
        way.owed += request.owed
        if request.rank == self.rank or not is_small:
            self._push(request.rank, way)
            self._depart(request)
            return
        way.held.append(request)
        is_due = request.header.kind >= RequestKind.UNLOCK or request.owed >= LARGE_ANSWER
        if is_due or len(way.held) >= MOST_HELD:
            self._push(request.rank, way)

    def _push(self, rank: int, way: _Way) -> None:
        """Let the requests leave that are held back."""
        held, way.held = way.held, []
        if len(held) == 1:
            self._depart(held[0])
        elif held:
            parts = ((one.header.packed(), b"".join(one.body)) for one in held)
            self.departures.append(Departure(rank, SEVERAL, (memoryview(several(parts)),)))
            for one in held:
                one.left(None)

    def _depart(self, request: OutgoingRequest) -> None:
        self.departures.append(
            Departure(request.rank, request.header.packed(), request.body, request)
        )

    def push(self) -> None:
        """Let all requests leave that are held back."""
        for rank, way in self._ways.items():
            self._push(rank, way)

    def room(self, token: int, size: int) -> memoryview | None:
        """Return where the data of an answer are to go; None if nobody wants them."""
        request = self._asked.get(token)
        into = None if request is None else request.into
        return into if into is not None and len(into) == size else None

    def answered(self, token: int, code: int, body: memoryview | None) -> None:
        """Take the answer to a request, and let those leave that have waited for it."""
        request = self._asked.pop(token, None)
        if request is None:
            return
        way, owed = self._way(request.rank), request.owed
        if code == AnswerCode.DONE:
            request.answer(body)
        else:
            text = bytes(body or b"").decode(errors="replace")
            request.fail(AccessRefused(AnswerCode(code), text))
        way.owed -= owed
        self.holders.pop(request.rank, None)  # what it has waited for was granted
        if not way.queue:
            return
        while way.queue and self._fits(way, way.queue[0]):
            one = way.queue.popleft()
            self._leave(way, one, is_small=sum(map(len, one.body)) <= SMALL)
        self._push(request.rank, way)  # a synchronisation may wait for them already

    def lost(self, rank: int, error: BaseException) -> None:
        """Give up all that is under way to a rank."""
        way = self._ways.get(rank)
        if way is None:
            return
        for token in [token for token, one in self._asked.items() if one.rank == rank]:
            self._asked.pop(token).fail(error)
        for one in (*way.held, *way.queue):
            one.fail(error)
        way.held, way.owed = [], 0
        way.queue.clear()

    def close(self, error: BaseException) -> None:
        """Give up all that is under way: no call of the program uses the window any more."""
        for rank in tuple(self._ways):
            self.lost(rank, error)

    # --- synchronisations -------------------------------------------------------------------------

    def ranks_under_way(self) -> list[int]:
        """Return the ranks to which something is under way, or was since the last flush."""
        return sorted(
            rank
            for rank, way in self._ways.items()
            if way.is_touched or way.held or way.queue or way.accesses
            or (way.flush is not None and not way.flush.test())
        )  # fmt: skip

    def under_way(self, ranks: Iterable[int]) -> list[Access]:
        """Return the accesses to some ranks that are to be waited for, and let them leave."""
        found: list[Access] = []
        for rank in ranks:
            way = self._ways.get(rank)
            if way is not None:
                self._push(rank, way)
                found += way.accesses
        return found

    def forget(self, told: Iterable[Access]) -> None:
        """Forget accesses that were waited for, so that the error of each was told.

        Another thread may have begun others meanwhile.
        """
        over = frozenset(told)
        for rank in {one.rank for one in over}:
            self._way(rank).forget(over)

    def flush(self, rank: int) -> OutgoingRequest | None:
        """Return a request that is answered once all before is done at a rank; None if all is.

        Another thread may wait already for the one that is needed.
        """
        way = self._ways.get(rank)
        if way is None:
            return None
        last = way.flush
        if not way.is_touched and (last is None or last.error is None):
            return None if last is None or last.test() else last
        way.is_touched = False
        way.flush = self._post(
            self._with_token(OutgoingRequest(rank, RequestHeader(RequestKind.FLUSH)))
        )
        return way.flush

    def lock(self, rank: int, *, exclusive: bool, asks: bool = True) -> None:
        """Lock a rank: what follows waits at the target. Raises WrongEpoch.

        Where the program knows that nobody else locks it, it `asks` for nothing.
        """
        self.epochs.lock(rank)
        self._way(rank).has_lock = asks
        if asks:
            self._post(OutgoingRequest(rank, RequestHeader(RequestKind.LOCK, int(exclusive))))

    def lock_all(self, *, asks: bool = True) -> None:
        """Lock all ranks, each when it is accessed, but this one now. Raises WrongEpoch."""
        self.epochs.lock_all()
        if not asks:
            for rank in range(self.size):
                self._way(rank).has_lock = False
            return
        self._way(self.rank).has_lock = True
        self._post(OutgoingRequest(self.rank, RequestHeader(RequestKind.LOCK)))

    def unlock(self, rank: int) -> list[OutgoingRequest]:
        """Give the lock of a rank back, once all is done there. Raises WrongEpoch."""
        self.epochs.unlock(rank)
        return [*self._given_back(rank)]

    def unlock_all(self) -> list[OutgoingRequest]:
        """Give all locks back, once all is done. Raises WrongEpoch."""
        self.epochs.unlock_all()
        return [one for rank in sorted(self._ways) for one in self._given_back(rank)]

    def _given_back(self, rank: int) -> Iterator[OutgoingRequest]:
        """Yield what is to be waited for at the end of a lock."""
        way = self._way(rank)
        has_lock, way.has_lock = way.has_lock, None
        if has_lock or way.is_touched:
            header = RequestHeader(RequestKind.UNLOCK, int(bool(has_lock)))
            way.is_touched, way.flush = False, None
            yield self._post(self._with_token(OutgoingRequest(rank, header)))
        elif way.flush is not None and not way.flush.test():
            yield way.flush

    def end_fence(self) -> None:
        """Begin to count accesses anew: all of the last epoch are done at their targets."""
        self.fences += 1
        self.sent = [0] * self.size
        self.forget_touched(tuple(self._ways))

    def forget_touched(self, ranks: Iterable[int]) -> None:
        """Know that all was done at some ranks, or is counted there."""
        for rank in ranks:
            if (way := self._ways.get(rank)) is not None:
                way.is_touched, way.flush = False, None

    def ask_for_holders(self, rank: int) -> None:
        """Ask who has the lock of a rank, if it was locked from here and does not answer."""
        if rank != self.rank and any(
            one.rank == rank and one.state is RequestState.LEFT for one in self._asked.values()
        ):
            self.tell(rank, RequestKind.HOLDERS)

    def tell(self, rank: int, kind: RequestKind) -> None:
        """Tell a rank something that has no answer of its own."""
        self._post(OutgoingRequest(rank, RequestHeader(kind)))
