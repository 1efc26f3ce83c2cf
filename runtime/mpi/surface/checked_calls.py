"""Tells of the MPI calls of this rank where a run is checked.

Each call of the program passes one function more, which keeps what has to fit the calls of other
ranks. They are compared where reports of all ranks come together, in `runtime.checks`, so that
nothing is sent between ranks for that, and ranks that wait for ever are told of all the same.
Where nobody checks, this module is not loaded, and calls are as they are.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from runtime.checks.reports import NO_ROOT
from runtime.collectives.operations import ROWS
from runtime.mpi.checks.arguments import collective
from runtime.mpi.checks.call_log import CallLog
from runtime.mpi.surface.communicator_classes import (
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intercomm,
    Intracomm,
    Topocomm,
)

if TYPE_CHECKING:
    from runtime.membership.rank_link import RankLink

_COMMS = (Comm, Intracomm, Topocomm, Cartcomm, Graphcomm, Distgraphcomm, Intercomm)

_COPIES = dict.fromkeys(("Dup", "Dup_with_info", "Idup", "Idup_with_info", "Clone"), "Dup")
"""The calls that make a copy, and what operation they are."""

_MADE = {
    one: one
    for one in (
        *("Split", "Split_type", "Create", "Create_cart", "Create_graph", "Create_dist_graph"),
        *("Create_dist_graph_adjacent", "Sub", "Merge"),
    )
}
_BY_GROUP = {"Create_group": 1, "Create_intercomm": 3}
"""The calls that not all members make, and where their tag stands."""

Call = Callable[..., Any]


class _Inside(_thread._local):
    """Whether this thread is in a call already: what that calls is none of the program's."""

    call = False


_inside = _Inside()
_log: CallLog


def check(link: RankLink) -> None:
    """Check calls from now on."""
    global _log  # noqa: PLW0603 - a process is one rank
    _log = CallLog(link)
    for cls in _COMMS:
        for name, operation in _operations():
            _put(cls, name, operation, _collective)
        for name in _BY_GROUP:
            _put(cls, name, name, _by_group)
        for name in ("Free", "Disconnect"):
            _put(cls, name, name, _free)
    _log.start()


def ended(code: int) -> None:
    """Tell the rest, once the program has ended."""
    _log.flush(code)


def _operations() -> Iterator[tuple[str, str]]:
    for name in ROWS:
        yield name, name
        if name[0].isupper():
            yield f"I{name[0].lower()}{name[1:]}", name
            yield f"{name}_init", name
    yield "barrier", "Barrier"
    yield from (_COPIES | _MADE).items()


def _put(cls: type[Any], name: str, operation: str, make: Callable[[Call, str, str], Call]) -> None:
    call = getattr(cls, name, None)
    if call is not None and not hasattr(call, "checks"):
        made: Any = make(call, name, operation)
        made.checks = call
        made.__name__, made.__doc__ = name, call.__doc__
        setattr(cls, name, made)


# --- around calls: all have the name by which the look at stacks passes over them --------------


def _collective(call: Call, name: str, operation: str) -> Call:
    makes, is_copy = operation in _MADE or name in _COPIES, name in _COPIES

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(self, *args, **options)
        _inside.call = True
        try:
            known = _log.known(self)
            if known is not None:
                details: Any = (NO_ROOT, "", None, "")
                if not known.is_inter:
                    details = collective(operation, args, options, known.rank, known.size)
                _log.collective(known, _log.call(name, operation, *details))
            result = call(self, *args, **options)
            if makes:
                made = result[0] if isinstance(result, tuple) else result
                _log.made(made, self, is_copy=is_copy)
            return result
        finally:
            _inside.call = False

    return observed_call


def _by_group(call: Call, name: str, _operation: str) -> Call:
    place = _BY_GROUP[name]

    def observed_call(self: Any, *args: Any, **options: Any) -> Any:
        if _inside.call:
            return call(self, *args, **options)
        _inside.call = True
        try:
            result = call(self, *args, **options)
            _log.made_by_group(result, args[place] if len(args) > place else options.get("tag", 0))
            return result
        finally:
            _inside.call = False

    return observed_call


def _free(call: Call, _name: str, _operation: str) -> Call:
    def observed_call(self: Any) -> Any:
        handle = None if _inside.call or not self else self.handle
        result = call(self)
        if handle is not None:
            _log.freed(handle)
        return result

    return observed_call
