"""Multicast: one call of a client becomes calls of many servers, and their results one result."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from gcm.errors import DispatchError, MulticastError
from gcm.interfaces.distribution import Call, OperationDispatch, dispatch_of
from gcm.interfaces.future import Future
from gcm.interfaces.going_on import Rest, begin, end
from gcm.interfaces.parallel import assembled
from gcm.interfaces.signature import signature_of
from gcm.interfaces.spelling import compiled, spelled, unused
from gcm.interfaces.stacks import inside
from gcm.interfaces.stub import Stub
from gcm.invocation import is_asynchronous, submit_to

if TYPE_CHECKING:
    from gcm.interfaces.interface import ClientInterface

Port = Callable[..., Any]
Item = TypeVar("Item")
T = TypeVar("T")


def dispatcher(
    client: ClientInterface, operation: str, members: Iterable[tuple[str, Stub]]
) -> Port:
    """Return the port that spreads calls of `operation` over the bound servers.

    Calls to active objects and to other processes are sent off first and run in parallel; the
    passive components of this process work one after the other in the caller's thread, which is
    also the fastest way to have them all called. If one of them has to wait, for a gathercast or an
    active object, the others do not wait with it: they are called from another thread.
    """
    pairs = tuple(members)
    signature: Any = client.type.signature
    dispatch = dispatch_of(signature, operation)
    ports = [getattr(stub, operation) for _, stub in pairs]
    cast = _Cast(client, operation, dispatch, [path for path, _ in pairs], ports)
    if dispatch.is_broadcast and not any(is_asynchronous(port) for port in ports):
        return _broadcast_of(signature, operation)(ports, cast.begin, cast.finish)
    return cast.spread


@cache
def _broadcast_of(interface: Any, operation: str) -> Callable[..., Port]:
    """Return what makes the port of a broadcast: a loop that is written out for its parameters.

    So each call costs what a plain one costs; to pack the arguments and unpack them again for each
    server would cost as much once more.
    """
    declared = signature_of(interface).operations[operation]
    heads, hands = spelled(declared)
    port, results, failures, error, ports, begin, rest, left, finish, call = (
        unused(name, declared)
        for name in (
            "port", "results", "failures", "error", "ports", "begin", "rest", "left", "finish",
            "call",
        )
    )  # fmt: skip
    source = f"""\
def make({ports}, {begin}, {finish}):
    def {call}({left}, {heads}):
        {rest} = {begin}({left}, lambda {left}: {call}({left}, {hands}))
        {results} = []
        {failures} = {{}}
        try:
            for {port} in {rest}.items:
                try:
                    {results}.append({port}({hands}))
                except Exception as {error}:
                    {failures}[len({results})] = {error}
                    {results}.append(None)
        finally:
            end()
        return joined({rest}, {results}, {failures})
    def {operation}({heads}):
        return {finish}(*{call}({ports}, {hands}))
    return {operation}
"""
    file = f"<broadcast of {interface.__module__}.{interface.__qualname__}.{operation}>"
    return compiled(source, file, end=end, joined=_joined)["make"]


Outcome = tuple[list[Any], dict[int, BaseException]]
"""The result of each call, None for a failed one, and the failures by the number of the call."""


def _joined(
    rest: Rest[Port, Outcome], results: list[Any], failures: dict[int, BaseException]
) -> Outcome:
    """Return the outcome of all calls: those made here, then those that were handed on."""
    taken = rest.taken_over()
    if taken is not None:
        failures.update((len(results) + n, error) for n, error in taken[1].items())
        results += taken[0]
    return results, failures


class _Cast:
    """One operation of one multicast interface with the servers it is bound to now."""

    __slots__ = ("_client", "_dispatch", "_operation", "_paths", "_ports", "_rng", "_turn")

    def __init__(
        self,
        client: ClientInterface,
        operation: str,
        dispatch: OperationDispatch,
        paths: Sequence[str],
        ports: Sequence[Port],
    ) -> None:
        self._client = client
        self._operation = operation
        self._dispatch = dispatch
        self._paths = paths
        self._ports = ports
        self._rng = client.rng or random.Random()
        self._turn = 0

    def finish(self, results: list[Any], failures: dict[int, BaseException]) -> Any:
        """Return what the caller of a broadcast gets, or report every failure."""
        if failures:
            self._fail([Call(n, (), {}) for n in range(len(results))], results, failures)
        return self._dispatch.reduce(results)

    def spread(self, *args: Any, **kwargs: Any) -> Any:
        """Work out who gets what, send it all off, and wait for everybody."""
        calls = self._calls(args, kwargs)
        asynchronous = {n: is_asynchronous(self._ports[c.server]) for n, c in enumerate(calls)}
        futures = {
            n: _sent(self._ports[call.server], call.args, call.kwargs)
            for n, call in enumerate(calls)
            if asynchronous[n]
        }
        here = [(n, call) for n, call in enumerate(calls) if not asynchronous[n]]
        futures |= self._call_here(here)
        results: list[Any] = [None] * len(calls)
        failures: dict[int, BaseException] = {}
        for n, future in futures.items():
            error = _error_of(future)
            if error is not None:
                failures[n] = error
            else:
                results[n] = future.result()
        if failures:
            self._fail(calls, results, failures)
        return self._dispatch.reduce(results, inside=self._client.internal)

    def begin(self, items: Iterable[Item], go_on: Callable[[list[Item]], T]) -> Rest[Item, T]:
        """Begin to make calls in this thread; what is handed on counts as inside the client."""
        owner, operation = self._client.owner, self._operation
        return begin(items, lambda left: inside(owner, operation, go_on, (left,), {}))

    def _call_here(self, calls: Sequence[tuple[int, Call]]) -> dict[int, Future[Any]]:
        """Call passive components one after the other, as long as none of them has to wait."""
        rest = self.begin(calls, self._call_here)
        futures: dict[int, Future[Any]] = {}
        try:
            for n, call in rest.items:
                args, kwargs = assembled(call.args, call.kwargs)
                futures[n] = _sent(self._ports[call.server], args, kwargs)
        finally:
            end()
        return futures | (rest.taken_over() or {})

    def _calls(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Call]:
        turn, self._turn = self._turn, self._turn + 1
        try:
            return self._dispatch.calls(args, kwargs, len(self._ports), rng=self._rng, turn=turn)
        except DispatchError as error:
            error.component = self._client.owner.path
            error.interface = self._client.name
            raise

    def _fail(
        self, calls: Sequence[Call], results: Sequence[Any], failures: dict[int, BaseException]
    ) -> None:
        """Raise one error that names every failed server and carries what did arrive."""
        lines = "; ".join(
            f"{self._paths[calls[n].server]}: {type(error).__name__}: {error}"
            for n, error in sorted(failures.items())
        )
        raise MulticastError(
            f"{len(failures)} of {len(calls)} calls of '{self._operation}' failed: {lines}",
            failures=[(self._paths[calls[n].server], e) for n, e in sorted(failures.items())],
            results=[
                (self._paths[call.server], results[n])
                for n, call in enumerate(calls)
                if n not in failures
            ],
            component=self._client.owner.path,
            interface=self._client.name,
        ) from next(iter(failures.values()))


def _sent(port: Port, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
    """Send one call off; what cannot even be sent fails like what was sent, beside the others."""
    try:
        return submit_to(port, args, kwargs)
    except Exception as error:
        refused: Future[Any] = Future(port)
        refused.set_exception(error)
        return refused


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:  # somebody cancelled the request at the server
        return error
