"""References: stubs and server ends cross as names, everything else by value."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from gcm.interfaces.interface import ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType
from runtime.hosting.exports import INNER
from runtime.hosting.lent_blocks import DistantBlock
from runtime.hosting.remote import RemoteEnds, RemoteInterface
from runtime.transport.errors import NotSendable
from runtime.transport.frames import Part
from runtime.transport.messages import Codec

_SCALARS = frozenset((int, float, str, bool, type(None)))
_SEARCHED = (bytes, bytearray)
_FEW, _DEEP = 8, 3


def stub_of_reference(component: str, interface: str, type: InterfaceType) -> Any:
    """Stand for a stub in a pickle; a process that takes part restores it by its own means."""
    raise _cannot_restore(component, interface, type)


def end_of_reference(component: str, interface: str, type: InterfaceType) -> Any:
    """Stand for a server end in a pickle, like `stub_of_reference`."""
    raise _cannot_restore(component, interface, type)


def block_of_reference(owner: Any, start: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Stand for rows that stay where they are in a pickle, like `stub_of_reference`."""
    del start, shape, dtype
    raise NotSendable(f"a block of {owner.home} came to a process that hosts no components")


def _cannot_restore(component: str, interface: str, type: InterfaceType) -> NotSendable:
    return NotSendable(
        f"a reference to {component}.{interface} ({type.signature.__qualname__}) came to a process "
        "that hosts no components"
    )


class ReferenceCodec(Codec):
    """The codec of a process that hosts components."""

    def __init__(self, ends: RemoteEnds) -> None:
        self._ends = ends

    def pickled(self, value: Any) -> list[Part]:
        """Return the parts of a value; a few plain ones hold no references."""
        return [pickle.dumps(value, 5)] if _is_plain(value) else super().pickled(value)

    def unpickled(self, parts: Sequence[Part]) -> Any:
        """Return the value; where no class is named, no reference is.

        A large part is a view of memory, which cannot be searched for that.
        """
        (first, *others) = parts
        if not others and isinstance(first, _SEARCHED) and pickle.STACK_GLOBAL not in first:
            return pickle.loads(first)
        return super().unpickled(parts)

    def pickler(self, stream: io.BytesIO, in_band: Any) -> pickle.Pickler:
        """Return a pickler that writes names for stubs and server ends."""
        made = _Pickler(stream, protocol=5, buffer_callback=in_band)
        made.ends = self._ends
        return made

    def unpickler(self, stream: io.BytesIO, buffers: Iterable[Any]) -> pickle.Unpickler:
        """Return an unpickler that finds what the names mean here."""
        made = _Unpickler(stream, buffers=buffers)
        made.ends = self._ends
        return made


def _is_plain(value: Any, deep: int = _DEEP) -> bool:
    """Tell whether a value is a plain one, or consists of a few of them in few levels."""
    kind = type(value)
    if kind is tuple:
        return deep > 0 and len(value) <= _FEW and all(_is_plain(one, deep - 1) for one in value)
    return kind in _SCALARS or (kind is dict and not value)


class _Pickler(pickle.Pickler):
    # Not given to an `__init__`: each call makes one, and that would double the time it takes.
    ends: RemoteEnds

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, DistantBlock):
            return block_of_reference, (value.owner, value.start, value.shape, value.dtype)
        if isinstance(value, Stub):
            return stub_of_reference, self._name_of_stub(value)
        if isinstance(value, RemoteInterface):
            return end_of_reference, (value.component, value.interface, value.type)
        if isinstance(value, ServerInterface):
            return end_of_reference, self._name_of_server(value)
        return NotImplemented

    def _name_of_stub(self, stub: Stub) -> tuple[str, str, InterfaceType]:
        end = stub._end
        if isinstance(end, RemoteInterface):
            return end.component, end.interface, end.type
        is_the_shared_one = isinstance(end, ServerInterface) and end.stub is stub
        if is_the_shared_one and self.ends.exports.name_of(end.owner):
            return self._name_of_server(end)
        return self.ends.exports.lend(stub)

    def _name_of_server(self, end: ServerInterface) -> tuple[str, str, InterfaceType]:
        path = self.ends.exports.name_of(end.owner)
        if not path:
            return self.ends.exports.lend(end.stub)
        return path, f"{INNER if end.internal else ''}{end.name}", end.type


class _Unpickler(pickle.Unpickler):
    ends: RemoteEnds

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle names; references are restored by this process."""
        if module == __name__:
            restore: dict[str, Callable[..., Any]] = {
                block_of_reference.__name__: partial(DistantBlock, self.ends),
                stub_of_reference.__name__: self.ends.stub,
                end_of_reference.__name__: self.ends.end,
            }
            if name in restore:
                return restore[name]
        return super().find_class(module, name)
