"""What `gcm.h` offers to programs in C: the machine, walltimes, and messages between codes.

Each function takes the words that the header passes, and returns 0; what it finds is written where
the words say.
"""

# ruff: noqa: PLR0917 - what functions in C get

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.topology_attributes import LEVELS, TOPOLOGY_COLORS, TOPOLOGY_DEPTHS
from runtime.mpi.from_c.values import Values, check_given, write, write_handle
from runtime.mpi.progress.predefined import predefined

if TYPE_CHECKING:
    from runtime.mpi.from_c.calls import Call

_LENGTH_OF_CODE = 128
_ANY = -1

_Save = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Message(ctypes.Structure):
    """`gcm_message` of the header."""

    _fields_ = (
        ("code", ctypes.c_char * _LENGTH_OF_CODE),
        ("rank", ctypes.c_int),
        ("tag", ctypes.c_int),
        ("count", ctypes.c_int),
    )


class MisfitBetweenCodes(MPI.Exception):
    """A message between codes that does not fit what C waits for."""

    def __init__(self, code: int, sentence: str) -> None:
        """Say why; raised with a code of MPI."""
        super().__init__(code)
        self.sentence = sentence

    def __str__(self) -> str:
        return f"{super().__str__()}: {self.sentence}"


class OwnFunctions:
    """The functions of `gcm.h` for the code in C of this process."""

    def __init__(self, values: Values) -> None:
        """Find handles where `values` has them."""
        self._values = values
        self._handles: dict[str, int] = {}
        self._attributes: dict[tuple[int, int], tuple[Any, Any]] = {}
        """What was found of a communicator, and the arrays of C that have it."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        return {
            "gcm_comm": self._comm,
            "gcm_time_left": self._time_left,
            "gcm_before_walltime": self._before_walltime,
            "gcm_code": self._code,
            "gcm_code_size": self._code_size,
            "gcm_send": self._send,
            "gcm_recv": self._recv,
            "gcm_has": self._has,
        }

    # --- the machine ------------------------------------------------------------------------------

    def _comm(self, name: int, found: int) -> int:
        text = _text(name)
        if text not in self._handles:
            self._handles[text] = self._values.predefined(predefined().comms[text])
        write_handle(found, 0, self._handles[text])
        return 0

    def attribute(self, handle: int, keyval: int) -> int:
        """Return the address of what `MPI_Comm_get_attr` finds of the topology.

        It is the same as before while that is so: the program may keep it until it frees `handle`.
        """
        known = self._values.comm(handle).Get_attr(keyval)
        before, kept = self._attributes.get((handle, keyval), (None, None))
        if kept is not None and before == known:
            return ctypes.addressof(kept)
        if keyval == TOPOLOGY_DEPTHS:
            made: Any = (ctypes.c_int * len(known))(*known)
        else:
            rows = [(ctypes.c_int * len(LEVELS))(*row) for row in known]
            made = (ctypes.c_void_p * len(rows))(*map(ctypes.addressof, rows))
            made.rows = rows  # they live as long as it does
        self._attributes[handle, keyval] = known, made
        return ctypes.addressof(made)

    def forget(self, handle: int) -> None:
        """Forget the attributes of a communicator that is freed."""
        for keyval in (TOPOLOGY_DEPTHS, TOPOLOGY_COLORS):
            self._attributes.pop((handle, keyval), None)

    @staticmethod
    def save_what_is_due() -> None:
        """Let the code in C save, which may have registered that."""
        walltime = sys.modules.get("runtime.mpi.surface.walltime")
        if walltime is not None:
            walltime.save_what_is_due()

    # --- walltimes --------------------------------------------------------------------------------

    def _time_left(self, seconds: int) -> int:
        from runtime.mpi.surface.walltime import Time_left

        ctypes.c_double.from_address(seconds).value = Time_left()
        return 0

    def _before_walltime(self, save: int, what: int) -> int:
        from runtime.mpi.surface.walltime import Before_walltime

        check_given(save)
        call = _Save(save)
        Before_walltime(lambda: call(what))
        return 0

    # --- messages between codes -------------------------------------------------------------------

    def _code(self, name: int, size: int, rank: int) -> int:
        from runtime import coupling

        check_given(name)
        own = coupling.code.encode()[: size - 1]
        ctypes.memmove(name, own + b"\0", len(own) + 1)
        write(rank, coupling.rank)
        return 0

    def _code_size(self, code: int, size: int) -> int:
        from runtime import coupling

        name = _text(code) if code else coupling.code
        found = coupling.codes.get(name)
        if found is None:
            known = ", ".join(sorted(coupling.codes))
            raise MisfitBetweenCodes(MPI.ERR_ARG, f"there is no code {name}, only {known}")
        write(size, found)
        return 0

    def _send(self, data: int, count: int, kind: int, code: int, rank: int, tag: int) -> int:
        from runtime import coupling

        value = value_of(data, count, self._values.type(kind).datatype)
        coupling.send(value, code=_text(code), rank=rank, tag=tag)
        return 0

    def _recv(
        self, data: int, count: int, kind: int, code: int, rank: int, tag: int, told: int
    ) -> int:
        from runtime import coupling

        datatype = self._values.type(kind).datatype
        _check_memory(data, count)
        _dtype(datatype)  # so that what is wrong here takes no message away
        message = coupling.receive(**_pattern(code, rank, tag))
        whence = f"from rank {message.rank} of {message.code} with tag {message.tag}"
        found = bytes_of(message.value, datatype, f"a message {whence}")
        number = len(found) // max(1, datatype.size)
        if number > count:
            raise MisfitBetweenCodes(
                MPI.ERR_TRUNCATE, f"a message {whence} has {number} entries, of which {count} fit"
            )
        ctypes.memmove(data, found, len(found))
        if told:
            written = _Message.from_address(told)
            written.code = message.code.encode()[: _LENGTH_OF_CODE - 1]
            written.rank, written.tag, written.count = message.rank, message.tag, number
        return 0

    @staticmethod
    def _has(code: int, rank: int, tag: int, flag: int) -> int:
        from runtime import coupling

        write(flag, int(coupling.has(**_pattern(code, rank, tag))))
        return 0


def _pattern(code: int, rank: int, tag: int) -> dict[str, Any]:
    from runtime.coupling import ANY

    return {
        "code": _text(code) if code else ANY,
        "rank": ANY if rank == _ANY else rank,
        "tag": ANY if tag == _ANY else tag,
    }


def _text(address: int) -> str:
    if not address:
        raise MisfitBetweenCodes(MPI.ERR_ARG, "a name is missing, it is NULL")
    return ctypes.string_at(address).decode(errors="replace")


def value_of(address: int, count: int, datatype: MPI.Datatype) -> Any:
    """Return a copy of entries in memory as a program in Python receives it.

    Raises MPI.Exception for a type that is not basic.
    """
    _check_memory(address, count)
    data = ctypes.string_at(address, count * datatype.size) if count else b""
    if datatype == MPI.BYTE:
        return data
    if datatype == MPI.CHAR:
        return data.decode(errors="surrogateescape")
    import numpy as np

    return np.frombuffer(bytearray(data), _dtype(datatype))


def bytes_of(value: Any, datatype: MPI.Datatype, what: str) -> bytes:
    """Return what C receives of a value that a program has sent.

    Raises MPI.Exception for what the type does not hold without loss; `what` is sent.
    """
    if datatype == MPI.BYTE and isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if datatype == MPI.CHAR and isinstance(value, str):
        return value.encode(errors="surrogateescape")
    import numpy as np

    wanted = _dtype(datatype)
    is_array = isinstance(value, np.ndarray | np.generic)
    try:
        given = np.asarray(value)
        if _may_become(given.dtype, wanted, is_array=is_array):
            received: bytes = _converted(given, wanted).tobytes()
            return received
        found = str(given.dtype) if given.dtype != object else type(value).__name__
    except (TypeError, ValueError, OverflowError) as error:
        found = f"{type(value).__name__} ({error})"
    raise MisfitBetweenCodes(MPI.ERR_TYPE, f"{what} has {found}, and {datatype.name} is received")


def _may_become(given: Any, wanted: Any, *, is_array: bool) -> bool:
    """Return whether values of one type may be of another if that holds them.

    Numbers of Python have no size: an integer may be of any type, and others may be rounded.
    """
    import numpy as np

    is_integer = not is_array and given.kind in "iu" and wanted.kind in "iu"
    return is_integer or np.can_cast(given, wanted, "safe" if is_array else "same_kind")


def _converted(given: Any, wanted: Any) -> Any:
    """Return numbers in another type; raises OverflowError for what that does not hold.

    No integer is changed, as casts that numpy calls safe may do; others may be rounded, but not
    become infinite.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        made = given.astype(wanted)
    of_integers = given.dtype.kind in "iu" and wanted.kind in "iufc"
    exact = np.can_cast(given.dtype, wanted, "safe") and (
        given.dtype.itemsize < np.dtype("i8").itemsize or given.dtype.kind == wanted.kind
    )
    if of_integers and not exact:
        changed = made.astype(object) != given.astype(object)
    elif given.dtype.kind in "fc" and not exact:
        changed = np.isfinite(made) != np.isfinite(given)
    else:
        return made
    if np.any(changed):
        raise OverflowError(f"{given[changed].flat[0]} does not fit")
    return made


def _check_memory(address: int, count: int) -> None:
    """Raise MPI.Exception unless so many entries may be there."""
    if count < 0:
        raise MPI.Exception(MPI.ERR_COUNT)
    if count and not address:
        raise MisfitBetweenCodes(MPI.ERR_BUFFER, f"the memory of {count} entries is NULL")


def _dtype(datatype: MPI.Datatype) -> Any:
    """Return the type of numpy; raises MPI.Exception for pairs, wide characters, own types."""
    import numpy as np

    try:
        found = np.dtype(datatype.tocode()) if datatype.is_predefined else None
    except (TypeError, ValueError):
        found = None
    if found is None or found.itemsize != datatype.size:
        raise MisfitBetweenCodes(
            MPI.ERR_TYPE,
            f"{datatype.name or 'a type of the program'} is no basic type; pack what is sent",
        )
    return found
