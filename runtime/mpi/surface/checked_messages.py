"""Tells of the messages and requests of this rank where a run is checked.

A send is told when it has begun, a receive when it is complete: then its status tells who has
sent. Both in the order in which they were posted, in which MPI matches them. Sends are made
synchronous, so that one that relies on buffers waits for its receive. Of a request a note is kept
with it until a wait or a test has completed it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.checks.arguments import PICKLED, UNKNOWN, buffer, spec_of
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.requests.requests import Prequest, Request
from runtime.mpi.surface.observed_calls import OF_CLASS, TESTS_AND_WAITS, Inside

if TYPE_CHECKING:
    from runtime.mpi.checks.call_log import CallLog, CheckedReceive

SENDS = {
    **{one: one for one in ("Ssend", "Bsend", "Rsend", "Issend", "Ibsend", "Irsend")},
    **{one: one for one in ("ssend", "bsend", "issend", "ibsend")},
    **{"Send": "Ssend", "Isend": "Issend", "send": "ssend", "isend": "issend"},
}
"""The calls that send, and by which one they are made."""

SENDS_INIT = {"Send_init": "Ssend_init"} | {
    one: one for one in ("Ssend_init", "Bsend_init", "Rsend_init")
}
RECEIVES = ("Recv", "recv", "Irecv", "irecv", "Recv_init")
PROBES = ("Mprobe", "mprobe", "Improbe", "improbe")
EXCHANGES = ("Sendrecv", "sendrecv", "Isendrecv")
REPLACES = ("Sendrecv_replace", "Isendrecv_replace")

_ENDS = {"source": MPI.ANY_SOURCE, "tag": MPI.ANY_TAG}
_BOTH = {"sendtag": 0, "source": MPI.ANY_SOURCE, "recvtag": MPI.ANY_TAG}
_RECEIVE = ("buf", "source", "tag", "status")
_EXCHANGE = ("send", "dest", "sendtag", "recvbuf", "source", "recvtag", "status")
_REPLACE = ("buf", "dest", "sendtag", "source", "recvtag", "status")

Call = Callable[..., Any]


class Note:
    """What is kept with a request until it is complete."""

    def __init__(self, what: str, call: str, number: int) -> None:
        self.what, self.call, self.number = what, call, number
        self.receive: CheckedReceive | None = None
        self.spec: Any = None
        self.sum: int | None = None
        self.is_persistent = False
        self.started: Call | None = None


class Messages:
    """Makes the functions around calls that send, receive and complete requests."""

    def __init__(self, log: CallLog, inside: Inside) -> None:
        self._log = log
        self._inside = inside

    def of_communicators(self) -> list[tuple[Callable[[Call, str], Call], Collection[str]]]:
        """Return what makes the functions around calls of communicators, and their names."""
        return [
            (self.send, (*SENDS, *SENDS_INIT)),
            (self.receive, RECEIVES),
            (self.probe, PROBES),
            (self.exchange, (*EXCHANGES, *REPLACES)),
        ]

    def of_requests(self) -> list[tuple[Callable[[Call, str], Call], Collection[str]]]:
        """Return what makes the functions around calls of requests, and their names."""
        return [
            (self.complete, TESTS_AND_WAITS),
            (self.start, ("Start", "Startall")),
            (self.free, ("Free", "free")),
        ]

    # --- calls of communicators -----------------------------------------------------------------

    def send(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends, which another one may make."""
        inside, log, is_object = self._inside, self._log, name[0].islower()
        begins = name.lower().startswith("i") or name.endswith("_init")
        by = (SENDS | SENDS_INIT)[name]
        by = "" if by == name else by

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(("data", "dest", "tag"), {"tag": 0}, args, options)
            data = given.get("data", given.get("buf", given.get("obj")))
            known = log.known(self_)
            with inside:
                number = log.message(name, PICKLED if is_object else buffer(data))
                result = (getattr(self_, by) if by else partial(call, self_))(*args, **options)
            sent = partial(log.sent, known, given["dest"], given["tag"], number)
            if begins:
                return self.begun(result, name, number, None if is_object else data, sent)
            sent()
            return result

        return observed_call

    def receive(self, call: Call, name: str) -> Call:
        """Return the function around a call that receives."""
        inside, log = self._inside, self._log
        is_object, begins, prepares = name[0].islower(), name[0] in "iI", name.endswith("_init")

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(_RECEIVE, _ENDS, args, options)
            known = log.known(self_)
            number = log.message(name, PICKLED if is_object else buffer(given.get("buf")))
            post = partial(log.posted, known, given["source"], given["tag"], number)
            posted = None if prepares else post()
            if not begins and posted is not None and given.get("status") is None:
                given["status"] = MPI.Status()
            try:
                with inside:
                    result = call(self_, **given)
            except MPI.Exception as error:
                if error.error_class == MPI.ERR_TRUNCATE:
                    log.received(posted, given.get("status"))
                raise
            if begins or prepares:
                start = post if prepares else lambda: posted
                return self.begun(result, name, number, None, start)
            log.received(posted, given.get("status"))
            return result

        return observed_call

    def probe(self, call: Call, name: str) -> Call:
        """Return the function around a call that takes a message which is received later."""
        inside, log = self._inside, self._log

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(_RECEIVE[1:], _ENDS, args, options)
            given["status"] = given.get("status") or MPI.Status()
            number = log.message(name, UNKNOWN)
            with inside:
                result = call(self_, **given)
            if result is not None:
                posted = log.posted(log.known(self_), given["source"], given["tag"], number)
                log.received(posted, given["status"])
            return result

        return observed_call

    def exchange(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends and receives."""
        inside, log = self._inside, self._log
        is_object, begins = name[0].islower(), name[0] == "I"
        replaces = name in REPLACES
        named = list(_REPLACE if replaces else _EXCHANGE)
        if not replaces:
            named[0] = "sendobj" if is_object else "sendbuf"

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(named, _BOTH, args, options)
            known = log.known(self_)
            sent = PICKLED if is_object else buffer(given.get(named[0]))
            got = sent if replaces or is_object else buffer(given.get("recvbuf"))
            number = log.message(name, sent)
            posted = log.posted(known, given["source"], given["recvtag"], log.message(name, got))
            if not begins and given.get("status") is None:
                given["status"] = MPI.Status()
            with inside:
                result = call(self_, **given)
            log.sent(known, given["dest"], given["sendtag"], number)
            if begins:
                return self.begun(result, name, number, None, lambda: posted)
            log.received(posted, given["status"])
            return result

        return observed_call

    # --- requests -------------------------------------------------------------------------------

    def begun(self, result: Any, name: str, number: int, data: Any, start: Call) -> Any:
        """Return a new request with a note about it."""
        if not isinstance(result, MPI.Request):
            return result
        request: Any = result
        if type(result) is MPI.Prequest:
            request = Prequest(result)
        elif type(result) is MPI.Request:
            request = Request(result)
        note = request._check = Note(name, self._log.text(number), number)
        note.is_persistent = name.endswith("_init")
        note.spec = None if data is None else spec_of(data)
        if note.is_persistent:
            note.started = start
        else:
            note.receive = start()
            _sum(note)
        self._log.notes[id(note)] = note
        return request

    def start(self, call: Call, name: str) -> Call:
        """Return the function around a call that starts persistent requests: one, or several."""
        inside = self._inside

        def observed_call(requests: Any) -> Any:
            if inside.call:
                return call(requests)
            with inside:
                result = call(requests)
            for one in requests if name in OF_CLASS else (requests,):
                note: Note | None = getattr(one, "_check", None)
                if note is not None and note.started is not None:
                    note.what = f"{note.what.removesuffix(' started')} started"
                    note.receive = note.started()
                    _sum(note)
            return result

        return observed_call

    def complete(self, call: Call, name: str) -> Call:
        """Return the function around a call that may complete requests: one, or several."""
        inside, log, is_test = self._inside, self._log, "est" in name
        is_one = name not in OF_CLASS
        has_one_status = is_one or name[4:] == "any"

        def observed_call(requests: Any, *args: Any, **options: Any) -> Any:
            several: Sequence[Any] = (requests,) if is_one else requests
            notes: list[Note | None] = [getattr(one, "_check", None) for one in several]
            if inside.call or not any(notes):
                return call(requests, *args, **options)
            found: Any = next(iter((*args, *options.values())), None)
            if found is None:
                found = MPI.Status() if has_one_status else [MPI.Status() for _ in several]
            if not is_test:
                for note in filter(None, notes):
                    log.waits(note.what)
            with inside:
                result = call(requests, found)
            if is_one:
                places: Sequence[int] = (0,) if not is_test or is_flagged(result) else ()
            else:
                places = completed_places(name, result, len(several))
            for at, place in enumerate(places):
                if (done := notes[place]) is not None:
                    self._completed(several[place], done, found if has_one_status else found[at])
            return result

        return observed_call

    def free(self, call: Call, _name: str) -> Call:
        """Return the function around the call that frees a request."""
        inside, log = self._inside, self._log

        def observed_call(self_: Any) -> Any:
            note: Note | None = None if inside.call else getattr(self_, "_check", None)
            if note is not None:
                if note.is_persistent and not note.what.endswith(" started"):
                    log.fault("request", "a request is never started", note.call)
                log.notes.pop(id(note), None)
            with inside:
                return call(self_)

        return observed_call

    def _completed(self, request: Any, note: Note, status: MPI.Status) -> None:
        if note.sum is not None and note.sum != _sum_of(note.spec):
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
    if note.what.endswith(" started"):
        return "freed", "a persistent request is never freed"
    return "request", "a request is never started"


def _sum(note: Note) -> None:
    note.sum = None if note.spec is None else _sum_of(note.spec)


def _sum_of(spec: Any) -> int:
    return zlib.crc32(spec.pack())


def _named(
    names: Sequence[str],
    defaults: Mapping[str, Any],
    args: Sequence[Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    return {**defaults, **dict(zip(names, args, strict=False)), **options}
