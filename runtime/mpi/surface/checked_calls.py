"""Tells of the MPI calls of this rank where a run is checked.

It listens to the calls of the program, and keeps what has to fit the calls of other ranks. They are
compared where reports of all ranks come together, in `runtime.checks`, so that
nothing is sent between ranks for that, and ranks that wait for ever are told of all the same.
Where nobody checks, this module is not loaded, and calls are as they are.
"""

from __future__ import annotations

import copyreg
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.checks.reports import NO_ROOT
from runtime.mpi.checks.arguments import collective, contribution
from runtime.mpi.checks.call_log import CallLog, handle_of
from runtime.mpi.surface.checked_messages import Messages, left_over
from runtime.mpi.surface.observed_calls import COMMUNICATORS, observe
from runtime.mpi.values.substitute_type import SubstituteType
from runtime.mpi.windows.face import Win, native_handle

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink
    from runtime.mpi.surface.observed_calls import MadeCall

_COPY = "Dup"
"""What operation all calls are that make a copy."""

_log: CallLog
_messages: Messages
_COMMUNICATOR = "a communicator"


def check(link: RankLink) -> None:
    """Check calls from now on."""
    global _log, _messages  # noqa: PLW0603 - a process is one rank
    _log = CallLog(link)
    _messages = Messages(_log)
    of_kind = calls.of_kind
    observe(COMMUNICATORS, of_kind("collective", "copy", "make").values(), _Collectives())
    by_group = [one for one in of_kind("make-by-group").values() if one.takes("tag")]
    observe(COMMUNICATORS, by_group, _MadeByGroup())
    frees = [one for one in of_kind("free").values() if one.name != "free"]
    observe(COMMUNICATORS, frees, _Freed(_COMMUNICATOR, has_log=True))
    for classes, rows, listener in _messages.listening():
        observe(classes, rows, listener)
    for cls, kind in _HANDLES.items():
        made = [_row(cls, name) for name in dir(cls) if _makes(name)]
        observe((cls,), made, _MadeHandles(kind))
        observe((cls,), [_row(cls, "Free")], _Freed(kind))
    _log.start()


def names() -> dict[str, object]:
    """Return what stands in module `MPI` for datatypes and operations, whose `Free` is awaited."""
    found: dict[str, object] = {"Datatype": Datatype, "Op": Op}
    for name, one in vars(MPI).items():
        if type(one) is MPI.Datatype:
            found[name] = Datatype(one)
            _predefined.setdefault(one.handle, name)
    for cls in (MPI.Datatype, Datatype):  # what others are made of comes as one of mpi4py's
        copyreg.pickle(cls, _reduced)
    return found


def ended(code: int) -> None:
    """Tell the rest, once the program has ended."""
    if code == 0:
        for note in _log.notes.values():
            _log.fault(*left_over(note), note.call)
        for kind, call in _log.left():
            _log.fault("freed", f"{kind} is never freed", call)
    _log.flush(code)


# --- listeners ------------------------------------------------------------------------------------


class _Collectives:
    def begins(self, call: MadeCall) -> tuple[Any, Any, int, str]:
        """Tell of a collective before it is made: it may never return."""
        row, comm = call.row, call.on
        operation = _COPY if row.kind == "copy" else row.operation
        details: Any = (NO_ROOT, "", None, "")
        known = _log.known(comm)
        if known is not None and not known.is_inter:
            details = collective(operation, (), call.given, known.rank, known.size)
        number = _log.call(row.name, operation, *details)
        if known is not None:
            _log.collective(known, number)
        return known, dict(call.given), number, operation

    def ends(self, call: MadeCall, kept: tuple[Any, Any, int, str]) -> None:
        """Keep what it has made, and a note of what it has begun."""
        known, given, number, operation = kept
        if call.error is not None:
            return
        row, result = call.row, call.result
        makes = row.kind != "collective"
        made, request = result if isinstance(result, tuple) else (result, result)
        then = None
        if makes and isinstance(made, MPI.Comm) and not made:  # it is there once that is waited for
            where, turn = _log.here(), 0 if known is None else known.turn

            def then() -> None:
                _log.made(made, call.on, is_copy=True, turn=turn)
                _owned(made, row.name, where)

        elif makes:
            _log.made(made, call.on, is_copy=row.kind == "copy")
            _owned(made, row.name)
        if row.how != calls.BLOCKING:
            sent = None
            if known is not None and not known.is_inter and not makes:
                sent = contribution(operation, (), given, known.rank)
            _messages.begun(request, row.name, number, _nothing, sent, then)


class _MadeByGroup:
    """Listens to the calls that not all members make."""

    def begins(self, _: MadeCall) -> None:
        """Do nothing."""

    def ends(self, call: MadeCall, _: None) -> None:
        """Keep the communicator."""
        if call.error is None:
            _log.made_by_group(call.result, call.given.get("tag", 0))
            _owned(call.result, call.row.name)


class _Freed:
    """Listens to calls that free something of a kind, which may be a communicator."""

    def __init__(self, kind: str, *, has_log: bool = False) -> None:
        self._kind, self._has_log = kind, has_log

    def begins(self, call: MadeCall) -> int | None:
        """Return its handle, which is gone afterwards."""
        if not self._has_log:
            return _handle_of(call.on)
        return handle_of(call.on) if call.on else None

    def ends(self, call: MadeCall, handle: int | None) -> None:
        """Keep that it was freed."""
        if handle is not None and call.error is None:
            if self._has_log:
                _log.freed(handle)
            _log.released(self._kind, handle)


class _MadeHandles:
    """Listens to calls that make something of a kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def begins(self, _: MadeCall) -> None:
        """Do nothing."""

    def ends(self, call: MadeCall, _: None) -> None:
        """Keep that the program has to free it."""
        if call.error is None:
            _log.owns(self._kind, _handle_of(call.result), call.row.name)
            grid = getattr(call.result, "_grid", None)
            if grid is not None:
                grid.look_for_conflicts(_conflict)


def _handle_of(made: Any) -> int:
    """Return the handle of a window, a datatype or an operation."""
    handle: int = native_handle(made) if isinstance(made, MPI.Win) else made.handle
    return handle


def _conflict(call: str, text: str) -> None:
    _log.fault("access", text, f"{call} ({_log.here()})")


def _nothing() -> None:
    """Keep nothing more of a collective that is begun: it is kept already."""


def _owned(made: Any, name: str, where: str = "") -> None:
    if isinstance(made, MPI.Comm) and made:
        _log.owns(_COMMUNICATOR, handle_of(made), name, where)


# --- windows, datatypes, operations ---------------------------------------------------------------


class Datatype(MPI.Datatype, metaclass=SubstituteType):
    """A datatype that the program has to free if it makes it."""

    _stands_for = MPI.Datatype


_predefined: dict[int, str] = {}
"""The names of datatypes, by their handles."""


def _reduced(datatype: MPI.Datatype) -> str | tuple[Any, ...]:
    """Pickle a predefined datatype by its name, others as what they are made of."""
    name = _predefined.get(datatype.handle)
    return MPI.Datatype.__reduce__(datatype) if name is None else (_datatype, (name,))


def _datatype(name: str) -> object:
    return getattr(import_module(Datatype.__module__), name)


class Op(MPI.Op, metaclass=SubstituteType):
    """An operation that the program has to free if it makes it."""

    _stands_for = MPI.Op


_HANDLES: dict[type[Any], str] = {
    Win: "a window",
    Datatype: "a datatype",
    Op: "an operation",
}


_MAKES_WINDOWS = calls.of_kind("window", of=("Win",))


def _makes(name: str) -> bool:
    is_kind = name.startswith(("Create_f90", "Create_keyval", "Create_errhandler"))
    return (name in _MAKES_WINDOWS or name.startswith(("Create", "Dup"))) and not is_kind


def _row(cls: type[Any], name: str) -> calls.MpiCall:
    """Return a row for a call of a class of which the table needs to know nothing."""
    return calls.MpiCall(name, cls.__name__, "-", "handle", calls.LOCAL, calls.NATIVE, name)
