"""What calls and results say, in the serializers of Pyro5 that cannot execute code."""

from __future__ import annotations

from typing import Any

from Pyro5.core import _ExceptionWrapper
from Pyro5.errors import PyroError
from Pyro5.serializers import serializers_by_id

from runtime.transport.errors import FrameError, NotSendable
from runtime.transport.frames import Part
from runtime.transport.pyro.structure import check_structure
from runtime.transport.pyro_messages import JSON, MSGPACK, SERPENT

SAFE = {SERPENT: "serpent", JSON: "json", MSGPACK: "msgpack"}
"""The serializers that are spoken; `marshal` can be made to crash the interpreter."""

_KNOWN_EVERYWHERE = ("builtins", "Pyro5.errors")

Call = tuple[str, str, tuple[Any, ...], dict[str, Any]]
"""The name of an object, that of a method, and the arguments."""

Calls = list[tuple[str, tuple[Any, ...], dict[str, Any]]]
"""Several calls of one object: methods and arguments."""


class Language:
    """One serializer.

    Raises:
        FrameError: it is not one that is spoken here.
    """

    def __init__(self, serializer: int) -> None:
        known = serializers_by_id.get(serializer)
        if serializer not in SAFE or known is None:
            raise FrameError(
                f"serializer {serializer} of Pyro5 is not spoken here",
                cure=f"Use one of {', '.join(SAFE.values())}",
            )
        self._number = serializer
        self._serializer = known

    def hello(self, payload: Part) -> str:
        """Return which object a client connects to; raises FrameError."""
        try:
            return str(self._serializer.loads(payload)["object"])
        except Exception as error:  # anything at all may come
            raise FrameError(f"a connection that does not say to what: {error}") from error

    def call(self, payload: Part) -> Call:
        """Return what is called; raises FrameError."""
        check_structure(self._number, payload)
        try:
            name, method, args, kwargs = self._serializer.loadsCall(payload)
            return str(name), str(method), tuple(args or ()), dict(kwargs or {})
        except Exception as error:  # anything at all may come
            raise FrameError(f"a call that cannot be understood: {error}") from error

    def batch(self, args: tuple[Any, ...]) -> Calls:
        """Return the calls that are the arguments of one; raises FrameError."""
        try:
            calls = [(str(method), tuple(args), dict(kwargs)) for method, args, kwargs in args]
        except (TypeError, ValueError) as error:
            raise FrameError(f"a batch of calls that cannot be understood: {error}") from error
        if not calls:
            raise FrameError("a batch without any call")
        return calls

    def value(self, value: Any) -> bytes:
        """Return a value as it travels; raises NotSendable."""
        try:
            data: bytes = self._serializer.dumps(value)
        except Exception as error:  # any class may raise anything
            raise NotSendable(
                f"cannot be sent to a Pyro5 client: {type(error).__name__}: {error}",
                cure="Return plain values: numbers, text, lists and dictionaries",
            ) from error
        return data

    def failure(self, error: BaseException, trace: list[str]) -> bytes:
        """Return an exception as it travels; one that cannot goes as its words."""
        try:
            data: bytes = self._serializer.dumps(_portable(error, trace))
        except Exception:  # what it holds cannot travel
            data = self._serializer.dumps(_in_words(error, trace))
        return data


def wrapped(error: BaseException, trace: list[str]) -> Any:
    """Return an exception as one of the results of a batch of calls."""
    return _ExceptionWrapper(_portable(error, trace))


def _portable(error: BaseException, trace: list[str]) -> BaseException:
    """Return an exception of a class that every client can rebuild, with its traceback."""
    if type(error).__module__ not in _KNOWN_EVERYWHERE:
        return _in_words(error, trace)
    error.__dict__["_pyroTraceback"] = trace
    return error


def _in_words(error: BaseException, trace: list[str]) -> BaseException:
    told: BaseException = PyroError(f"{type(error).__module__}.{type(error).__qualname__}: {error}")
    told.__dict__["_pyroTraceback"] = trace
    return told
