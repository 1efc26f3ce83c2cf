"""Keeps what this rank has to tell of its calls where a run is checked, and tells it in time.

A call that is new is told before it is made, since it may never return or end the process. The
others are told some times a second by a thread of its own, and at the end of the program.
"""

from __future__ import annotations

import _thread
import sys
import time
from array import array
from hashlib import blake2b
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.checks.reports import NUMBERS
from runtime.home import HOME, OWN_FRAMES
from runtime.lazy_import import logger
from runtime.mpi.communicators.members import members_behind
from runtime.mpi.progress.predefined import predefined

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink

PAUSE = 0.2
"""How many seconds lie between two reports."""

MOST_PENDING = 100_000
"""So many calls are told at once, without waiting for that time to be over."""

_OWN = (f"{HOME}/runtime/", *OWN_FRAMES, "<frozen", f"{sys.base_prefix}/lib/")

_log = logger(__name__)


class KnownComm:
    """A communicator: what all members know it by, and how many collectives were made on it."""

    __slots__ = ("is_inter", "key", "members", "number", "peers", "rank", "rows", "size", "turn")

    def __init__(self, number: int, key: str, members: list[str], peers: list[str]) -> None:
        self.number, self.key, self.members, self.peers = number, key, members, peers
        self.is_inter = False
        self.rank = self.size = 0
        self.turn = 0
        self.rows = array(NUMBERS)


class CallLog:
    """The calls of this rank since its last report. Threads may share it."""

    def __init__(self, link: RankLink) -> None:
        self._wrapper = link.wrapper
        self._me = link.name
        self._lock = _thread.RLock()
        self._comms: dict[int, KnownComm | None] = {}
        self._made: dict[str, int] = {}
        self._calls: dict[tuple[Any, ...], tuple[int, CodeType]] = {}
        self._numbers = 0
        self._pending = 0
        self._new: dict[str, Any] = {"communicators": {}, "calls": {}, "faults": []}
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
            return self._comms[comm.handle]
        except KeyError:
            name = predefined().name_of(comm)
            if name is None:
                return None
            members, peers = self._ends(comm)
            return self._register(comm, _key(name, *members), "", members, peers)

    def made(self, comm: Any, parent: MPI.Comm, *, is_copy: bool = False) -> None:
        """Keep a communicator that a collective call on another one has just made."""
        if isinstance(comm, MPI.Comm) and comm and (origin := self.known(parent)) is not None:
            ends = (origin.members, origin.peers) if is_copy else self._ends(comm)
            key = _key(origin.key, str(origin.turn), *ends[0])
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
                self._comms[comm.handle] = None
                return None
            self._numbers += 1
            known = self._comms[comm.handle] = KnownComm(self._numbers, key, members, peers)
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
        cluster, is_alone = self._me.rpartition(":")[0], everybody.size == 1
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
                found = self._calls[key] = len(self._calls) + 1, code  # so that no id comes again
                self._new["calls"][found[0]] = [name, where(frame), *details]
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

    def fault(self, kind: str, text: str, call: str) -> None:
        """Keep a fault that this rank has found itself."""
        with self._lock:
            self._new["faults"].append([kind, text, call])

    def flush(self, code: int | None = None) -> None:
        """Tell what is new, and with which exit code the program has ended if it has."""
        with self._lock:
            if not (self._pending or self._new["faults"] or code is not None):
                return
            told, self._new = self._new, {"communicators": {}, "calls": {}, "faults": []}
            told["collectives"] = [[one.number, one.rows.tobytes()] for one in self._rows]
            for one in self._rows:
                one.rows = array(NUMBERS)
            self._rows.clear()
            self._pending = 0
            told["code"] = code
            self._wrapper.appeals.checked(self._wrapper.member, told)


def where(frame: FrameType) -> str:
    """Return the location of a frame: `ring.py:12`."""
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def _program_frame() -> FrameType:
    frame: FrameType = sys._getframe(2)
    while frame.f_code.co_filename.startswith(_OWN) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _key(*parts: str) -> str:
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
