"""Calls that complete several requests, of the grid and of native MPI in any mix."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from mpi4py import MPI

from runtime.calls import OF_REQUESTS, MpiCall, of_kind
from runtime.mpi.progress.latest_calls import latest_of_thread, sole
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


_WHICH: dict[str, Callable[..., Any]] = {"any": any_of, "all": all_of, "some": some_of}
_ASKED: dict[str, Callable[..., Any]] = {"any": status_any, "all": status_all, "some": status_some}

_RESULTS: dict[tuple[str, str, bool], Callable[[Any], Any]] = {
    ("wait", "any", False): itemgetter(0),
    ("wait", "all", False): _is_done,
    ("wait", "some", False): itemgetter(0),
    ("wait", "any", True): itemgetter(0, 2),
    ("test", "any", False): itemgetter(slice(2)),
    ("test", "all", False): _is_done,
    ("test", "some", False): itemgetter(0),
    ("test", "all", True): lambda found: (_is_done(found), found),
}
"""What of the result of a call the program gets, by its kind, which it completes, and whether it
returns objects; others get all of it.
"""


def _made(row: MpiCall) -> Callable[..., Any]:
    """Return a call that waits for several requests, tests them, or asks for their states."""
    name, how = row.name, dict[str, bool]()
    which = next(one for one in _WHICH if name.endswith(one))
    carry_out = _ASKED[which]
    if row.kind != "status":
        carry_out, how = _WHICH[which], {"waits": row.kind == "wait", "objects": name.islower()}
    result = _RESULTS.get((row.kind, which, name.islower()), _whole)
    native = vars(MPI.Request)[name].__func__

    def of_several(_: object, requests: Any, statuses: Any = None) -> Any:
        (sole.latest or latest_of_thread()).call = name, requests
        return result(carry_out(requests, statuses, **how))

    return named_like(native, of_several, [one.name for one in row.arguments])


for _row in of_kind("wait", "test", "status", of=OF_REQUESTS).values():
    if _row.is_of_class:
        setattr(SeveralCalls, _row.name, classmethod(_made(_row)))
