"""Messages: calls, notes, results and failures made into frames and back.

Where a call goes can be read without opening its arguments, so it can be passed on unopened. What
is pickled is opened only by the process it is addressed to, after its sender was authenticated.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from runtime.transport.errors import (
    ChannelClosed,
    FrameError,
    NotSendable,
    RemoteError,
    RemoteTraceback,
)
from runtime.transport.frames import Frame, Part
from runtime.transport.plain_data import fault_of

if TYPE_CHECKING:
    from gcm.invocation import Invocation

CALL, NOTE, RESULT, FAILURE = 1, 2, 3, 4

_PARTS_OF_FAILURE = 5  # nothing, the pickle, the class, its words and the traceback

_PACKAGE = f"{os.path.dirname(os.path.dirname(__file__))}/"

_SEPARATORS = 3  # between the fields of a target that has no chain
_MOST_REMEMBERED = 1 << 9  # bytes of a target

OUT_OF_BAND = 1 << 14
"""Arrays from this size on travel as parts of their own, not copied into the pickle."""


class Codec:
    """Values to parts of a frame and back; a subclass can let some objects cross by reference."""

    def dump(self, value: Any) -> list[Part]:
        """Return the pickle of `value` and the large buffers it refers to, which are not copied.

        Bytes are not pickled: they stand behind an empty part.

        Raises:
            NotSendable: it cannot be pickled.
        """
        return [b"", value] if type(value) is bytes else self.pickled(value)

    def load(self, parts: Sequence[Part]) -> Any:
        """Return the value; its large buffers stay where they were received."""
        if not parts[0]:
            (_, value) = parts
            return bytes(value)
        return self.unpickled(parts)

    def pickled(self, value: Any) -> list[Part]:
        """Return the parts of what is not bytes; raises like `dump`."""
        buffers: list[Part] = []

        def in_band(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < OUT_OF_BAND:
                return True
            buffers.append(raw)
            return False

        stream = io.BytesIO()
        try:
            self.pickler(stream, in_band).dump(value)
        except Exception as error:  # any object may raise anything while it is pickled
            raise NotSendable(
                f"cannot be sent to another process: {type(error).__name__}: {error}",
                cure="Pass values that can be pickled, or stubs of components",
            ) from error
        return [stream.getbuffer(), *buffers]

    def unpickled(self, parts: Sequence[Part]) -> Any:
        """Return what is not bytes."""
        # What no object takes for its own has to be such that it can be sent on.
        buffers = [one if type(one) is bytearray else pickle.PickleBuffer(one) for one in parts[1:]]
        return self.unpickler(io.BytesIO(parts[0]), buffers).load()

    def pickler(self, stream: io.BytesIO, in_band: Any) -> pickle.Pickler:
        """Return what pickles into `stream` and asks `in_band` about each buffer."""
        return pickle.Pickler(stream, protocol=5, buffer_callback=in_band)

    def unpickler(self, stream: io.BytesIO, buffers: Iterable[Any]) -> pickle.Unpickler:
        """Return what unpickles from `stream` with its `buffers`."""
        return pickle.Unpickler(stream, buffers=buffers)


PLAIN = Codec()
"""Everything crosses by value."""


class PlainDataCodec(Codec):
    """Opens numbers, text, bytes and what holds them, and refuses everything else.

    A pickle can do harm only by naming a class or a function, or by asking for more memory than it
    has bytes. What a process sends that is not trusted is opened with this one.
    """

    def load(self, parts: Sequence[Part]) -> Any:
        """Return the value; raises `pickle.UnpicklingError` before anything large is made."""
        if parts[0] and (fault := fault_of(parts[0])):  # bytes stand behind an empty part
            raise pickle.UnpicklingError(f"plain data is expected here: {fault}")
        return super().load(parts)

    def unpickler(self, stream: io.BytesIO, buffers: Iterable[Any]) -> pickle.Unpickler:
        """Return what refuses every name."""
        return _Nameless(stream, buffers=buffers)


class _Nameless(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Refuse."""
        raise pickle.UnpicklingError(f"plain data is expected here, and not {module}.{name}")


PLAIN_DATA = PlainDataCodec()
"""For what comes from processes that may send data and nothing else."""


class Target:
    """Where a call goes, and in whose name: `client` matters where a server gathers its clients.

    `chain` tells which requests wait for the call.
    """

    __slots__ = ("chain", "client", "component", "interface", "operation")

    def __init__(
        self, component: str, interface: str, operation: str, client: str = "", chain: str = ""
    ) -> None:
        self.chain = chain
        self.component = component
        self.interface = interface
        self.operation = operation
        self.client = client

    def __str__(self) -> str:
        """Return where the call goes."""
        return f"{self.component}.{self.interface}.{self.operation}"


@lru_cache(maxsize=1 << 10)
def header(component: str, interface: str, operation: str, client: str) -> bytes:
    """Return the part of a frame that says where a call goes."""
    return "\0".join((component, interface, operation, client)).encode()


def call_frame(
    kind: int,
    number: int,
    target: Target | Invocation,
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]],
    codec: Codec = PLAIN,
) -> Frame:
    """Return the frame of a call or a note with its positional and its keyword arguments.

    Raises:
        NotSendable: an argument cannot be pickled.
    """
    args, kwargs = arguments
    where = header(target.component, target.interface, target.operation, target.client)
    if target.chain:
        where += f"\0{target.chain}".encode()
    is_raw = not kwargs and len(args) == 1 and type(args[0]) is bytes
    value = args[0] if is_raw else (args, dict(kwargs))
    try:
        return Frame(kind, number, [where, *codec.dump(value)])
    except NotSendable as error:
        error.place = f"an argument of {target}"
        raise


def target_of(frame: Frame) -> Target:
    """Return where a call goes, its arguments unopened.

    Raises:
        FrameError: the frame does not say.
    """
    try:
        where = bytes(frame.parts[0])
        if len(where) <= _MOST_REMEMBERED and where.count(0) == _SEPARATORS:
            return _remembered(where)
        return _parsed(where)
    except (IndexError, ValueError) as error:
        raise FrameError("a call came that does not say where it goes") from error


def _parsed(where: bytes) -> Target:
    component, interface, operation, client, *more = where.decode().split("\0")
    (chain,) = more or ("",)
    return Target(component, interface, operation, client, chain)


@lru_cache(maxsize=1 << 10)
def _remembered(where: bytes) -> Target:
    """Return where calls go that nothing waits for but their caller: ever again to a few places."""
    return _parsed(where)


def arguments_of(frame: Frame, codec: Codec = PLAIN) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Open the arguments of a call.

    Raises:
        NotSendable: they cannot be rebuilt in this process.
    """
    try:
        value = codec.load(frame.parts[1:])
        args, kwargs = ((value,), {}) if type(value) is bytes else value
    except Exception as error:  # whatever a class does when it is rebuilt
        raise NotSendable(
            f"cannot be rebuilt in this process: {type(error).__name__}: {error}",
            place=f"an argument of {target_of(frame)}",
            cure="The modules of all arguments have to be importable at both ends",
        ) from error
    return args, kwargs


def result_frame(number: int, value: Any, codec: Codec = PLAIN) -> Frame:
    """Return the frame of a result.

    Raises:
        NotSendable: it cannot be pickled.
    """
    return Frame(RESULT, number, [b"", *codec.dump(value)])


def failure_frame(number: int, error: BaseException) -> Frame:
    """Return the frame of an exception: its pickle if there is one, and in any case its words."""
    text = _traceback_of(error)
    try:
        pickled = pickle.dumps(error, protocol=5) if isinstance(error, Exception) else b""
    except Exception:  # an exception that holds something that cannot travel still tells its words
        pickled = b""
    kind = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    words = [part.encode(errors="replace") for part in (kind, str(error), text)]
    return Frame(FAILURE, number, [b"", pickled, *words])


def _traceback_of(error: BaseException) -> str:
    """Return the traceback of an error in the code of users; all of it where they have no part."""
    import traceback

    from gcm.tracebacks import users_traceback

    told = users_traceback(error, also_ours=(_PACKAGE,))
    return told if "  File " in told else "".join(traceback.format_exception(error))


def outcome_of(frame: Frame | ChannelClosed, peer: str, codec: Codec = PLAIN) -> Any:
    """Return the result that a frame holds, or raise the exception, or why there is no frame.

    An exception that was pickled comes back as itself, with the traceback of the other end as its
    cause; any other is a RemoteError.
    """
    if isinstance(frame, ChannelClosed):
        raise frame
    if frame.kind == RESULT:
        try:
            return codec.load(frame.parts[1:])
        except Exception as error:  # whatever a class does when it is rebuilt
            raise NotSendable(
                f"the result cannot be rebuilt in this process: {type(error).__name__}: {error}",
                place=peer,
                cure="The modules of all results have to be importable at both ends",
            ) from error
    raise _exception_of(frame, peer, codec)


def _exception_of(frame: Frame, peer: str, codec: Codec) -> Exception:
    if len(frame.parts) != _PARTS_OF_FAILURE:
        return FrameError(f"a failure came in {len(frame.parts)} parts", place=peer)
    pickled, kind, text, trace = (bytes(part) for part in frame.parts[1:])
    told = f"Remote traceback of {peer}:\n{_words(trace)}"
    if pickled:
        try:
            error = codec.load([pickled])
        except Exception:  # its class is unknown here or cannot be made again: its words remain
            error = None
        if isinstance(error, Exception):
            error.__cause__ = RemoteTraceback(told)
            return error
    return RemoteError(_words(kind), _words(text), told, place=peer)


def _words(told: bytes) -> str:
    return told.decode(errors="replace")
