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
from runtime.mpi.checks.choices import ReceiveChoices
from runtime.mpi.requests.parts import completed_places, is_flagged
from runtime.mpi.requests.requests import Prequest, Request

if TYPE_CHECKING:
    from runtime.mpi.checks.call_log import CallLog, CheckedReceive, KnownComm

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
TAKEN_BY_PROBES = ("Mprobe", "mprobe", "Improbe", "improbe")
PROBES = ("Probe", "probe", "Iprobe", "iprobe", *TAKEN_BY_PROBES)
EXCHANGES = ("Sendrecv", "sendrecv", "Isendrecv")
REPLACES = ("Sendrecv_replace", "Isendrecv_replace")

SEVERAL = {
    f"{kind}{which}"
    for kind in ("Wait", "wait", "Test", "test")
    for which in ("all", "any", "some")
} | {"Startall"}
"""The calls of several requests, which belong to the class."""

_ENDS = {"source": MPI.ANY_SOURCE, "tag": MPI.ANY_TAG}
_BOTH = {"sendtag": 0, "source": MPI.ANY_SOURCE, "recvtag": MPI.ANY_TAG}
_RECEIVE = ("buf", "source", "tag", "status")
_EXCHANGE = ("send", "dest", "sendtag", "recvbuf", "source", "recvtag", "status")
_REPLACE = ("buf", "dest", "sendtag", "source", "recvtag", "status")

Call = Callable[..., Any]


class Note:
    """What is kept with a request until it is complete."""

    __slots__ = ("call", "is_persistent", "number", "receive", "spec", "started", "sum", "what")

    def __init__(self, what: str, call: str, number: int) -> None:
        self.what, self.call, self.number = what, call, number
        self.receive: CheckedReceive | None = None
        self.spec: Any = None
        self.sum: int | None = None
        self.is_persistent = False
        self.started: Call | None = None


class Messages:
    """Makes the functions around calls that send, receive and complete requests."""

    def __init__(self, log: CallLog, inside: Any) -> None:
        self._log = log
        self._inside = inside
        self._choices = ReceiveChoices()

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
            (self.complete_one, ("Wait", "wait", "Test", "test")),
            (self.complete_several, SEVERAL - {"Startall"}),
            (self.start, ("Start",)),
            (self.start_all, ("Startall",)),
            (self.free, ("Free", "free")),
        ]

    # --- calls of communicators -----------------------------------------------------------------

    def send(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends, which another one may make."""
        inside, log, is_object = self._inside, self._log, name[0].islower()
        begins = name.lower().startswith("i") or name.endswith("_init")
        named, by = ("data", "dest", "tag"), (SENDS | SENDS_INIT)[name]
        by = "" if by == name else by

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(named, {"tag": 0}, args, options)
            data = given.get("data", given.get("buf", given.get("obj")))
            known = log.known(self_)
            inside.call = True
            try:
                number = log.message(name, PICKLED if is_object else buffer(data))
                result = (getattr(self_, by) if by else partial(call, self_))(*args, **options)
            finally:
                inside.call = False
            started = _Sent(log, known, given, number)
            if begins:
                return self.begun(result, name, number, None if is_object else data, started)
            started()
            return result

        return observed_call

    def receive(self, call: Call, name: str) -> Call:
        """Return the function around a call that receives."""
        inside, log, choices = self._inside, self._log, self._choices
        is_object, is_persistent = name[0].islower(), name.endswith("_init")
        begins = name[0] in "iI" or is_persistent

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(_RECEIVE, _ENDS, args, options)
            known = log.known(self_)
            room = PICKLED if is_object else buffer(given.get("buf"))
            number = log.message(name, room, given["source"])
            posted, is_own = None, not begins and given.get("status") is None
            inside.call = True
            try:
                if not is_persistent:
                    choice = choices.choose(
                        self_, known, given, "tag", number, room=room[1], blocks=not begins
                    )
                    posted = log.posted(known, given["source"], given["tag"], number, choice)
                if is_own:
                    given["status"] = MPI.Status()
                result = call(self_, **given)
            except Exception as error:
                is_long = isinstance(error, MPI.Exception) and error.error_class == MPI.ERR_TRUNCATE
                if is_long or (is_own and given["status"].source != MPI.ANY_SOURCE):
                    log.received(posted, given.get("status"))  # it has come, and does not fit
                raise
            finally:
                inside.call = False
            if not begins:
                log.received(posted, given.get("status"))
                return result

            def start() -> CheckedReceive | None:
                return log.posted(known, given["source"], given["tag"], number)

            made = self.begun(result, name, number, None, start)
            if (note := getattr(made, "_check", None)) is not None:
                note.receive = posted
            return made

        return observed_call

    def probe(self, call: Call, name: str) -> Call:
        """Return the function around a call that finds a message, which it may take, too."""
        inside, log, choices = self._inside, self._log, self._choices
        takes, blocks = name in TAKEN_BY_PROBES, name[0] not in "iI"

        def observed_call(self_: Any, *args: Any, **options: Any) -> Any:
            if inside.call:
                return call(self_, *args, **options)
            given = _named(_RECEIVE[1:], _ENDS, args, options)
            given["status"] = given.get("status") or MPI.Status()
            number, known = log.message(name, UNKNOWN, given["source"]), log.known(self_)
            inside.call = True
            try:
                choice = choices.choose(self_, known, given, "tag", number, blocks=blocks)
                result = call(self_, **given)
            finally:
                inside.call = False
            if takes and result is not None:
                posted = log.posted(known, given["source"], given["tag"], number, choice)
                log.received(posted, given["status"])
            return result

        return observed_call

    def exchange(self, call: Call, name: str) -> Call:
        """Return the function around a call that sends and receives."""
        inside, log, choices = self._inside, self._log, self._choices
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
            number, receive = log.message(name, sent), log.message(name, got, given["source"])
            if not begins and given.get("status") is None:
                given["status"] = MPI.Status()
            inside.call = True
            try:
                choice = choices.choose(self_, known, given, "recvtag", receive, room=got[1])
                posted = log.posted(known, given["source"], given["recvtag"], receive, choice)
                result = call(self_, **given)
            finally:
                inside.call = False
            ends = {"dest": given["dest"], "tag": given["sendtag"]}
            _Sent(log, known, ends, number)()
            if not begins:
                log.received(posted, given["status"])
                return result
            made = self.begun(result, name, number, None, lambda: None)
            made._check.receive = posted
            return made

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

    def start(self, call: Call, _name: str) -> Call:
        """Return the function around the call that starts a persistent request."""
        inside = self._inside

        def observed_call(self_: Any) -> Any:
            if inside.call:
                return call(self_)
            inside.call = True
            try:
                result = call(self_)
            finally:
                inside.call = False
            self._started(self_)
            return result

        return observed_call

    def start_all(self, call: Call, _name: str) -> Call:
        """Return the function around the call that starts several."""
        inside = self._inside

        def observed_call(requests: Sequence[Any]) -> Any:
            if inside.call:
                return call(requests)
            inside.call = True
            try:
                result = call(requests)
            finally:
                inside.call = False
            for one in requests:
                self._started(one)
            return result

        return observed_call

    def _started(self, request: Any) -> None:
        note: Note | None = getattr(request, "_check", None)
        if note is not None and note.started is not None:
            note.what = f"{note.what.removesuffix(' started')} started"
            note.receive = note.started()
            _sum(note)

    def complete_one(self, call: Call, name: str) -> Call:
        """Return the function around a call that may complete one request."""
        inside, log, is_test = self._inside, self._log, "est" in name

        def observed_call(self_: Any, status: Any = None) -> Any:
            if inside.call:
                return call(self_, status)
            note: Note | None = getattr(self_, "_check", None)
            if note is None:
                return call(self_, status)
            status = MPI.Status() if status is None else status
            if not is_test:
                log.waits(note.what)
            inside.call = True
            try:
                result = call(self_, status)
            finally:
                inside.call = False
            if not is_test or is_flagged(result):
                self._completed(self_, note, status)
            return result

        return observed_call

    def complete_several(self, call: Call, name: str) -> Call:
        """Return the function around a call that may complete several requests."""
        inside, log = self._inside, self._log
        is_test, is_any = "est" in name, name[4:] == "any"

        def observed_call(requests: Sequence[Any], statuses: Any = None) -> Any:
            if inside.call:
                return call(requests, statuses)
            notes: list[Note | None] = [getattr(one, "_check", None) for one in requests]
            if any(notes) and statuses is None:
                statuses = MPI.Status() if is_any else [MPI.Status() for _ in requests]
            if not is_test:
                for note in filter(None, notes):
                    log.waits(note.what)
            inside.call = True
            try:
                result = call(requests, statuses)
            finally:
                inside.call = False
            for at, place in enumerate(completed_places(name, result, len(requests))):
                if (done := notes[place]) is not None:
                    self._completed(requests[place], done, statuses if is_any else statuses[at])
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
            inside_before, inside.call = inside.call, True
            try:
                return call(self_)
            finally:
                inside.call = inside_before

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


class _Sent:
    """Keeps that a message was sent, once or whenever a persistent request is started."""

    def __init__(self, log: CallLog, known: KnownComm | None, given: Any, number: int) -> None:
        self._log, self._known, self._given, self._number = log, known, given, number

    def __call__(self) -> None:
        self._log.sent(self._known, self._given["dest"], self._given["tag"], self._number)


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
