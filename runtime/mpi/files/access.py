"""An access to a file in progress: requests to its home, of which some are under way at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mpi4py import MPI

from runtime.files.faults import FileFault
from runtime.files.requests import FAILED, FileHeader, FileRequestKind
from runtime.mpi.progress.operations import Operation
from runtime.mpi.values.statuses import write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.files.accesses import AccessPiece

MOST_UNDER_WAY = 4
"""So many requests of an access wait for their answers at most: the home keeps their data."""


class WayToHome(Protocol):
    """A file, as what is asked of its home knows it."""

    path: str
    home: int
    """The index of the process that has the file."""
    home_in_words: str
    is_here: bool
    """Whether this process has it."""

    @property
    def trouble(self) -> Exception | None:
        """Why nothing is answered any more; None as long as it is."""

    def ask(self, header: FileHeader, asked: AskedHome, body: Sequence[memoryview] = ()) -> int:
        """Send a request that is answered; return its token. The lock is held."""

    def send(self, header: FileHeader, body: Sequence[memoryview]) -> None:
        """Send a request. The lock is held."""


class AskedHome(Operation):
    """Something that the home of a file answers; it fails with the home or the communicator."""

    __slots__ = ("_file",)

    def __init__(self, file: WayToHome) -> None:
        super().__init__()
        self._file = file
        self.source = MPI.UNDEFINED  # as MPI says where there is no message

    def test(self) -> bool:
        """Ask whether it is done; the lock is held."""
        if not self.done:
            error = self._file.trouble
            if error is not None:
                self.finish(error)
        return self.done

    def room(self, token: int, size: int) -> memoryview | None:
        """Return where the data of an answer go; None for memory of their own."""

    def answer(self, token: int, header: FileHeader, body: memoryview | None) -> None:
        """Take an answer; there is no body where that went into the room for it."""
        raise NotImplementedError

    def awaited(self) -> Sequence[int]:
        """Return the process that has to answer, if it is another one."""
        file = self._file
        return () if file.is_here else (file.home,)

    def describe(self) -> str:
        """Describe what is waited for."""
        return f"the file {self._file.path} at {self._file.home_in_words}"

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it."""
        super().finish(as_mpi_error(error) if isinstance(error, FileFault) else error)


class Turns:
    """Whose atomic access is being sent: one of this process at a time, until its last request.

    The lock of the home is the process's, and the request for it is no part of another access.
    """

    def __init__(self) -> None:
        self._queue: deque[FileAccess] = deque()
        self._is_moving = False

    def has(self, access: FileAccess) -> bool:
        """Return whether it is the turn of an access; one that is new comes last."""
        if access not in self._queue:
            self._queue.append(access)
        return self._queue[0] is access

    def over(self, access: FileAccess) -> None:
        """Let the next one begin: all of an access is sent."""
        if access in self._queue:
            self._queue.remove(access)
        if self._is_moving:
            return
        self._is_moving = True
        try:
            while self._queue:
                first = self._queue[0]
                first.go_on()
                if self._queue and self._queue[0] is first:
                    break
        finally:
            self._is_moving = False


class Number(AskedHome):
    """A number that the home answers with, such as the size of the file; `then` is told it."""

    __slots__ = ("_then", "number")

    def __init__(self, file: WayToHome, then: Callable[[int], None] | None = None) -> None:
        super().__init__(file)
        self._then = then
        self.number = 0

    def answer(self, token: int, header: FileHeader, body: memoryview | None) -> None:  # noqa: ARG002 - others have several
        """Take the answer."""
        if self.done:
            return
        if header.flags & FAILED:
            self.finish(FileFault.of(bytes(body or b"")))
            return
        self.number = header.length
        self.finish()
        if self._then is not None:
            self._then(self.number)


class FileAccess(AskedHome):
    """A read or a write. `memory` has its bytes, or gets them; then `done_with` is called.

    `runs` of it are known once `begin` is called, with the lock held.
    """

    __slots__ = (
        *("_counts", "_faults", "_left", "_memory", "_size", "_then", "_turns", "_under_way"),
    )

    def __init__(
        self,
        file: WayToHome,
        memory: memoryview,
        then: Callable[[int], object] | None = None,
    ) -> None:
        super().__init__(file)
        self._memory, self._then = memory, then
        self._size = len(memory)
        self._left: deque[AccessPiece] = deque()
        self._under_way: dict[int, AccessPiece] = {}
        self._counts: dict[int, int] = {}
        self._faults: dict[int, FileFault] = {}
        self._turns: Turns | None = None

    def begin(self, pieces: Iterable[AccessPiece], turns: Turns | None) -> None:
        """Ask for the first pieces; an atomic access does so when it is its turn."""
        self._left.extend(pieces)
        if self._left:
            self._turns = turns
            self.go_on()
        else:
            self.finish()

    def fail(self, error: BaseException) -> None:
        """End without having begun."""
        if not self.done:
            self.finish(error)

    def go_on(self) -> None:
        """Ask for more pieces, if not too many are under way."""
        if self._turns is not None and not self._turns.has(self):
            return
        while self._left and len(self._under_way) < MOST_UNDER_WAY:
            piece = self._left.popleft()
            body: list[memoryview] = [memoryview(piece.runs)] if piece.runs else []
            kind = piece.header.kind
            if kind == FileRequestKind.WRITE:
                body.append(self._memory[piece.at : piece.at + piece.size])
            try:
                if kind == FileRequestKind.LOCK:
                    self._file.send(piece.header, body)
                else:
                    self._under_way[self._file.ask(piece.header, self, body)] = piece
            except Exception as error:
                self.finish(error)
                return
        if not self._left:
            self._leave()

    def _leave(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.over(self)

    def room(self, token: int, size: int) -> memoryview | None:
        """Return the memory of a piece that is read, if all of it has come."""
        piece = self._under_way.get(token)
        is_whole = piece is not None and piece.header.kind == FileRequestKind.READ
        if piece is None or self.done or not is_whole or size != piece.size:
            return None
        return self._memory[piece.at : piece.at + size]

    def answer(self, token: int, header: FileHeader, body: memoryview | None) -> None:
        """Take the answer to a piece, and ask for the next one."""
        piece = self._under_way.pop(token)
        if self.done:
            return
        self._counts[piece.at] = header.length
        if header.flags & FAILED:
            self._faults[piece.at] = FileFault.of(bytes(body or b""))
        elif piece.header.kind == FileRequestKind.READ and body:
            self._memory[piece.at : piece.at + len(body)] = body
        if self._left:
            self.go_on()
        if not self._under_way and not self._left and not self.done:
            self._end()

    def _end(self) -> None:
        """Count what was done until the first piece that was not done whole."""
        ends = sorted(self._counts)
        for place, at in enumerate(ends):
            self.nbytes += self._counts[at]
            following = ends[place + 1] if place + 1 < len(ends) else self._size
            if at in self._faults or at + self._counts[at] < following:
                break
        if self._faults:
            self.finish(self._told(self._faults[min(self._faults)]))
            return
        try:
            if self._then is not None:
                self._then(self.nbytes)
        except Exception as error:
            self.finish(error)
            return
        self.finish()

    def _told(self, fault: FileFault) -> FileFault:
        file = self._file
        text = f"{self.nbytes} of {self._size} bytes were done at {file.home_in_words}: {fault}"
        return FileFault(fault.name, text)

    def fill(self, status: MPI.Status | None) -> None:
        """Say in a status how many bytes there were."""
        if status is not None:
            write(status, MPI.UNDEFINED, MPI.UNDEFINED, self.nbytes)

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it; what comes late stays out of the program's memory."""
        self._left.clear()
        if error is not None:
            self._memory = memoryview(b"")
        super().finish(error)
        self._leave()


def as_mpi_error(fault: FileFault) -> MPI.Exception:
    """Return MPI's error for what a file cannot do."""
    number: Any = getattr(MPI, fault.name)
    error = MPI.Exception(number)
    error.add_note(str(fault))
    return error
