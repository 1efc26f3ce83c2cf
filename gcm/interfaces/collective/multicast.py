"""Multicast: one call of a client becomes calls of many servers, with one combined result."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from gcm.errors import DispatchError, MulticastError
from gcm.interfaces.collective.broadcast import broadcast_port
from gcm.interfaces.distribution import OperationDispatch, ServerCall, dispatch_of
from gcm.interfaces.future import Future, after
from gcm.interfaces.going_on import Elsewhere, Handed, interrupt, make_each
from gcm.interfaces.policies.parallel import assembled
from gcm.interfaces.stub import Stub
from gcm.interfaces.submission import is_asynchronous, submit_to

if TYPE_CHECKING:
    from gcm.interfaces.interface import ClientInterface

Port = Callable[..., Any]


def dispatcher(
    client: ClientInterface, operation: str, members: Iterable[tuple[str, Stub]]
) -> Port:
    """Return the port that distributes calls of `operation` over the bound servers.

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
    asynchronous = [is_asynchronous(port) for port in ports]
    if ports and all(asynchronous):
        return _AsynchronousCast(cast)
    if dispatch.is_broadcast and not any(asynchronous):
        return broadcast_port(client.owner, signature, operation, ports, cast.fail)
    return cast.spread


class _Cast:
    """One operation of one multicast interface with the servers it is bound to now."""

    __slots__ = ("_client", "_dispatch", "_operation", "_paths", "_ports", "_rng", "_turns")

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
        self._rng = client.rng
        self._turns = itertools.count()

    def __str__(self) -> str:
        return f"{self._client}.{self._operation}"

    def fail(self, results: list[Any], failures: dict[int, BaseException]) -> None:
        """Raise the failures of a broadcast."""
        self._fail([ServerCall(n, (), {}) for n in range(len(results))], results, failures)

    def spread(self, *args: Any, **kwargs: Any) -> Any:
        """Distribute the arguments, make all calls, and wait for them."""
        calls, futures = self.send(args, kwargs)
        return self.outcome(calls, futures)

    @property
    def spreads_blocks(self) -> bool:
        """Whether the servers get parts of the blocks that a call brings, wherever those lie."""
        return self._dispatch.is_redistributing

    def send(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[ServerCall], dict[int, Future[Any]]]:
        """Make all calls; return them and their futures, by the number of the call.

        Blocks of arrays are spread as they are named, and each is put together where it is taken.
        """
        if not self.spreads_blocks:
            args, kwargs = assembled(args, kwargs)
        calls = self._calls(args, kwargs)
        asynchronous = {n: is_asynchronous(self._ports[c.server]) for n, c in enumerate(calls)}
        futures = {
            n: _sent(self._ports[call.server], call.args, call.kwargs)
            for n, call in enumerate(calls)
            if asynchronous[n]
        }
        here = [(n, call) for n, call in enumerate(calls) if not asynchronous[n]]
        return calls, futures | self._call_here(here)

    def outcome(self, calls: Sequence[ServerCall], futures: Mapping[int, Future[Any]]) -> Any:
        """Wait for all calls and return the reduced results."""
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

    def _call_here(self, calls: Sequence[tuple[int, ServerCall]]) -> dict[int, Future[Any]]:
        """Call passive components one after the other, as long as none of them has to wait."""
        futures: dict[int, Future[Any]] = {}

        def make(numbered: tuple[int, ServerCall]) -> None:
            n, call = numbered
            port, args, kwargs = self._ports[call.server], call.args, call.kwargs
            if not _spreads_blocks(port):
                args, kwargs = assembled(args, kwargs)
            futures[n] = _sent(port, args, kwargs)

        handed: list[Handed] = []
        elsewhere = Elsewhere(self._client.owner, self._operation)
        try:
            make_each(iter(calls), handed, elsewhere, self._call_here, make)
            for future in handed:
                futures |= future.result()
        except BaseException:
            interrupt(handed)
            raise
        return futures

    def _calls(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[ServerCall]:
        turn = next(self._turns)
        self._rng = self._rng or random.Random()  # most draw nothing, and a seed takes time
        try:
            return self._dispatch.calls(args, kwargs, len(self._ports), rng=self._rng, turn=turn)
        except DispatchError as error:
            error.component = self._client.owner.path
            error.interface = self._client.name
            raise

    def _fail(
        self,
        calls: Sequence[ServerCall],
        results: Sequence[Any],
        failures: dict[int, BaseException],
    ) -> None:
        """Raise one error that names every failed server and has the results of the others."""
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


class _AsynchronousCast:
    """A multicast whose servers all work asynchronously, so that the caller need not wait."""

    __slots__ = ("_cast",)

    def __init__(self, cast: _Cast) -> None:
        self._cast = cast

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make all calls and wait for them."""
        return self._cast.spread(*args, **kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make all calls and return the future of the reduced results."""
        try:
            calls, futures = self._cast.send(args, kwargs)
        except Exception as error:  # as where the servers work in the caller's thread
            refused: Future[Any] = Future(self._cast)
            refused.set_exception(error)
            return refused
        sources = list(futures.values())
        return after(sources, lambda: self._cast.outcome(calls, futures), self._cast)


def _spreads_blocks(port: Port) -> bool:
    """Return whether calls of `port` are spread again, so that others put their blocks together."""
    owner = getattr(port, "__self__", None)
    if isinstance(owner, Stub):
        return _spreads_blocks(owner._port(port.__name__))
    when_open = getattr(port, "when_open", None)
    if when_open is not None:  # a component that does not run: what counts is who will work then
        return _spreads_blocks(when_open())
    return isinstance(owner, _Cast) and owner.spreads_blocks


def _sent(port: Port, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
    """Make one call; one that cannot even be sent fails like the others, in its future."""
    try:
        return submit_to(port, args, kwargs)
    except Exception as error:
        refused: Future[Any] = Future(port)
        refused.set_exception(error)
        return refused


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:  # the request was cancelled at the server
        return error
