"""Does what code in C asks, and tells its faults; runs the C program of this process."""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import NoReturn

from mpi4py import MPI

from runtime.membership.last_words import last_words
from runtime.membership.rank_link import current
from runtime.mpi.errors import abort_natively, leave
from runtime.mpi.from_c.calls import Call, Calls
from runtime.mpi.from_c.collectives import CollectiveCalls
from runtime.mpi.from_c.communicators import CommunicatorCalls
from runtime.mpi.from_c.files import FileCalls, raised_for_file
from runtime.mpi.from_c.groups import GroupCalls
from runtime.mpi.from_c.library import ShimLibrary
from runtime.mpi.from_c.own_functions import OwnFunctions
from runtime.mpi.from_c.point_to_point import MessageCalls
from runtime.mpi.from_c.requests import Requests
from runtime.mpi.from_c.values import Values, addresses, write_handle
from runtime.mpi.from_c.windows import WindowCalls, raised
from runtime.mpi.process.place import here
from runtime.mpi.surface import lifetime, mpi_module
from runtime.shim import ASKED, SERVED

_MOST_TOLD = 10
"""How many errors are told that the program handles itself."""


_NAMES = {
    "duplicate": "MPI_Comm_dup",
    "free_comm": "MPI_Comm_free",
    "free_request": "MPI_Request_free",
    "free_window": "MPI_Win_free",
    "close_file": "MPI_File_close",
    "begin_duplicate": "MPI_Comm_idup",
    "attribute": "MPI_Comm_get_attr",
    "get_status": "MPI_Request_get_status",
    "get_status_all": "MPI_Request_get_status_all",
    "get_status_any": "MPI_Request_get_status_any",
    "get_status_some": "MPI_Request_get_status_some",
}
"""The functions of MPI for which the library asks something, where another name says it."""


_KINDS: tuple[type[Calls], ...] = (
    *(MessageCalls, CollectiveCalls, CommunicatorCalls, GroupCalls, WindowCalls, FileCalls),
)


class _LatestFault(threading.local):
    """What the last call of this thread that failed was, and its error."""

    fault: tuple[str, BaseException] = "", MPI.Exception(MPI.ERR_OTHER)


class CallsFromC:
    """What code in C asks of Python in this process, and how its faults are told."""

    def __init__(self, library: ShimLibrary, values: Values) -> None:
        """Make COMM_WORLD what it is in Python, if that has several clusters."""
        self._library, self._values = library, values
        self._requests = Requests(library.first_request)
        self._latest = _LatestFault()
        self._left_to_tell = _MOST_TOLD
        table: dict[str, Call] = {}
        for kind in _KINDS:
            table |= kind(self._values, self._requests).table()
        self._own_functions = OwnFunctions(values)
        self._of_header = {
            name: self._guarded(name, call) for name, call in self._own_functions.table().items()
        }
        own = {name: getattr(self, f"_{name}", None) or self._of_requests(name) for name in ASKED}
        self._functions = [
            *(
                self._guarded(_NAMES.get(name, f"MPI_{name.capitalize()}"), own[name])
                for name in ASKED
            ),
            *(self._guarded(name, table[name]) for name in SERVED),
        ]
        library.install(self._functions)
        world = mpi_module.COMM_WORLD
        if getattr(world, "_members", None) is not None:
            library.let_world_be_grid(world.Get_rank(), world.Get_size(), here().tag_limit)

    def _of_requests(self, name: str) -> Call:
        names = {"free_request": "free"}
        found: Call = getattr(self._requests, names.get(name, name))
        return found

    def _guarded(self, name: str, call: Call) -> Call:
        """Return a call that answers an exception with the code of MPI, and keeps it.

        What ends the program, as KeyboardInterrupt, is left to the library.
        """

        def guarded(*words: int) -> int:
            try:
                return call(*words)
            except MPI.Exception as error:
                self._latest.fault = name, error
                return -(error.error_code or MPI.ERR_OTHER)
            except Exception as error:
                self._latest.fault = name, error
                return -MPI.ERR_OTHER
            except BaseException as error:
                if threading.current_thread() is threading.main_thread():
                    raise
                self._latest.fault = name, error
                return -MPI.ERR_OTHER

        return guarded

    # --- what the library asks beside functions of MPI; each name is in `ASKED` -------------------

    def _sentence(self, caller: int, text: int) -> str:
        """Return what has failed: the `text` of the library if it has one, else the last fault."""
        name, error = self._latest.fault
        if text:
            name, _, said = ctypes.string_at(text).decode(errors="replace").partition(": ")
        elif isinstance(error, MPI.Exception):
            said = "; ".join((str(error), *getattr(error, "__notes__", ())))
        else:
            said = f"{type(error).__name__}: {error}"
        where = self._library.where(caller)
        return f"{name}{f' at {where}' if where else ''}: {' '.join(said.split())}"

    def _fatal(self, code: int, caller: int, text: int) -> NoReturn:
        """Say what has failed, and end the whole run, as MPI_ERRORS_ARE_FATAL wants it."""
        self._end_all(MPI.Get_error_class(code), self._sentence(caller, text))

    def _told(self, code: int, caller: int, text: int) -> int:
        """Say what has failed, since the program gets only a code."""
        del code
        if self._left_to_tell > 0:
            self._left_to_tell -= 1
            words = f"{self._sentence(caller, text)} (the program goes on)"
            print(words, file=sys.stderr, flush=True)
        return 0

    def _abort(self, code: int) -> NoReturn:
        self._end_all(code, f"called MPI_Abort({code})")

    def _end_all(self, code: int, why: str) -> NoReturn:
        link = current()
        assert link is not None, "code in C is served in ranks"
        told = {"code": code & 0xFF or 1, "why": why, **last_words(None)}
        link.wrapper.health.aborted(link.name, told)
        if not MPI.Is_finalized():
            abort_natively(MPI.COMM_WORLD.Abort, code)
        leave(code)

    def _finalize(self) -> int:
        lifetime.Finalize()
        return 0

    def _duplicate(self, parent: int, info: int) -> int:
        return self._values.duplicate(parent, info)

    def _begin_duplicate(self, parent: int, info: int, made: int) -> int:
        def give(handle: int) -> None:
            write_handle(made, 0, handle)

        return self._requests.keep(self._values.begin_duplicate(parent, info, give), parent)

    def _free_comm(self, handle: int) -> int:
        self._own_functions.forget(handle)
        return self._values.free(handle)

    def _own(self, name: int, words: int, count: int) -> int:
        """Do what a function of `gcm.h` asks."""
        text = ctypes.string_at(name).decode()
        function = self._of_header.get(text)
        if function is None:  # the header is newer than this
            self._latest.fault = text, MPI.Exception(MPI.ERR_UNSUPPORTED_OPERATION)
            return -MPI.ERR_UNSUPPORTED_OPERATION
        self._own_functions.save_what_is_due()
        return function(*addresses(words, count))

    def _attribute(self, comm: int, keyval: int) -> int:
        return self._own_functions.attribute(comm, keyval)

    def _free_group(self, handle: int) -> int:
        self._values.forget_group(handle)
        return 0

    def _free_window(self, handle: int) -> int:
        self._values.free_window(handle, raised)
        self._requests.forget(handle)
        return 0

    def _close_file(self, handle: int) -> int:
        try:
            self._values.close_file(handle, raised_for_file)
        finally:
            self._requests.forget(handle)
        return 0

    def _free_type(self, handle: int) -> int:
        self._values.forget_type(handle)
        return 0


class CProgram(CallsFromC):
    """The program that has this process, before it begins."""

    def __init__(self) -> None:
        """Make errors what MPI says: fatal."""
        library = ShimLibrary()
        super().__init__(library, Values(library, mpi_module.COMM_WORLD))
        for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):  # as a program finds it; ours are copies
            MPI.Comm.Set_errhandler(comm, MPI.ERRORS_ARE_FATAL)
        MPI.Comm.Set_name(MPI.COMM_WORLD, "MPI_COMM_WORLD")

    def run(self) -> int:
        """Let it begin; return its exit code when it ends."""
        return self._library.run()

    def finish(self) -> None:
        """Finalise MPI, unless the program has done that."""
        if not MPI.Is_finalized():
            lifetime.Finalize()

    def end(self) -> None:
        """End the process; it does not return."""
        self._library.end()
