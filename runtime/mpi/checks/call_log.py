"""Keeps what this rank has to tell of its calls where a run is checked, and tells it in time.

A call that is new is told before it is made, since it may never return or end the process. The
others are told some times a second by a thread of its own, and at the end of the program.
"""

from __future__ import annotations

import _thread
import sys
import time
from array import array
from collections import Counter
from functools import cache
from hashlib import blake2b
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.calls import SYNCHRONOUS
from runtime.checks.reports import (
    ANY_SOURCE,
    NO_ROOT,
    NUMBERS,
    OTHERS_AWAITED,
    SENDS_AWAITED,
    CheckedCall,
)
from runtime.home import HOME, OWN_FRAMES
from runtime.lazy_import import logger
from runtime.mpi.checks.records import CheckedReceive, Choice, KnownComm, WaitingMessage
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.progress.predefined import predefined
from runtime.part_names import cluster_of

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink

PAUSE = 0.2
"""How many seconds lie between two reports."""

MOST_PENDING = 100_000
"""So many calls are told at once, without waiting for that time to be over."""

_OWN = (f"{HOME}/runtime/", *OWN_FRAMES, "<frozen", f"{sys.base_prefix}/lib/")

_log = logger(__name__)


class CallLog:
    """The calls of this rank since its last report. Threads may share it."""

    def __init__(self, link: RankLink) -> None:
        self._wrapper = link.wrapper
        self._me = link.name
        self._lock = _thread.RLock()
        self._comms: dict[int, KnownComm | None] = {}
        self._made: dict[str, int] = {}
        self._calls: dict[tuple[Any, ...], tuple[int, CodeType]] = {}
        self._described: list[list[Any]] = []
        self._counted: set[int] = set()
        self._sent: Streams = {}
        self._received: Streams = {}
        self._taken: Counter[Stream] = Counter()
        self._chosen: set[tuple[int, WaitingMessage]] = set()
        self._owned: dict[tuple[str, int], tuple[str, str]] = {}
        self.notes: dict[int, Any] = {}
        """What is known of requests that are not complete."""
        self._numbers = 0
        self._pending = 0
        self._new = _nothing_new()
        self._rows: set[KnownComm] = set()

    def start(self) -> None:
        """Tell what is new from now on."""
        _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            while True:
                time.sleep(PAUSE)
                self.flush()
        except Exception:  # whatever is wrong with it, the program goes on
            _log.exception("the calls of this rank are not checked any more")

    # --- communicators --------------------------------------------------------------------------

    def known(self, comm: MPI.Comm) -> KnownComm | None:
        """Return what is known of a communicator; None of one that is not checked.

        Those of one rank have nobody to compare with, and of those that came about in another way
        than by a checked call nobody knows what others know them by.
        """
        try:
            return self._comms[handle_of(comm)]
        except KeyError:
            name = predefined().name_of(comm)
            if name is None:
                return None
            members, peers = self._ends(comm)
            return self._register(comm, _key(name, *members), "", members, peers)

    def made(
        self, comm: Any, parent: MPI.Comm, *, is_copy: bool = False, turn: int | None = None
    ) -> None:
        """Keep a communicator that a collective call on another one has made.

        That is its latest one, or the one of that turn.
        """
        if isinstance(comm, MPI.Comm) and comm and (origin := self.known(parent)) is not None:
            ends = (origin.members, origin.peers) if is_copy else self._ends(comm)
            key = _key(origin.key, str(origin.turn if turn is None else turn), *ends[0])
            self._register(comm, key, origin.key, *ends)

    def made_by_group(self, comm: Any, tag: object) -> None:
        """Keep a communicator that its members have made, without the others of its parent."""
        if isinstance(comm, MPI.Comm) and comm:
            members, peers = self._ends(comm)
            key = _key("group", str(tag), *members)
            count = self._made[key] = self._made.get(key, 0) + 1
            self._register(comm, _key(key, str(count)), "", members, peers)

    def freed(self, handle: int) -> None:
        """Forget a communicator whose handle may come again."""
        with self._lock:
            self._comms.pop(handle, None)

    def _register(
        self, comm: MPI.Comm, key: str, origin: str, members: list[str], peers: list[str]
    ) -> KnownComm | None:
        with self._lock:
            if len(members) < 2:
                self._comms[handle_of(comm)] = None
                return None
            self._numbers += 1
            known = self._comms[handle_of(comm)] = KnownComm(self._numbers, key, members, peers)
            known.is_inter = members != peers
            known.rank, known.size = MPI.Comm.Get_rank(comm), len(peers)
            if (behind := members_behind(comm)) is not None:
                known.rank = behind.rank
            name = MPI.Comm.Get_name(comm)
            self._new["communicators"][known.number] = [key, name, origin, members, peers]
            return known

    def _ends(self, comm: MPI.Comm) -> tuple[list[str], list[str]]:
        """Return the names of all members, and of those that ranks in calls refer to."""
        if (m := members_behind(comm)) is not None:
            group, peers = ([m.engine.process_of(one) for one in of] for of in (m.group, m.peers))
        else:
            group = peers = self._names(MPI.Comm.Get_group(comm))
            if MPI.Comm.Is_inter(comm):
                peers = self._names(MPI.Intercomm.Get_remote_group(comm))  # type: ignore[arg-type]
        return (peers, peers) if group == peers else (sorted({*group, *peers}), peers)

    def _names(self, group: MPI.Group) -> list[str]:
        everybody = MPI.COMM_WORLD.Get_group()
        places = MPI.Group.Translate_ranks(group, range(group.size), everybody)
        cluster, is_alone = cluster_of(self._me), everybody.size == 1
        group.Free()
        everybody.Free()
        return [self._me if is_alone else f"{cluster}:{place}" for place in places]

    # --- calls ----------------------------------------------------------------------------------

    def call(self, name: str, *details: Any) -> int:
        """Return the number of a call of the program; one that is new is told at once."""
        frame = _program_frame()
        code = frame.f_code
        key = (id(code), frame.f_lasti, name, *details)
        found = self._calls.get(key)
        if found is None:
            with self._lock:
                found = self._calls[key] = len(self._calls), code  # so that no id comes again
                described = self._new["calls"][found[0]] = [name, where(frame), *details]
                self._described.append(described)
        return found[0]

    def collective(self, known: KnownComm, number: int) -> None:
        """Keep that a collective is made."""
        with self._lock:
            known.turn += 1
            known.rows.append(number)
            self._rows.add(known)
            self._pending += 1
            is_due = self._new["calls"] or self._pending >= MOST_PENDING
        if is_due:
            self.flush()

    def text(self, number: int) -> str:
        """Describe a call."""
        return str(CheckedCall(*self._described[number]))

    # --- messages -------------------------------------------------------------------------------

    def message(self, name: str, data: tuple[str, int | None], source: Any = None) -> int:
        """Return the number of a call that sends, or receives from a source."""
        is_any = source == MPI.ANY_SOURCE
        return self.call(name, "", ANY_SOURCE if is_any else NO_ROOT, *data, "")

    def sent(self, comm: KnownComm | None, dest: Any, tag: Any, number: int) -> None:
        """Keep that a message was sent."""
        if comm is not None and self._is_ordered(comm) and _is_rank(dest, comm) and _is_tag(tag):
            self._count(self._sent, (comm, dest, tag), number)

    def posted(
        self, comm: KnownComm | None, source: Any, tag: Any, number: int, choice: Choice = ()
    ) -> CheckedReceive | None:
        """Keep that a message is going to be received."""
        if comm is None or source == MPI.PROC_NULL or not self._is_ordered(comm):
            return None
        made = CheckedReceive(comm, source, tag, number, choice)
        with self._lock:
            comm.posted.append(made)
        return made

    def received(self, posted: CheckedReceive | None, status: MPI.Status | None) -> None:
        """Keep that a receive is over, and by what message if it was not cancelled."""
        if posted is None or status is None:
            return
        comm = posted.comm
        with self._lock:
            source = status.source if posted.source == MPI.ANY_SOURCE else posted.source
            if source == MPI.ANY_SOURCE:
                return  # a status that does not tell; what was posted later stays untold, too
            posted.is_over = True
            tag = status.tag if posted.tag == MPI.ANY_TAG else posted.tag
            is_real = not status.Is_cancelled() and source != MPI.PROC_NULL
            posted.source, posted.tag = (source, tag) if is_real else (None, None)
            while comm.posted and comm.posted[0].is_over:
                one = comm.posted.popleft()
                if one.source is not None:
                    self._choose(one)
                    self._taken[comm, one.source, one.tag] += 1
                    self._count(self._received, (comm, one.source, one.tag), one.number)

    def _choose(self, posted: CheckedReceive) -> None:
        """Keep which messages a receive might have taken, once of those that are alike."""
        new = {(posted.number, one) for one in posted.choice} - self._chosen
        if new:
            self._chosen |= new
            comm = posted.comm
            rows = [[one.source, one.tag, self._taken[comm, one.source, one.tag]]
                    for one in posted.choice]  # fmt: skip
            self._new["choices"].append([comm.number, posted.number, rows])

    def _is_ordered(self, comm: KnownComm) -> bool:
        thread = _thread.get_ident()
        comm.thread = comm.thread or thread
        comm.is_shared = comm.is_shared or comm.thread != thread
        return not comm.is_shared

    def _count(self, streams: Streams, stream: Stream, number: int) -> None:
        with self._lock:
            rows = streams.setdefault(stream, [])
            if rows and rows[-1][0] == number:
                rows[-1][1] += 1
            else:
                rows.append([number, 1])
                self._pending += 1
            is_due = number not in self._counted or self._pending >= MOST_PENDING
            self._counted.add(number)
        if is_due:
            self.flush()

    def waits(self, number: int, *, for_others: bool = False) -> None:
        """Keep that the program waits for a send that was made synchronous, and where.

        `number` is that of the call that began it. With messages that it waits for, too, nobody
        knows which of them do not come.
        """
        name, _, _, _, kind, size, _ = self._described[number]
        if name in SYNCHRONOUS:
            what = OTHERS_AWAITED if for_others else SENDS_AWAITED
            self.call(name, "", what, kind, size, "")

    # --- what is to be freed ---------------------------------------------------------------------

    def owns(self, kind: str, handle: int, name: str, place: str = "") -> None:
        """Keep that the program has to free something that it makes, here, by such a call."""
        self._owned[kind, handle] = kind, f"{name} ({place or where(_program_frame())})"

    @staticmethod
    def here() -> str:
        """Return the file and line at which the program makes a call now."""
        return where(_program_frame())

    def released(self, kind: str, handle: int) -> None:
        """Keep that it was freed."""
        self._owned.pop((kind, handle), None)

    def left(self) -> list[tuple[str, str]]:
        """Return what was not freed: its kind, and the call that made it."""
        return list(self._owned.values())

    # --- reports --------------------------------------------------------------------------------

    def fault(self, kind: str, text: str, call: str) -> None:
        """Keep a fault that this rank has found itself."""
        with self._lock:
            self._new["faults"].append([kind, text, call])

    def flush(self, code: int | None = None) -> None:
        """Tell what is new, and with which exit code the program has ended if it has."""
        with self._lock:
            has_news = self._pending or self._new["calls"] or self._new["faults"]
            if not has_news and code is None:
                return
            told, self._new = self._new, _nothing_new()
            told["collectives"] = [[one.number, one.rows.tobytes()] for one in self._rows]
            for one in self._rows:
                one.rows = array(NUMBERS)
            self._rows.clear()
            for name, streams in (("sends", self._sent), ("receives", self._received)):
                told[name] = [[comm.number, *ends, rows] for (comm, *ends), rows in streams.items()]
                streams.clear()
            self._pending = 0
            told["code"] = code
            self._wrapper.appeals.checked(self._wrapper.member, told)


Stream = tuple[KnownComm, int, int]
"""Communicator, peer and tag of messages."""

Streams = dict[Stream, list[list[int]]]
"""Calls by their messages: each with how often it came in a row."""


def _nothing_new() -> dict[str, Any]:
    return {"communicators": {}, "calls": {}, "choices": [], "faults": []}


def _is_rank(rank: Any, comm: KnownComm) -> bool:
    return type(rank) is int and 0 <= rank < comm.size


def _is_tag(tag: Any) -> bool:
    return type(tag) is int and tag >= 0


handle_of = MPI.Comm.handle.__get__  # type: ignore[attr-defined]  # it is a descriptor
"""The handle of a communicator, also where programs get none because it spans clusters."""


def where(frame: FrameType) -> str:
    """Return the location of a frame: `ring.py:12`."""
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def _program_frame() -> FrameType:
    frame: FrameType = sys._getframe(2)
    while _is_own(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


@cache
def _is_own(file: str) -> bool:
    return file.startswith(_OWN)


def _key(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
