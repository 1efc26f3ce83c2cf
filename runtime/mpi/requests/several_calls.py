"""Calls that complete several requests, of the grid and of native MPI in any mix: as a table."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from mpi4py import MPI

from runtime.mpi.progress.latest_calls import write_down
from runtime.mpi.requests.several import (
    all_of,
    any_of,
    some_of,
    status_all,
    status_any,
    status_some,
)
from runtime.mpi.values.handles import named_like


class SeveralCalls(MPI.Request):
    """The calls of requests that complete several of them, or ask which are complete."""

    __slots__ = ()


def _whole(found: Any) -> Any:
    return found


def _is_done(found: Any) -> bool:
    return found is not None


_CALLS: dict[str, tuple[Callable[..., Any], dict[str, bool], Callable[[Any], Any]]] = {
    "Waitany": (any_of, {"waits": True}, itemgetter(0)),
    "Waitall": (all_of, {"waits": True}, _is_done),
    "Waitsome": (some_of, {"waits": True}, itemgetter(0)),
    "Testany": (any_of, {}, itemgetter(slice(2))),
    "Testall": (all_of, {}, _is_done),
    "Testsome": (some_of, {}, itemgetter(0)),
    "waitany": (any_of, {"objects": True, "waits": True}, itemgetter(0, 2)),
    "waitall": (all_of, {"objects": True, "waits": True}, _whole),
    "waitsome": (some_of, {"objects": True, "waits": True}, _whole),
    "testany": (any_of, {"objects": True}, _whole),
    "testall": (all_of, {"objects": True}, lambda found: (_is_done(found), found)),
    "testsome": (some_of, {"objects": True}, _whole),
    **dict.fromkeys(("Get_status_any", "get_status_any"), (status_any, {}, _whole)),
    **dict.fromkeys(("Get_status_all", "get_status_all"), (status_all, {}, _whole)),
    **dict.fromkeys(("Get_status_some", "get_status_some"), (status_some, {}, _whole)),
}
"""What carries each call out, how, and what of its result the program gets."""


def _made(name: str) -> Callable[..., Any]:
    carry_out, how, result = _CALLS[name]
    native = vars(MPI.Request)[name].__func__

    def of_one(_: object, requests: Any, status: Any = None) -> Any:
        write_down(name, requests)
        return result(carry_out(requests, status, **how))

    def of_several(_: object, requests: Any, statuses: Any = None) -> Any:
        write_down(name, requests)
        return result(carry_out(requests, statuses, **how))

    return named_like(native, of_one if name.endswith("any") else of_several)


for _name in _CALLS:
    setattr(SeveralCalls, _name, classmethod(_made(_name)))
