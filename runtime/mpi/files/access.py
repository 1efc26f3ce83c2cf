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

MOST_UNDER_WAY = 16 << 20
"""Where so many bytes of a process's accesses are under way no more are asked for: the home has
them in memory. As much as what one process may be owed of a window."""

_OF_REQUEST = 1 << 10
"""What a request takes at the home beside its data."""


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


class AccessQueue:
    """The accesses of a process that are not asked for yet, and how much is under way.

    One is asked for after the other, so that nothing comes between the requests of an atomic one.
    What is under way takes memory of the home: it may be read while this process computes.
    """

    def __init__(self) -> None:
        self._accesses: deque[FileAccess] = deque()
        self._under_way = 0
        self._is_moving = False

    def add(self, access: FileAccess) -> None:
        """Ask for an access when its turn comes."""
        self._accesses.append(access)
        self.go_on()

    def answered(self, piece: AccessPiece) -> None:
        """Ask for more, now that a piece is under way no longer."""
        self._under_way -= _weight(piece)
        self.go_on()

    def go_on(self) -> None:
        """Ask for what comes next, if not too much is under way; not one inside another."""
        if self._is_moving:
            return
        self._is_moving = True
        try:
            while self._accesses and self._under_way < MOST_UNDER_WAY:
                first = self._accesses[0]
                if not first.left:
                    self._accesses.popleft()
                    continue
                weight = _weight(first.left[0])
                if first.ask_next():
                    self._under_way += weight
        finally:
            self._is_moving = False


def _weight(piece: AccessPiece) -> int:
    """Return about how many bytes the home keeps for a piece."""
    return piece.size + len(piece.runs) + _OF_REQUEST


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
        *("_counts", "_faults", "_memory", "_queue", "_size", "_then", "_under_way", "left"),
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
        self.left: deque[AccessPiece] = deque()
        """What is still to be asked for."""
        self._under_way: dict[int, AccessPiece] = {}
        self._counts: dict[int, int] = {}
        self._faults: dict[int, FileFault] = {}
        self._queue: AccessQueue | None = None

    def begin(self, pieces: Iterable[AccessPiece], queue: AccessQueue) -> None:
        """Ask for the pieces when it is the turn of this access."""
        self.left.extend(pieces)
        if self.left:
            self._queue = queue
            queue.add(self)
        else:
            self.finish()

    def fail(self, error: BaseException) -> None:
        """End without having begun."""
        if not self.done:
            self.finish(error)

    def ask_next(self) -> bool:
        """Ask for the next piece; return whether that will be answered."""
        piece = self.left.popleft()
        body: list[memoryview] = [memoryview(piece.runs)] if piece.runs else []
        kind = piece.header.kind
        if kind == FileRequestKind.WRITE:
            body.append(self._memory[piece.at : piece.at + piece.size])
        try:
            if kind == FileRequestKind.LOCK:
                self._file.send(piece.header, body)
                return False
            self._under_way[self._file.ask(piece.header, self, body)] = piece
        except Exception as error:
            self.finish(error)
            return False
        return True

    def room(self, token: int, size: int) -> memoryview | None:
        """Return the memory of a piece that is read, if all of it has come."""
        piece = self._under_way.get(token)
        is_whole = piece is not None and piece.header.kind == FileRequestKind.READ
        if piece is None or self.done or not is_whole or size != piece.size:
            return None
        return self._memory[piece.at : piece.at + size]

    def answer(self, token: int, header: FileHeader, body: memoryview | None) -> None:
        """Take the answer to a piece, and let the next ones be asked for."""
        piece = self._under_way.pop(token)
        if not self.done:
            self._take(piece, header, body)
        assert self._queue is not None, "it was asked for"
        self._queue.answered(piece)

    def _take(self, piece: AccessPiece, header: FileHeader, body: memoryview | None) -> None:
        self._counts[piece.at] = header.length
        if header.flags & FAILED:
            self._faults[piece.at] = FileFault.of(bytes(body or b""))
        elif piece.header.kind == FileRequestKind.READ and body:
            self._memory[piece.at : piece.at + len(body)] = body
        if not self._under_way and not self.left:
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
        self.left.clear()
        if error is not None:
            self._memory = memoryview(b"")
        super().finish(error)


def as_mpi_error(fault: FileFault) -> MPI.Exception:
    """Return MPI's error for what a file cannot do."""
    number: Any = getattr(MPI, fault.name)
    error = MPI.Exception(number)
    error.add_note(str(fault))
    return error
