"""Where a received message is stored: memory of the program, or memory made for its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mpi4py import MPI

from runtime.mpi.values.specs import Spec

if TYPE_CHECKING:
    from runtime.mpi.values.specs import Data


class Landing(Protocol):
    """The destination of one message."""

    sized: bool
    """Whether native MPI can receive into it before the size of the message is known."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    def native(self, size: int) -> Any:
        """Return what native MPI receives into; `size` matters if it has no size of its own."""

    def room(self, size: int) -> memoryview | None:
        """Return memory of exactly this size to read a message into, or None."""

    def land(self, data: Data) -> Data | None:
        """Store a message that was not read into `room`; return its new bytes.

        Raises MPI.Exception if it is too long.
        """


class InSpec:
    """Memory that a message specification describes."""

    __slots__ = ("_spec",)

    sized = True

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    @property
    def size(self) -> int:
        """How many bytes the specification describes."""
        return self._spec.nbytes

    def native(self, size: int) -> Any:  # noqa: ARG002 - a landing without a specification needs it
        """Return the specification."""
        return self._spec.native()

    def room(self, size: int) -> memoryview | None:
        """Return the memory itself if it is long enough and contiguous."""
        view = self._spec.view
        return None if view is None or size > len(view) else view[:size]

    def land(self, data: Data) -> Data | None:
        """Unpack it."""
        self._spec.unpack(data)
        return None


class InMemory:
    """Plain writable memory."""

    __slots__ = ("_memory",)

    sized = True

    def __init__(self, memory: memoryview) -> None:
        is_flat = memory.format == "B" and memory.ndim == 1
        self._memory = memory if is_flat else memory.cast("B")

    @property
    def size(self) -> int:
        """How many bytes the memory has."""
        return len(self._memory)

    def native(self, size: int) -> Any:  # noqa: ARG002 - a landing without memory needs it
        """Return the memory."""
        return [self._memory, MPI.BYTE]

    def room(self, size: int) -> memoryview | None:
        """Return the memory itself if it is long enough."""
        return None if size > len(self._memory) else self._memory[:size]

    def land(self, data: Data) -> Data | None:  # noqa: ARG002 - other landings keep it
        """Refuse what did not fit into `room`."""
        raise MPI.Exception(MPI.ERR_TRUNCATE)


class Exactly(InMemory):
    """Plain memory for a message of its size; a shorter one is as wrong as a longer one."""

    __slots__ = ()

    def room(self, size: int) -> memoryview | None:
        """Return the memory itself if it has that size."""
        return self._memory if size == len(self._memory) else None


class Fresh:
    """Memory that is allocated when the size is known."""

    __slots__ = ("made",)

    sized = False

    def __init__(self) -> None:
        self.made = bytearray(0)
        """The memory that native MPI has received into."""

    @property
    def size(self) -> int:
        """How many bytes were allocated."""
        return len(self.made)

    def native(self, size: int) -> Any:
        """Return new memory."""
        self.made = bytearray(size)
        return [self.made, MPI.BYTE]

    def room(self, size: int) -> memoryview | None:  # noqa: ARG002 - landings with memory need it
        """Return None: the reader of the message allocates memory."""
        return None

    def land(self, data: Data) -> Data | None:
        """Keep the received bytes."""
        return data
