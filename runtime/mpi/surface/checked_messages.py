"""Tells of the messages and requests of this rank where a run is checked.

A send is told before its receiver can go on, a receive when it is complete: then its status tells
who has sent. Both in the order in which they were posted, in which MPI matches them. Sends are made
synchronous, so that one that relies on buffers waits for its receive. Of a request a note is kept
with it until a wait or a test has completed it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.mpi.checks.arguments import PICKLED, UNKNOWN, buffer, in_bytes, spec_of
from runtime.mpi.checks.choices import ReceiveChoices
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.surface.observed_calls import COMMUNICATORS, REQUESTS

if TYPE_CHECKING:
    from runtime.mpi.checks.call_log import CallLog
    from runtime.mpi.checks.records import CheckedReceive
    from runtime.mpi.surface.observed_calls import CallListener, MadeCall
    from runtime.mpi.values.specs import Spec

_ENDS: dict[str, Any] = {"source": MPI.ANY_SOURCE, "tag": MPI.ANY_TAG}
_BOTH: dict[str, Any] = {"sendtag": 0, "source": MPI.ANY_SOURCE, "recvtag": MPI.ANY_TAG}

StartedCall = Callable[[], "CheckedReceive | None"]
"""Keeps that a message is on its way, and returns its receive."""


class Note:
    """What is kept with a request until it is complete."""

    __slots__ = (
        *("_start", "call", "is_started", "name", "number", "receive", "spec", "sum", "then"),
    )

    def __init__(self, name: str, number: int, call: str, start: StartedCall) -> None:
        self.name, self.number, self.call, self._start = name, number, call, start
        self.is_started = False
        self.receive: CheckedReceive | None = None
        self.spec: Spec | None = None
        self.sum: int | None = None
        self.then: Callable[[], None] | None = None
        """What is to be done once it is complete."""

    @property
    def is_persistent(self) -> bool:
        """Whether it can be started again."""
        return self.name.endswith("_init")

    def begin(self) -> None:
        """Keep that it goes on, with a checksum of what it sends."""
        self.is_started, self.receive = True, self._start()
        self.sum = None if self.spec is None else _sum_of(self.spec)


class Messages:
    """Keeps notes of requests, and has a listener for each kind of call."""

    def __init__(self, log: CallLog) -> None:
        self.log = log
        self.choices = ReceiveChoices()

    def listening(self) -> Iterator[tuple[Any, Any, CallListener]]:
        """Yield classes, rows of calls, and who listens to them."""
        of_kind = calls.of_kind
        yield COMMUNICATORS, of_kind("send").values(), _Sends(self)
        yield COMMUNICATORS, of_kind("receive").values(), _Receives(self)
        yield COMMUNICATORS, of_kind("probe").values(), _Probes(self)
        yield COMMUNICATORS, of_kind("exchange").values(), _Exchanges(self)
        completions = of_kind("wait", "test", of=calls.OF_REQUESTS).values()
        yield REQUESTS, [row for row in completions if not row.is_of_class], _OneCompletion(self)
        yield REQUESTS, [row for row in completions if row.is_of_class], _SeveralCompletions(self)
        yield REQUESTS, of_kind("start", of=calls.OF_REQUESTS).values(), _Starts(self)
        frees = of_kind("request", of=("Request",)).values()
        yield REQUESTS, [row for row in frees if row.name.lower() == "free"], _Frees(self)

    def begun(  # noqa: PLR0917 - all of it is kept
        self,
        request: Any,
        name: str,
        number: int,
        start: StartedCall,
        data: Any = None,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Keep a note with a new request; `data` is what it sends."""
        if not isinstance(request, MPI.Request):
            return
        made: Any = request
        note = made._check = Note(name, number, self.log.text(number), start)
        note.spec, note.then = None if data is None else spec_of(data), then
        if not note.is_persistent:
            note.begin()
        self.log.notes[id(note)] = note

    def completed(
        self, request: Any, note: Note, status: MPI.Status, error: BaseException | None = None
    ) -> None:
        """Take note of the end of a request, which may be an error: a message may not fit."""
        if error is not None and status.source == MPI.ANY_SOURCE:
            note.receive = None  # nobody knows what has come
        if note.spec is not None and note.sum not in (None, _sum_of(note.spec)):
            text = "the data of a send were changed before it was waited for"
            self.log.fault("changed", text, note.call)
        if note.receive is not None:
            self.log.received(note.receive, status)
            note.receive = None
        if note.then is not None and error is None:
            note.then()
        note.sum = None  # an inactive request has none
        if not note.is_persistent:
            note.spec = request._check = None
            self.log.notes.pop(id(note), None)


class _Listener:
    """Listens to calls of one kind, and ends nothing."""

    def __init__(self, messages: Messages) -> None:
        self.messages, self.log, self.choices = messages, messages.log, messages.choices

    def ends(self, call: MadeCall, kept: Any) -> None:
        """Do nothing."""


class _Sends(_Listener):
    """A standard send is made synchronous, so that one that relies on buffers waits."""

    def begins(self, call: MadeCall) -> tuple[int, StartedCall, Any]:
        """Keep a send that does not return before its receiver can go on."""
        row, comm = call.row, call.on
        given = call.given
        tag, data = given.get("tag", 0), given.get(row.arguments[0].name)
        number = self.log.message(row.name, PICKLED if row.takes_objects else buffer(data))
        start = partial(self.log.sent, self.log.known(comm), given.get("dest"), tag, number)
        if row.name in calls.SYNCHRONOUS:
            call.function = getattr(type(comm), calls.SYNCHRONOUS[row.name])
        if row.how == calls.BLOCKING:
            start()
        return number, start, None if row.takes_objects else data

    def ends(self, call: MadeCall, kept: tuple[int, StartedCall, Any]) -> None:
        """Keep a note with a request."""
        number, start, data = kept
        if call.error is None and call.row.how != calls.BLOCKING:
            self.messages.begun(call.result, call.row.name, number, start, data)


class _Receives(_Listener):
    def begins(self, call: MadeCall) -> tuple[Any, Any, int, bool]:
        """Keep that it is posted, and let it take another message than MPI would."""
        row, given = call.row, call.given
        for name, default in _ENDS.items():
            given.setdefault(name, default)
        known, begins = self.log.known(call.on), row.how != calls.BLOCKING
        room = PICKLED if row.takes_objects else buffer(given.get("buf"))
        number = self.log.message(row.name, room, given["source"])
        if not row.takes_objects:
            given["buf"] = in_bytes(given.get("buf"))
        posted, is_own = None, not begins and given.get("status") is None
        if row.how != calls.PERSISTENT:
            choice = self.choices.choose(
                call.on, known, given, "tag", number, room=room[1], blocks=not begins
            )
            posted = self.log.posted(known, given["source"], given["tag"], number, choice)
        if is_own:
            given["status"] = MPI.Status()
        return known, posted, number, is_own

    def ends(self, call: MadeCall, kept: tuple[Any, Any, int, bool]) -> None:
        """Keep what has come, also what does not fit."""
        known, posted, number, is_own = kept
        row, given, log = call.row, call.given, self.log
        if call.error is not None:
            error, status = call.error, given.get("status")
            is_long = isinstance(error, MPI.Exception) and error.error_class == MPI.ERR_TRUNCATE
            if is_long or (is_own and given["status"].source != MPI.ANY_SOURCE):
                log.received(posted, status)
        elif row.how == calls.BLOCKING:
            log.received(posted, given.get("status"))
        else:
            source, tag = given["source"], given["tag"]

            def start() -> CheckedReceive | None:
                if row.how != calls.PERSISTENT:
                    return posted  # type: ignore[no-any-return]
                return log.posted(known, source, tag, number)

            self.messages.begun(call.result, row.name, number, start)


class _Probes(_Listener):
    """Calls that find a message, which they may take, too."""

    def begins(self, call: MadeCall) -> tuple[Any, int, Any]:
        """Let it find another message than MPI would."""
        row, given = call.row, call.given
        for name, default in _ENDS.items():
            given.setdefault(name, default)
        given["status"] = given.get("status") or MPI.Status()
        number = self.log.message(row.name, UNKNOWN, given["source"])
        known = self.log.known(call.on)
        choice = self.choices.choose(
            call.on, known, given, "tag", number, blocks=row.how == calls.BLOCKING
        )
        return known, number, choice

    def ends(self, call: MadeCall, kept: tuple[Any, int, Any]) -> None:
        """Keep what was taken."""
        (known, number, choice), given = kept, call.given
        if call.row.has("takes") and call.result is not None:
            posted = self.log.posted(known, given["source"], given["tag"], number, choice)
            self.log.received(posted, given["status"])


class _Exchanges(_Listener):
    def begins(self, call: MadeCall) -> tuple[Any, int]:
        """Keep what it sends, and that it receives."""
        row, given, log = call.row, call.given, self.log
        for name, default in _BOTH.items():
            given.setdefault(name, default)
        replaces, is_object = row.takes("inout"), row.takes_objects
        known = log.known(call.on)
        sent = PICKLED if is_object else buffer(given.get(row.arguments[0].name))
        got = sent if replaces or is_object else buffer(given.get("recvbuf"))
        number, receive = log.message(row.name, sent), log.message(row.name, got, given["source"])
        if not is_object:
            place = "buf" if replaces else "recvbuf"
            given[place] = in_bytes(given.get(place))
        if row.how == calls.BLOCKING and given.get("status") is None:
            given["status"] = MPI.Status()
        choice = self.choices.choose(call.on, known, given, "recvtag", receive, room=got[1])
        posted = log.posted(known, given["source"], given["recvtag"], receive, choice)
        log.sent(known, given.get("dest"), given["sendtag"], number)
        return posted, number

    def ends(self, call: MadeCall, kept: tuple[Any, int]) -> None:
        """Keep what has come, also what does not fit."""
        (posted, number), given, error = kept, call.given, call.error
        begins = call.row.how == calls.BEGUN
        if error is not None:
            is_long = isinstance(error, MPI.Exception) and error.error_class == MPI.ERR_TRUNCATE
            if is_long and not begins:
                self.log.received(posted, given["status"])
        elif not begins:
            self.log.received(posted, given["status"])
        else:
            data = None if call.row.takes("inout") else given.get("sendbuf")
            self.messages.begun(call.result, call.row.name, number, lambda: posted, data)


class _Starts(_Listener):
    def begins(self, call: MadeCall) -> None:
        """Do nothing."""

    def ends(self, call: MadeCall, _: None) -> None:
        """Keep that persistent requests go on."""
        if call.error is None:
            for one in call.on if call.row.is_of_class else (call.on,):
                note: Note | None = getattr(one, "_check", None)
                if note is not None:
                    note.begin()


class _OneCompletion(_Listener):
    def begins(self, call: MadeCall) -> Note | None:
        """Ask for the status that tells what has come."""
        note: Note | None = getattr(call.on, "_check", None)
        if note is not None:
            if call.given.get("status") is None:
                call.given["status"] = MPI.Status()
            if call.row.kind == "wait":
                self.log.waits(note.number)
        return note

    def ends(self, call: MadeCall, note: Note | None) -> None:
        """Take note of what is complete, as it is after an error, too."""
        if note is None:
            return
        if call.error is not None or call.row.kind == "wait" or is_flagged(call.result):
            self.messages.completed(call.on, note, call.given["status"], call.error)


class _SeveralCompletions(_Listener):
    def begins(self, call: MadeCall) -> list[Note | None]:
        """Ask for the statuses that tell what has come."""
        notes: list[Note | None] = [getattr(one, "_check", None) for one in call.on]
        name = call.row.arguments[1].name
        if any(notes) and call.given.get(name) is None:
            is_any = name == "status"
            call.given[name] = MPI.Status() if is_any else [MPI.Status() for _ in call.on]
        if call.row.kind == "wait":
            known = [note for note in notes if note is not None]
            receives = any(note.receive is not None for note in known)
            for note in known:
                self.log.waits(note.number, for_others=receives)
        return notes

    def ends(self, call: MadeCall, notes: list[Note | None]) -> None:
        """Take note of those that are complete."""
        requests, name = call.on, call.row.arguments[1].name
        statuses: Any = call.given.get(name)
        if call.error is not None:
            self._failed(requests, notes, [] if name == "status" else statuses, call.error)
            return
        for at, place in enumerate(completed_places(call.row.name, call.result, len(requests))):
            if (done := notes[place]) is not None:
                status = statuses if name == "status" else statuses[at]
                self.messages.completed(requests[place], done, status)

    def _failed(
        self, requests: Any, notes: list[Note | None], statuses: Any, error: BaseException
    ) -> None:
        """Take note of those that an error has completed.

        Those have a null handle, or where MPI says which have failed, a status that is not pending.
        """
        told = isinstance(error, MPI.Exception) and error.error_class == MPI.ERR_IN_STATUS
        unknown = MPI.Status()
        for place, note in enumerate(notes):
            if note is None:
                continue
            of_all = told and len(statuses or ()) == len(requests)
            is_null = requests[place] == MPI.REQUEST_NULL
            if is_null or (of_all and statuses[place].error != MPI.ERR_PENDING):
                status = statuses[place] if of_all else unknown
                self.messages.completed(requests[place], note, status, error)


class _Frees(_Listener):
    def begins(self, call: MadeCall) -> None:
        """Forget a request that is freed."""
        note: Note | None = getattr(call.on, "_check", None)
        if note is not None:
            if note.is_persistent and not note.is_started:
                self.log.fault("request", "a request is never started", note.call)
            self.log.notes.pop(id(note), None)


def left_over(note: Note) -> tuple[str, str]:
    """Return the fault of a request that is left at the end of the program: kind and text."""
    if not note.is_persistent:
        return "request", "a request is never waited for"
    if note.is_started:
        return "freed", "a persistent request is never freed"
    return "request", "a request is never started"


def _sum_of(spec: Spec) -> int:
    return zlib.crc32(spec.pack())
