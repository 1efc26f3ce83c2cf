"""The one function around the MPI calls of a program, and those who listen.

Where a run is traced, checked or counted, or the program asks for the walltime, each call that
somebody listens to passes one function more. It hands a `MadeCall` to the listeners: before the
call, whose arguments they may change, and after it, with its result or its error. What a call makes
itself, and what listeners call, is none of the program's, so nobody hears of it. Where nobody
listens, this module is not loaded, and calls are as they are.
"""

from __future__ import annotations

from mpi4py import MPI

from runtime import calls
from runtime.mpi.point_to_point.messages import Message
from runtime.mpi.progress.latest_calls import latest_of_thread, mine, sole
from runtime.mpi.requests.requests import Prequest, Request
from runtime.mpi.surface.communicator_classes import (
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intercomm,
    Intracomm,
    Topocomm,
)

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Protocol

    class CallListener(Protocol):
        """Hears of the calls of the program. Any thread may call it."""

        def begins(self, call: MadeCall) -> Any:
            """Take note of a call before it is made; return what `ends` is to get.

            It may change the function and the arguments. What it raises the program gets.
            """
            ...

        def ends(self, call: MadeCall, kept: Any) -> None:
            """Take note of its end. It may change the result of a call that has raised nothing.

            Whoever has heard of the beginning hears of the end, whatever other listeners raise.
            """
            ...


COMMUNICATORS: tuple[type[Any], ...] = (
    *(Comm, Intracomm, Topocomm, Cartcomm, Graphcomm, Distgraphcomm, Intercomm),
)
REQUESTS: tuple[type[Any], ...] = (Request, Prequest)
MESSAGES: tuple[type[Any], ...] = (Message,)


class MadeCall:
    """A call of the program, while it is made."""

    __slots__ = ("_given", "_names", "args", "error", "function", "options", "result", "row")

    result: Any
    error: BaseException | None

    def __init__(
        self,
        row: calls.MpiCall,
        names: tuple[str, ...],
        function: Callable[..., Any],
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> None:
        self.row, self.function, self._names = row, function, names
        self.args, self.options = args, options
        self.result = self.error = None
        self._given: dict[str, Any] | None = None

    @property
    def on(self) -> Any:
        """The communicator or request; for calls of several requests these."""
        return self.args[0] if self.args else self.options.get("requests", ())

    @property
    def given(self) -> dict[str, Any]:
        """The arguments that were given, by name; whoever changes them changes the call."""
        given = self._given
        if given is None:
            args, names = self.args, self._names
            given = self._given = dict(zip(names, args[1:]))  # noqa: B905 - some are left out
            if self.options:
                given.update(self.options)
            if len(args) - 1 <= len(names):  # else the call says what is wrong
                self.args, self.options = args[:1], given
        return given


def observe(
    classes: Iterable[type[Any]], rows: Iterable[calls.MpiCall], listener: CallListener
) -> None:
    """Let a listener hear of some calls of some classes from now on."""
    rows = tuple(rows)
    for cls in classes:
        for row in rows:
            call = getattr(cls, row.name, None)
            if call is None:
                continue
            if not hasattr(call, "listeners"):
                _put_around(cls, row, call)
            listeners = getattr(cls, row.name).listeners
            if listener not in listeners:  # a class inherits what another one has
                listeners.append(listener)


def as_program(call: Callable[[], object]) -> None:
    """Call a function of the program while one of its calls begins: what it calls is its own."""
    latest = sole.latest or latest_of_thread()
    before, latest.is_heard = latest.is_heard, False
    try:
        call()
    finally:
        latest.is_heard = before


def _put_around(cls: type[Any], row: calls.MpiCall, function: Callable[..., Any]) -> None:
    """Replace a call of a class by one that listeners hear of."""
    listeners: list[CallListener] = []
    around: Any = _observed(row, function, listeners)
    around.__name__ = around.__qualname__ = row.name
    around.__doc__, around.listeners = function.__doc__, listeners
    setattr(cls, row.name, staticmethod(around) if hasattr(function, "__self__") else around)


def _observed(
    row: calls.MpiCall, function: Callable[..., Any], listeners: list[CallListener]
) -> Callable[..., Any]:
    """Return a function around a call; the listeners may become more."""
    taken = row.arguments[1:] if row.is_of_class else row.arguments
    names = tuple(one.name for one in taken)

    def observed_call(*args: Any, **options: Any) -> Any:
        try:
            latest = sole.latest or mine.latest
        except AttributeError:
            latest = latest_of_thread()
        if latest.is_heard:
            return function(*args, **options)
        made = MadeCall(row, names, function, args, options)
        latest.is_heard = True
        try:
            one = listeners[0]  # nearly always there is one, and lists take their time
            others: list[tuple[CallListener, Any]] | None = None
            kept = one.begins(made)
            try:
                if len(listeners) > 1:
                    others = []
                    others.extend((other, other.begins(made)) for other in listeners[1:])
                result = made.function(*made.args, **made.options)
                made.result = None if result is None else _ours(result)
            except BaseException as error:
                made.error = error
                raise
            finally:
                if others is None:
                    one.ends(made, kept)
                else:
                    _tell_all(made, [(one, kept), *others])
        finally:
            latest.is_heard = False
        return made.result

    return observed_call


def _tell_all(made: MadeCall, heard: list[tuple[CallListener, Any]]) -> None:
    """Tell listeners of an end, in their order; each hears it, whatever others raise."""
    (listener, kept), *others = heard
    try:
        listener.ends(made, kept)
    finally:
        if others:
            _tell_all(made, others)


def _ours(result: Any) -> Any:
    """Return what native MPI makes in a communicator of one cluster as ours, which is heard of."""
    if isinstance(result, MPI.Request):
        if not hasattr(type(result), "_operation"):  # `isinstance` accepts those of mpi4py, too
            kind = Prequest if isinstance(result, MPI.Prequest) else Request
            return MPI.Request.__new__(kind, result)  # quicker than a call of the class
    elif type(result) is MPI.Message:
        return Message(result)
    elif type(result) is tuple and len(result) == 2:  # a communicator, and when it may be used
        return result[0], _ours(result[1])
    return result
