"""Tells of the messages and requests of this rank where a run is checked.

A send is told before its receiver can go on, a receive when it is complete: then its status tells
who has sent. Both in the order in which they were posted, in which MPI matches them. Sends are made
synchronous, so that one that relies on buffers waits for its receive. Of a request a note is kept
with it until a wait or a test has completed it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.mpi.checks.arguments import PICKLED, UNKNOWN, buffer, in_bytes, spec_of
from runtime.mpi.checks.choices import ReceiveChoices
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.requests.requests import Prequest, Request
from runtime.mpi.surface.observed_calls import OF_CLASS, TESTS, TESTS_AND_WAITS

if TYPE_CHECKING:
    from runtime.mpi.checks.call_log import CallLog
    from runtime.mpi.checks.nesting import CallNesting
    from runtime.mpi.checks.records import CheckedReceive
    from runtime.mpi.values.specs import Spec

SENDS, RECEIVES, PROBES, EXCHANGES = map(calls.of_kind, ("send", "receive", "probe", "exchange"))

_ENDS: dict[str, Any] = {"source": MPI.ANY_SOURCE, "tag": MPI.ANY_TAG}
_BOTH: dict[str, Any] = {"sendtag": 0, "source": MPI.ANY_SOURCE, "recvtag": MPI.ANY_TAG}

Call = Callable[..., Any]
StartedCall = Callable[[], "CheckedReceive | None"]
"""Keeps that a message is on its way, and returns its receive."""


class Note:
    """What is kept with a request until it is complete."""

    __slots__ = ("_start", "call", "is_started", "name", "receive", "spec", "sum")

    def __init__(self, name: str, call: str, start: StartedCall) -> None:
        self.name, self.call, self._start = name, call, start
        self.is_started = False
        self.receive: CheckedReceive | None = None
        self.spec: Spec | None = None
        self.sum: int | None = None

    @property
    def is_persistent(self) -> bool:
        """Whether it can be started again."""
        return self.name.endswith("_init")

    def begin(self) -> None:
        """Keep that it goes on, with a checksum of what it sends."""
        self.is_started, self.receive = True, self._start()
        self.sum = None if self.spec is None else _sum_of(self.spec)


class Messages:
    """Makes the functions around calls that send, receive and complete requests."""

    def __init__(self, log: CallLog, nesting: CallNesting) -> None:
        self._log = log
        self._nesting = nesting
        self._choices = ReceiveChoices()

    def of_communicators(self) -> list[tuple[Callable[[Call, str], Call], Collection[str]]]:
        """Return what makes the functions around calls of communicators, and their names."""
        return [
            (self.send, SENDS),
            (self.receive, RECEIVES),
            (self.probe, PROBES),
            (self.exchange, EXCHANGES),
        ]

    def of_requests(self) -> list[tuple[Callable[[Call, str], Call], Collection[str]]]:
        """Return what makes the functions around calls of requests, and their names."""
        return [
            (self.complete_one, TESTS_AND_WAITS - OF_CLASS),
            (self.complete_several, TESTS_AND_WAITS & OF_CLASS),
            (self.start, ("Start", "Startall")),
            (self.free, ("Free", "free")),
        ]

    # --- calls of communicators -----------------------------------------------------------------

    def send(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends, which another one may make."""
        nesting, log, row = self._nesting, self._log, SENDS[name]
        is_object, begins = row.takes_objects, row.how != calls.BLOCKING
        by = calls.SYNCHRONOUS.get(name, name)

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if nesting.is_inside:
                return call(self_, *args, **options)
            given: dict[str, Any] = {"tag": 0} | row.named(args, options)
            data = given.get(row.arguments[0].name)
            known = log.known(self_)
            number = log.message(name, PICKLED if is_object else buffer(data))
            made = call if by == name else getattr(type(self_), by)
            start = partial(log.sent, known, given.get("dest"), given["tag"], number)
            if not begins:
                start()  # before its receiver can go on
            result = nesting.observed_call(made, self_, *args, **options)
            if begins:
                return self.begun(result, name, number, start, None if is_object else data)
            return result

        return observed_call

    def receive(self, call: Call, name: str) -> Call:
        """Return the function around a call that receives."""
        nesting, log, choices = self._nesting, self._log, self._choices
        row = RECEIVES[name]
        is_object, is_persistent = row.takes_objects, row.how == calls.PERSISTENT
        begins = row.how != calls.BLOCKING

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if nesting.is_inside:
                return call(self_, *args, **options)
            given = _ENDS | row.named(args, options)
            known = log.known(self_)
            room = PICKLED if is_object else buffer(given.get("buf"))
            number = log.message(name, room, given["source"])
            if not is_object:
                given["buf"] = in_bytes(given.get("buf"))
            posted, is_own = None, not begins and given.get("status") is None
            if not is_persistent:
                choice = nesting.observed_call(
                    choices.choose, self_, known, given, "tag", number,
                    room=room[1], blocks=not begins,
                )  # fmt: skip
                posted = log.posted(known, given["source"], given["tag"], number, choice)
            if is_own:
                given["status"] = MPI.Status()
            try:
                result = nesting.observed_call(call, self_, **given)
            except Exception as error:
                is_long = isinstance(error, MPI.Exception) and error.error_class == MPI.ERR_TRUNCATE
                if is_long or (is_own and given["status"].source != MPI.ANY_SOURCE):
                    log.received(posted, given.get("status"))  # it has come, and does not fit
                raise
            if not begins:
                log.received(posted, given.get("status"))
                return result

            def start() -> CheckedReceive | None:
                if not is_persistent:
                    return posted
                return log.posted(known, given["source"], given["tag"], number)

            return self.begun(result, name, number, start)

        return observed_call

    def probe(self, call: Call, name: str) -> Call:
        """Return the function around a call that finds a message, which it may take, too."""
        nesting, log, choices = self._nesting, self._log, self._choices
        row = PROBES[name]
        takes, blocks = row.has("takes"), row.how == calls.BLOCKING

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if nesting.is_inside:
                return call(self_, *args, **options)
            given = _ENDS | row.named(args, options)
            given["status"] = given.get("status") or MPI.Status()
            number, known = log.message(name, UNKNOWN, given["source"]), log.known(self_)
            choice = nesting.observed_call(
                choices.choose, self_, known, given, "tag", number, blocks=blocks
            )
            result = nesting.observed_call(call, self_, **given)
            if takes and result is not None:
                posted = log.posted(known, given["source"], given["tag"], number, choice)
                log.received(posted, given["status"])
            return result

        return observed_call

    def exchange(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends and receives."""
        nesting, log, choices = self._nesting, self._log, self._choices
        row = EXCHANGES[name]
        is_object, begins = row.takes_objects, row.how == calls.BEGUN
        sends, replaces = row.arguments[0].name, row.takes("inout")

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if nesting.is_inside:
                return call(self_, *args, **options)
            given = _BOTH | row.named(args, options)
            known = log.known(self_)
            sent = PICKLED if is_object else buffer(given.get(sends))
            got = sent if replaces or is_object else buffer(given.get("recvbuf"))
            number, receive = log.message(name, sent), log.message(name, got, given["source"])
            if not is_object:
                place = "buf" if replaces else "recvbuf"
                given[place] = in_bytes(given.get(place))
            if not begins and given.get("status") is None:
                given["status"] = MPI.Status()
            choice = nesting.observed_call(
                choices.choose, self_, known, given, "recvtag", receive, room=got[1]
            )
            posted = log.posted(known, given["source"], given["recvtag"], receive, choice)
            log.sent(known, given.get("dest"), given["sendtag"], number)
            try:
                result = nesting.observed_call(call, self_, **given)
            except MPI.Exception as error:
                if error.error_class == MPI.ERR_TRUNCATE and not begins:
                    log.received(posted, given["status"])  # it has come, and does not fit
                raise
            if not begins:
                log.received(posted, given["status"])
                return result
            data = None if replaces else given.get("sendbuf")
            return self.begun(result, name, number, lambda: posted, data)

        return observed_call

    # --- requests -------------------------------------------------------------------------------

    def begun(
        self, result: Any, name: str, number: int, start: StartedCall, data: Any = None
    ) -> Any:
        """Return a new request with a note about it; `data` is what it sends."""
        if not isinstance(result, MPI.Request):
            return result
        request: Any = result
        if type(result) is MPI.Prequest:
            request = Prequest(result)
        elif type(result) is MPI.Request:
            request = Request(result)
        note = request._check = Note(name, self._log.text(number), start)
        note.spec = None if data is None else spec_of(data)
        if not note.is_persistent:
            note.begin()
        self._log.notes[id(note)] = note
        return request

    def start(self, call: Call, name: str) -> Call:
        """Return the function around the call that starts persistent requests."""
        nesting, is_one = self._nesting, name == "Start"

        def observed_call(requests: Any) -> Any:
            if nesting.is_inside:
                return call(requests)
            result = nesting.observed_call(call, requests)
            for one in (requests,) if is_one else requests:
                note: Note | None = getattr(one, "_check", None)
                if note is not None:
                    note.begin()
            return result

        return observed_call

    def complete_one(self, call: Call, name: str) -> Call:
        """Return the function around a call that may complete one request."""
        nesting, log, is_test = self._nesting, self._log, name in TESTS

        def observed_call(self_: Any, status: Any = None) -> Any:
            if nesting.is_inside:
                return call(self_, status)
            note: Note | None = getattr(self_, "_check", None)
            if note is None:
                return call(self_, status)
            status = MPI.Status() if status is None else status
            if not is_test:
                log.waits(note.name)
            result = nesting.observed_call(call, self_, status)
            if not is_test or is_flagged(result):
                self._completed(self_, note, status)
            return result

        return observed_call

    def complete_several(self, call: Call, name: str) -> Call:
        """Return the function around a call that may complete several requests."""
        nesting, log = self._nesting, self._log
        is_test, is_any = name in TESTS, name[4:] == "any"

        def observed_call(requests: Sequence[Any], *args: Any, **options: Any) -> Any:
            statuses: Any = next(iter((*args, *options.values())), None)
            if nesting.is_inside:
                return call(requests, statuses)
            notes: list[Note | None] = [getattr(one, "_check", None) for one in requests]
            if any(notes) and statuses is None:
                statuses = MPI.Status() if is_any else [MPI.Status() for _ in requests]
            if not is_test:
                known = [note for note in notes if note is not None]
                receives = any(note.receive is not None for note in known)
                for note in known:
                    log.waits(note.name, for_others=receives)
            result = nesting.observed_call(call, requests, statuses)
            for at, place in enumerate(completed_places(name, result, len(requests))):
                if (done := notes[place]) is not None:
                    self._completed(requests[place], done, statuses if is_any else statuses[at])
            return result

        return observed_call

    def free(self, call: Call, _name: str) -> Call:
        """Return the function around the call that frees a request."""
        nesting, log = self._nesting, self._log

        def observed_call(self_: Any) -> Any:
            note: Note | None = None if nesting.is_inside else getattr(self_, "_check", None)
            if note is not None:
                if note.is_persistent and not note.is_started:
                    log.fault("request", "a request is never started", note.call)
                log.notes.pop(id(note), None)
            return nesting.observed_call(call, self_)

        return observed_call

    def _completed(self, request: Any, note: Note, status: MPI.Status) -> None:
        if note.spec is not None and note.sum not in (None, _sum_of(note.spec)):
            text = "the data of a send were changed before it was waited for"
            self._log.fault("changed", text, note.call)
        if note.receive is not None:
            self._log.received(note.receive, status)
            note.receive = None
        note.sum = None  # an inactive request has none
        if not note.is_persistent:
            note.spec = request._check = None
            self._log.notes.pop(id(note), None)


def left_over(note: Note) -> tuple[str, str]:
    """Return the fault of a request that is left at the end of the program: kind and text."""
    if not note.is_persistent:
        return "request", "a request is never waited for"
    if note.is_started:
        return "freed", "a persistent request is never freed"
    return "request", "a request is never started"


def _sum_of(spec: Spec) -> int:
    return zlib.crc32(spec.pack())
