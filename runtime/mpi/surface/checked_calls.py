"""Tells of the MPI calls of this rank where a run is checked.

Each call of the program passes one function more, which keeps what has to fit the calls of other
ranks. They are compared where reports of all ranks come together, in `runtime.checks`, so that
nothing is sent between ranks for that, and ranks that wait for ever are told of all the same.
Where nobody checks, this module is not loaded, and calls are as they are.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.checks.reports import NO_ROOT
from runtime.mpi.checks.arguments import collective, contribution
from runtime.mpi.checks.call_log import CallLog, handle_of
from runtime.mpi.checks.nesting import CallNesting
from runtime.mpi.surface.checked_messages import Messages, left_over
from runtime.mpi.surface.observed_calls import COMMUNICATORS, REQUESTS, put_around
from runtime.mpi.surface.refusals import Win
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink

_ROWS = calls.of_kind("collective", "copy", "make")
_COPY = "Dup"
"""What operation all calls are that make a copy."""

_BY_GROUP = {
    name: place
    for name, row in calls.of_kind("make-by-group").items()
    if (place := row.place("tag")) is not None
}
"""The calls that not all members make, and where their tag stands."""

Call = Callable[..., Any]


_nesting = CallNesting()
_log: CallLog
_messages: Messages
_COMMUNICATOR = "a communicator"
_MARK = "checks"


def check(link: RankLink) -> None:
    """Check calls from now on."""
    global _log, _messages  # noqa: PLW0603 - a process is one rank
    _log = CallLog(link)
    messages = _messages = Messages(_log, _nesting)
    put_around(COMMUNICATORS, _ROWS, _collective, _MARK)
    put_around(COMMUNICATORS, _BY_GROUP, _by_group, _MARK)
    put_around(COMMUNICATORS, ("Free", "Disconnect"), _free, _MARK)
    for make, names in messages.of_communicators():
        put_around(COMMUNICATORS, names, make, _MARK)
    for make, names in messages.of_requests():
        put_around(REQUESTS, names, make, _MARK)
    for one in _HANDLES:
        for name in filter(_makes, dir(one)):
            setattr(one, name, _made_handle(one, name))
        free: Any = _freed_handle(one)
        one.Free = free
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


# --- around calls: all have the name by which the look at stacks passes over them --------------


def _collective(call: Call, name: str) -> Call:
    row = _ROWS[name]
    makes, is_copy = row.kind != "collective", row.kind == "copy"
    operation, is_begun = _COPY if is_copy else row.operation, row.how != calls.BLOCKING

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _nesting.is_inside:
            return call(self, *args, **options)
        details: Any = (NO_ROOT, "", None, "")
        known = _log.known(self)
        if known is not None:
            if not known.is_inter:
                details = collective(operation, args, options, known.rank, known.size)
            _log.collective(known, _log.call(name, operation, *details))
        result = _nesting.observed_call(call, self, *args, **options)
        if makes:
            made = result[0] if isinstance(result, tuple) else result
            _log.made(made, self, is_copy=is_copy)
            _owned(made, name)
        if not is_begun:
            return result
        number, sent = _log.call(name, operation, *details), None
        if known is not None and not known.is_inter and not makes:
            sent = contribution(operation, args, options, known.rank)
        if isinstance(result, tuple):
            return result[0], _messages.begun(result[1], name, number, _nothing)
        return _messages.begun(result, name, number, _nothing, sent)

    return observed_call


def _by_group(call: Call, name: str) -> Call:
    place = _BY_GROUP[name]

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _nesting.is_inside:
            return call(self, *args, **options)
        result = _nesting.observed_call(call, self, *args, **options)
        _log.made_by_group(result, args[place] if len(args) > place else options.get("tag", 0))
        _owned(result, name)
        return result

    return observed_call


def _free(call: Call, _name: str) -> Call:
    def observed_call(self: Any) -> Any:
        handle = None if _nesting.is_inside or not self else handle_of(self)
        result = call(self)
        if handle is not None:
            _log.freed(handle)
            _log.released(_COMMUNICATOR, handle)
        return result

    return observed_call


def _nothing() -> None:
    """Keep nothing more of a collective that is begun: it is kept already."""


def _owned(made: Any, name: str) -> None:
    if isinstance(made, MPI.Comm) and made:
        _log.owns(_COMMUNICATOR, handle_of(made), name)


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


_HANDLES: dict[type[Any], tuple[str, type[Any]]] = {
    Win: ("a window", MPI.Win),
    Datatype: ("a datatype", MPI.Datatype),
    Op: ("an operation", MPI.Op),
}


_MAKES_WINDOWS = calls.of_kind("window", of=("Win",))


def _makes(name: str) -> bool:
    is_kind = name.startswith(("Create_f90", "Create_keyval", "Create_errhandler"))
    return (name in _MAKES_WINDOWS or name.startswith(("Create", "Dup"))) and not is_kind


def _made_handle(cls: type[Any], name: str) -> Any:
    kind, _ = _HANDLES[cls]
    call = getattr(cls, name)
    is_of_class = hasattr(call, "__self__")

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        given = args if is_of_class else (self, *args)
        made = _nesting.observed_call(call, *given, **options)
        if not _nesting.is_inside:
            _log.owns(kind, made.handle, name)
        return made

    observed_call.__name__, observed_call.__doc__ = name, call.__doc__
    return classmethod(observed_call) if is_of_class else observed_call


def _freed_handle(cls: type[Any]) -> Call:
    kind, native = _HANDLES[cls]

    def observed_call(self: Any) -> Any:
        _log.released(kind, self.handle)
        return native.Free(self)

    return observed_call
