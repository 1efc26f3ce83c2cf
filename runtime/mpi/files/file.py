"""A file over several clusters, as one process has it: its view, its pointers, its way to the home.

One process, the home, has opened the file. All others ask it, by requests to its port; so does it
itself, so that there is one order of all accesses. An access is answered once it is written, or
read: what a blocking call has written any rank can read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from mpi4py import MPI

from runtime.files.accesses import requests_of
from runtime.files.faults import FileFault
from runtime.files.home import FileHome
from runtime.files.modes import OpenMode, check_random_access, check_use
from runtime.files.requests import LAST_PLACE, FileHeader, FileRequestKind
from runtime.files.views import BYTES, View
from runtime.mpi.communicators.groups import group_of
from runtime.mpi.errors import FailureError
from runtime.mpi.files.access import AccessQueue, AskedHome, FileAccess, Number, as_mpi_error
from runtime.mpi.files.agreeing import agree, name_of_class
from runtime.mpi.files.disk import FileThread, OpenFile
from runtime.mpi.progress.mailboxes import HEAD, SERVED
from runtime.mpi.requests.requests import new_request
from runtime.mpi.values.numbers import count as as_count
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import read
from runtime.mpi.windows.layouts import layout_of
from runtime.mpi.windows.waiting import FirstError, WindowLosses
from runtime.services import BodyHere, Effect
from runtime.topology import member_in_words
from runtime.windows.runs import bounds_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.files.accesses import AccessPiece
    from runtime.files.home import DiskJob, DiskOutcome
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers

_log = logging.getLogger(__name__)

_READ, _WRITE = FileRequestKind.READ, FileRequestKind.WRITE


class GridFile:
    """One process's part of a file; `comm` is its own duplicate of the communicator.

    Methods have the names and arguments of MPI's. They raise `FileFault` and `MPI.Exception`, which
    the caller turns into MPI's errors.
    """

    def __init__(
        self,
        comm: Any,
        parent: CommunicatorMembers,
        native: MPI.File,
        *,
        home: int,
        path: str,
        mode: OpenMode,
        amode: int,
        info: Mapping[str, str],
    ) -> None:
        """Be a file whose home is a rank of the communicator; `open_here` follows there."""
        self.comm, self.native, self.path = comm, native, path
        self.faces: WeakValueDictionary[int, MPI.File] = WeakValueDictionary()
        """What the program has of it, by identity: copies of one handle."""
        m: CommunicatorMembers = comm._members
        self.members = m
        self.engine: Engine = m.engine
        self.home = m.peers[home]
        self.home_in_words = member_in_words(home, m.engine.name_of(self.home))
        self.is_here = self.home == m.engine.me
        self._mode, self._amode, self._info = mode, amode, dict(info)
        self._losses = WindowLosses(parent.recovery, m.recovery, m.engine.name_of, "file", "Close")
        self._disk: OpenFile | None = None
        self._thread: FileThread | None = None
        self._served: FileHome | None = None
        self._asked: dict[int, AskedHome] = {}
        self._unfinished: list[FileAccess] = []
        self._token = self._position = 0
        self._accesses = count(1)
        self._is_atomic, self._queue = False, AccessQueue()
        self._split: tuple[str, FileAccess] | None = None
        self._view, self._types, self._representation = BYTES, (MPI.BYTE, MPI.BYTE), "native"
        self._head = HEAD.pack(m.context, True, m.engine.me, SERVED)

    def open_here(self) -> None:
        """Open the file, which others will ask for. Raises FileFault."""
        self._disk = OpenFile(self.path, self._mode)
        self.path = self._disk.path
        self._thread = FileThread(self._disk, self._finished)
        self._served = FileHome(self._thread.begin)

    def serve(self) -> None:
        """Hear requests and answers from now on."""
        with self.engine.lock:
            self.engine.services().open(self.members.context, self)

    def abandon(self) -> None:
        """Give up a file that not all ranks could open."""
        if self._thread is not None:
            self._thread.end()
        if self._disk is not None:
            self._disk.close()

    @property
    def appends(self) -> bool:
        """Whether its pointers begin at its end."""
        return bool(self._mode & OpenMode.APPEND)

    def begin_at_end(self) -> None:
        """Let the pointers begin at the end of the file; all ranks call it."""
        self._position = self.Get_size()
        self._together(lambda: self._set_shared(self._position))

    # --- the service ------------------------------------------------------------------------------

    def admits(self, source: int) -> bool:
        """Return whether the next request of a process can be heard now."""
        return self._served is None or self._served.admits(source)

    def may_wait(self, header: bytes) -> bool:
        """Return whether requests behind this one may have to wait."""
        return self._served is not None and self._served.may_wait(FileHeader.of(header))

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:
        """Return where the data of an answer go; those of a request have memory of their own."""
        told = FileHeader.of(header)
        if told.kind != FileRequestKind.ANSWER:
            if self._served is not None:
                self._served.begins(source, size)
            return None
        asked = self._asked.get(told.token) if source == self.home else None
        is_answer = told.kind == FileRequestKind.ANSWER and not told.flags
        return asked.room(told.token, size) if is_answer and asked is not None else None

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        """Hear a request, or take an answer."""
        told = FileHeader.of(header)
        if told.kind == FileRequestKind.ANSWER:
            asked = self._asked.pop(told.token, None) if source == self.home else None
            if asked is not None:
                asked.answer(told.token, told, body)
            return ()
        return () if self._served is None else self._served.handle(source, told, body)

    def lost(self, source: int) -> Iterable[Effect]:
        """Go on without a lost process; what waits for it finds out itself."""
        return () if self._served is None else self._served.lost(source)

    def broken(self, source: int, fault: Exception) -> Iterable[Effect]:
        """Give the file up: a process has sent what cannot be read."""
        text = (
            f"the file was given up here, since {self.engine.name_of(source)} has sent what cannot"
            f" be read ({type(fault).__name__}: {fault}). Do all ranks have the same version?"
        )
        self._losses.break_off(as_mpi_error(FileFault("ERR_OTHER", text)))
        return ()

    def _finished(self, job: DiskJob, outcome: DiskOutcome) -> None:
        """Answer what the thread has done."""
        engine, served = self.engine, self._served
        assert served is not None, "it has begun the job"
        with engine.lock:
            try:
                engine.services().carry_out(self.members.context, served.finished(job, outcome))
            except Exception as fault:  # the thread has other jobs to do
                text = f"the file was given up here: {type(fault).__name__}: {fault}"
                self._losses.break_off(as_mpi_error(FileFault("ERR_OTHER", text)))
                _log.exception("what was done with a file could not be told")
            if engine.connections is not None:
                engine.connections.wake()  # whoever drives has to see it, too

    # --- requests ---------------------------------------------------------------------------------

    @property
    def trouble(self) -> Exception | None:
        """Why nothing is answered any more: the communicator is closed, or the home is lost."""
        return self.engine.losses.of(self.home) or self._losses.error

    def ask(self, header: FileHeader, asked: AskedHome, body: Sequence[memoryview] = ()) -> int:
        """Send a request that is answered; return its token. The lock is held."""
        self._token += 1
        token = self._token
        self._asked[token] = asked
        try:
            self.send(header._replace(token=token), body)
        except BaseException:
            del self._asked[token]
            raise
        return token

    def send(self, header: FileHeader, body: Sequence[memoryview]) -> None:
        """Send a request to the home. The lock is held."""
        engine, m = self.engine, self.members
        if (trouble := self.trouble) is not None:
            raise trouble
        if self.is_here:
            data = body[0] if len(body) == 1 else b"".join(body)
            engine.services().arrived(m.context, header.packed(), BodyHere(self.home, data))
            return
        if engine.connections is None:
            raise RuntimeError("the connections are closed")
        engine.connections.send(self.home, self._head + header.packed(), tuple(body))
        engine.wake()

    def _number(self, kind: FileRequestKind, length: int = 0) -> int:
        """Ask the home for a number, and wait for it."""
        asked = Number(self)
        with self.engine.lock:
            self.ask(FileHeader(kind, length=length), asked)
        self.engine.waits.wait_for(asked)
        return asked.number

    def _together(
        self, call: Callable[[], object], value: object = None, problem: Exception | None = None
    ) -> None:
        """Let one rank call something for all, between everything before and after it.

        A `problem` of any rank keeps it from that, and so do values that differ: all raise it.
        """
        self._wait_for_own()
        told = agree(self.comm, problem, value)
        if any(one != told[0] for one in told):
            raise FileFault("ERR_NOT_SAME", f"the ranks call it with {_different(told)}")
        if self.members.rank == 0:
            try:
                call()
            except FailureError:
                self._give_up()  # the others wait for this process
                raise
            except Exception as error:  # whatever it is, the others wait to hear of it
                problem = error
        wrong = self.comm.bcast(None if problem is None else name_of_class(problem), 0)
        if problem is not None:
            raise problem
        if wrong is not None:
            raise FileFault(*wrong)

    def _wait_for_own(self) -> None:
        begun, self._unfinished = self._unfinished, []
        for one in begun:  # an error of one is told by its request
            self.engine.waits.wait(one.test, lambda one=one: [] if one.done else [one])  # type: ignore[misc]  # a default of a lambda

    # --- accesses ---------------------------------------------------------------------------------

    def _begin(
        self, buffer: Any, offset: int | None, *, reads: bool, shared: bool = False
    ) -> FileAccess:
        """Begin an access at an offset, at the pointer of this process, or at the shared one."""
        check_use(self._mode, reads=reads, shared=shared)
        return self._begin_allowed(buffer, offset, reads=reads, shared=shared)

    def _begin_allowed(
        self, buffer: Any, offset: int | None, *, reads: bool, shared: bool = False
    ) -> FileAccess:
        """Begin an access that the mode of the file is known to allow."""
        spec = read(buffer, readonly=not reads)
        size, unit = spec.nbytes, self._view.unit
        self._check_size(size)
        if offset is not None and offset < 0:
            raise FileFault("ERR_ARG", f"the offset {offset} is negative")
        then: Callable[[int], object] | None = None
        if reads:
            view = spec.view
            memory = memoryview(bytearray(size)) if view is None else view
            if view is None:
                then = lambda count: spec.unpack(memory[:count])  # noqa: E731
        else:
            memory = spec.pack()
        memory = memory if memory.format == "B" else memory.cast("B")
        access = FileAccess(self, memory, then)
        pieces: list[AccessPiece] = []
        if not shared:
            if offset is None:
                with self.engine.lock:
                    offset = self._position
                    self._position += size // unit
            pieces = self._pieces(offset, size, reads=reads)
        with self.engine.lock:
            if shared:
                self._begin_shared(access, size, reads=reads)
            else:
                access.begin(pieces, self._queue)
            self._unfinished = [one for one in self._unfinished if not one.done]
            self._unfinished.append(access)
        return access

    def _check_size(self, size: int) -> None:
        unit = self._view.unit
        if size % unit:
            text = f"{size} bytes are no whole number of elementary types of {unit} bytes"
            raise FileFault("ERR_IO", text)

    def _pieces(self, offset: int, size: int, *, reads: bool) -> list[AccessPiece]:
        """Return the requests of an access; raises FileFault.

        That takes long in a view of many small blocks: others go on if the lock is not held.
        """
        runs = self._view.runs_of(offset, size)
        if (end := bounds_of(runs)[1]) > LAST_PLACE:  # or the lock of an atomic one would stay
            raise FileFault("ERR_ARG", f"the access would end at {end}: no file is so long")
        number = next(self._accesses)
        return [*requests_of(_READ if reads else _WRITE, runs, number, atomic=self._is_atomic)]

    def _begin_at(self, access: FileAccess, offset: int, size: int, *, reads: bool) -> None:
        try:
            access.begin(self._pieces(offset, size, reads=reads), self._queue)
        except FileFault as fault:
            access.fail(fault)

    def _begin_shared(self, access: FileAccess, size: int, *, reads: bool) -> None:
        """Begin an access where the shared pointer is once the home has told it."""
        pointer = _Pointer(
            self, access, lambda offset: self._begin_at(access, offset, size, reads=reads)
        )
        header = FileHeader(FileRequestKind.POINTER, length=size // self._view.unit)
        self.ask(header, pointer)

    def _begin_in_order(self, buffer: Any, *, reads: bool) -> FileAccess:
        """Begin an access of all ranks, one behind the other in their order."""
        problem: Exception | None = None
        units = 0
        try:
            check_use(self._mode, reads=reads, shared=True)
            size = read(buffer, readonly=not reads).nbytes
            self._check_size(size)
            units = size // self._view.unit
        except Exception as error:
            problem = error
        sizes = agree(self.comm, problem, units)
        base: list[int] = []
        self._together(lambda: base.append(self._number(FileRequestKind.POINTER, sum(sizes))))
        first = self.comm.bcast(base[0] if base else None, 0)
        place = first + sum(sizes[: self.members.rank])
        return self._begin_allowed(buffer, place, reads=reads)

    def _end(self, access: FileAccess, status: MPI.Status | None) -> None:
        self.engine.waits.wait_for(access)
        access.fill(status)

    def _request(self, access: FileAccess) -> MPI.Request:
        return new_request(self.members, access)

    def _begin_split(self, name: str, begin: Callable[[], FileAccess]) -> None:
        if self._split is not None:
            text = f"{self._split[0]}_begin was called, and {self._split[0]}_end not yet"
            raise FileFault("ERR_OTHER", text)
        self._split = name, begin()

    def _end_split(self, name: str, status: MPI.Status | None) -> None:
        if self._split is None or self._split[0] != name:
            begun = "nothing" if self._split is None else f"{self._split[0]}_begin"
            raise FileFault("ERR_OTHER", f"{name}_begin was not called, but {begun}")
        access, self._split = self._split[1], None
        self._end(access, status)

    def Read_at(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Read from an offset on."""
        self._end(self._begin(buf, as_count(offset), reads=True), status)

    def Write_at(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Write from an offset on."""
        self._end(self._begin(buf, as_count(offset), reads=False), status)

    def Read(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Read where the pointer of this process is."""
        self._end(self._begin(buf, None, reads=True), status)

    def Write(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Write where the pointer of this process is."""
        self._end(self._begin(buf, None, reads=False), status)

    def Read_shared(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Read where the pointer of all is."""
        self._end(self._begin(buf, None, reads=True, shared=True), status)

    def Write_shared(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Write where the pointer of all is."""
        self._end(self._begin(buf, None, reads=False, shared=True), status)

    def Read_ordered(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Read one rank after the other."""
        self._end(self._begin_in_order(buf, reads=True), status)

    def Write_ordered(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Write one rank after the other."""
        self._end(self._begin_in_order(buf, reads=False), status)

    Read_at_all, Write_at_all, Read_all, Write_all = Read_at, Write_at, Read, Write

    def Iread_at(self, offset: int, buf: Any) -> MPI.Request:
        """Begin to read from an offset on."""
        return self._request(self._begin(buf, as_count(offset), reads=True))

    def Iwrite_at(self, offset: int, buf: Any) -> MPI.Request:
        """Begin to write from an offset on."""
        return self._request(self._begin(buf, as_count(offset), reads=False))

    def Iread(self, buf: Any) -> MPI.Request:
        """Begin to read where the pointer of this process is."""
        return self._request(self._begin(buf, None, reads=True))

    def Iwrite(self, buf: Any) -> MPI.Request:
        """Begin to write where the pointer of this process is."""
        return self._request(self._begin(buf, None, reads=False))

    def Iread_shared(self, buf: Any) -> MPI.Request:
        """Begin to read where the pointer of all is."""
        return self._request(self._begin(buf, None, reads=True, shared=True))

    def Iwrite_shared(self, buf: Any) -> MPI.Request:
        """Begin to write where the pointer of all is."""
        return self._request(self._begin(buf, None, reads=False, shared=True))

    Iread_at_all, Iwrite_at_all, Iread_all, Iwrite_all = Iread_at, Iwrite_at, Iread, Iwrite

    def Read_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to read from an offset on."""
        self._begin_split("Read_at_all", lambda: self._begin(buf, as_count(offset), reads=True))

    def Write_at_all_begin(self, offset: int, buf: Any) -> None:
        """Begin to write from an offset on."""
        self._begin_split("Write_at_all", lambda: self._begin(buf, as_count(offset), reads=False))

    def Read_all_begin(self, buf: Any) -> None:
        """Begin to read where the pointer of this process is."""
        self._begin_split("Read_all", lambda: self._begin(buf, None, reads=True))

    def Write_all_begin(self, buf: Any) -> None:
        """Begin to write where the pointer of this process is."""
        self._begin_split("Write_all", lambda: self._begin(buf, None, reads=False))

    def Read_ordered_begin(self, buf: Any) -> None:
        """Begin to read one rank after the other."""
        self._begin_split("Read_ordered", lambda: self._begin_in_order(buf, reads=True))

    def Write_ordered_begin(self, buf: Any) -> None:
        """Begin to write one rank after the other."""
        self._begin_split("Write_ordered", lambda: self._begin_in_order(buf, reads=False))

    def Read_at_all_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - that of the begin
        """End what `Read_at_all_begin` has begun."""
        self._end_split("Read_at_all", status)

    def Write_at_all_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - as above
        """End what `Write_at_all_begin` has begun."""
        self._end_split("Write_at_all", status)

    def Read_all_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - as above
        """End what `Read_all_begin` has begun."""
        self._end_split("Read_all", status)

    def Write_all_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - as above
        """End what `Write_all_begin` has begun."""
        self._end_split("Write_all", status)

    def Read_ordered_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - as above
        """End what `Read_ordered_begin` has begun."""
        self._end_split("Read_ordered", status)

    def Write_ordered_end(self, buf: Any, status: MPI.Status | None = None) -> None:  # noqa: ARG002 - as above
        """End what `Write_ordered_begin` has begun."""
        self._end_split("Write_ordered", status)

    # --- pointers ---------------------------------------------------------------------------------

    def Seek(self, offset: int, whence: int = MPI.SEEK_SET) -> None:
        """Move the pointer of this process."""
        check_random_access(self._mode)
        self._position = self._sought(as_count(offset), whence, lambda: self._position)

    def Get_position(self) -> int:
        """Return where the pointer of this process is, in elementary types."""
        check_random_access(self._mode)
        return self._position

    def Seek_shared(self, offset: int, whence: int = MPI.SEEK_SET) -> None:
        """Move the pointer of all; all ranks call it alike."""
        problem: Exception | None = None
        given = 0, 0
        try:
            check_random_access(self._mode)
            given = as_count(offset), integer(whence)
        except Exception as error:
            problem = error
        self._together(
            lambda: self._set_shared(self._sought(*given, self._shared_position)), given, problem
        )

    def Get_position_shared(self) -> int:
        """Return where the pointer of all is, in elementary types."""
        check_random_access(self._mode)
        return self._shared_position()

    def _shared_position(self) -> int:
        return self._number(FileRequestKind.POINTER)

    def _set_shared(self, position: int) -> None:
        self._number(FileRequestKind.SET_POINTER, position)

    def _sought(self, offset: int, whence: int, current: Callable[[], int]) -> int:
        if whence == MPI.SEEK_SET:
            found = offset
        elif whence == MPI.SEEK_CUR:
            found = current() + offset
        elif whence == MPI.SEEK_END:
            found = self._view.units_before(self.Get_size()) + offset
        else:
            raise FileFault("ERR_ARG", f"{whence} is none of SEEK_SET, SEEK_CUR and SEEK_END")
        if found < 0:
            raise FileFault("ERR_ARG", f"the position {found} would be before the beginning")
        if found > LAST_PLACE:
            raise FileFault("ERR_ARG", f"the position {found} is beyond the end of any file")
        return found

    def Get_byte_offset(self, offset: int) -> int:
        """Return the place of an offset in the file."""
        check_random_access(self._mode)
        found = as_count(offset)
        if found < 0:
            raise FileFault("ERR_ARG", f"the offset {found} is negative")
        return self._view.byte_of(found)

    # --- the view ---------------------------------------------------------------------------------

    def Set_view(
        self,
        disp: int = 0,
        etype: MPI.Datatype = MPI.BYTE,
        filetype: MPI.Datatype | None = None,
        datarep: str = "native",
        info: MPI.Info = MPI.INFO_NULL,
    ) -> None:
        """Say which bytes of the file this process sees; all ranks call it."""
        problem: Exception | None = None
        view, kept = BYTES, (MPI.BYTE, MPI.BYTE)
        try:
            filetype = etype if filetype is None else filetype
            view = self._view_of(as_count(disp), etype, filetype, datarep)
            kept = _kept(etype), _kept(filetype)
        except Exception as error:
            problem = error
        self._together(
            lambda: self._set_shared(0), f"elementary types of {view.unit} bytes", problem
        )
        self._free_types()
        self._view, self._types, self._position = view, kept, 0
        self._representation = datarep
        self.Set_info(info)

    def _view_of(
        self, disp: int, etype: MPI.Datatype, filetype: MPI.Datatype, datarep: str
    ) -> View:
        if datarep not in ("native", "internal"):
            raise FileFault(
                "ERR_UNSUPPORTED_DATAREP",
                f"a file over several clusters has the data representation native, not {datarep}",
            )
        if disp == MPI.DISPLACEMENT_CURRENT and self._mode & OpenMode.SEQUENTIAL:
            disp = self._view.byte_of(self._shared_position())
        layout = layout_of(filetype)
        view = View.of(disp, etype.size, layout.runs, layout.extent)
        view.check()
        return view

    def _free_types(self) -> None:
        for one in self._types:
            if not one.is_predefined:
                one.Free()
        self._types = MPI.BYTE, MPI.BYTE

    def Get_view(self) -> tuple[int, MPI.Datatype, MPI.Datatype, str]:
        """Return what `Set_view` has set; derived types are the caller's to free."""
        etype, filetype = self._types
        return self._view.displacement, _kept(etype), _kept(filetype), self._representation

    def Get_type_extent(self, datatype: MPI.Datatype) -> int:
        """Return the extent of a datatype in the file."""
        return datatype.extent

    # --- facts, and the end -----------------------------------------------------------------------

    def Set_size(self, size: int) -> None:
        """Cut or extend the file; all ranks call it."""
        self._resize(FileRequestKind.RESIZE, size)

    def Preallocate(self, size: int) -> None:
        """See that there is room on the disk for so many bytes; all ranks call it."""
        self._resize(FileRequestKind.RESERVE, size)

    def _resize(self, kind: FileRequestKind, size: Any) -> None:
        problem: Exception | None = None
        wanted = 0
        try:
            check_use(self._mode, reads=False, shared=False)
            wanted = as_count(size)
            if wanted < 0:
                raise FileFault("ERR_ARG", f"the size {wanted} is negative")
        except Exception as error:
            problem = error
        self._together(lambda: self._number(kind, wanted), wanted, problem)

    def Get_size(self) -> int:
        """Return the size of the file in bytes."""
        return self._number(FileRequestKind.SIZE)

    def Get_amode(self) -> int:
        """Return the modes with which it was opened."""
        return self._amode

    def Get_group(self) -> MPI.Group:
        """Return the group of the file."""
        return group_of(self.engine, self.members.group)

    def Set_info(self, info: MPI.Info) -> None:
        """Keep hints."""
        if info != MPI.INFO_NULL:
            self._info |= {one: text for one, text in info.items() if one != "gcm_home"}

    def Get_info(self) -> MPI.Info:
        """Return the hints that were given, and the home as `gcm_home`."""
        return MPI.Info.Create(self._info)

    def Set_atomicity(self, flag: bool) -> None:
        """Let no access come between the parts of another one; all ranks call it."""
        self._together(lambda: None, bool(flag))
        self._is_atomic = bool(flag)

    def Get_atomicity(self) -> bool:
        """Return whether accesses are atomic."""
        return self._is_atomic

    def Sync(self) -> None:
        """Wait until all that was written is on the disk of the home; all ranks call it."""
        self._together(lambda: self._number(FileRequestKind.SYNC))

    @property
    def is_broken(self) -> bool:
        """Whether its communicator was revoked, or a member is lost."""
        gone = self.engine.losses.gone
        return self._losses.is_closed or any(one in gone for one in self.members.peers)

    def Close(self) -> None:
        """Close the file; all ranks call it. A broken one is closed at once."""
        steps = FirstError()
        problem: Exception | None = None
        try:
            is_over = False
            if not self.is_broken:
                with steps.goes_on():
                    self._wait_for_own()
                    self.comm.Barrier()
                    is_over = True
            if self._thread is not None:
                self._thread.end()
            if self._disk is not None:
                try:
                    self._disk.close()
                except FileFault as fault:
                    problem = as_mpi_error(fault)
            with steps.goes_on():
                if is_over:
                    agree(self.comm, problem)
                elif problem is not None:
                    raise problem
            if not is_over:
                self._give_up()
        finally:
            with self.engine.lock:
                self.engine.services().close(self.members.context)
                self._losses.end()
            self._free_types()
            self.comm.Free()
        steps.tell()

    def close_without_others(self) -> None:
        """Close it at the end of Python, when no other rank is heard, and no thread goes on."""
        if self._disk is not None:
            self._disk.close()

    def _give_up(self) -> None:
        """Let calls of all ranks fail: others would wait for ever for this one."""
        self.comm.Revoke()


class _Pointer(Number):
    """The shared pointer, which an access waits for."""

    __slots__ = ("_access",)

    def __init__(self, file: GridFile, access: FileAccess, then: Callable[[int], None]) -> None:
        super().__init__(file, then)
        self._access = access

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it, or fail the access."""
        super().finish(error)
        if error is not None:
            self._access.fail(error)


def _kept(datatype: MPI.Datatype) -> MPI.Datatype:
    return datatype if datatype.is_predefined else datatype.Dup()


def _different(values: Sequence[object]) -> str:
    """Return which values ranks have given, one rank for each."""
    ranks: dict[object, int] = {}
    for rank, value in enumerate(values):
        ranks.setdefault(value, rank)
    return ", ".join(f"{value} (rank {rank})" for value, rank in ranks.items())
