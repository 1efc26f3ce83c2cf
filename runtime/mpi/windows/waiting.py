"""What a process waits for at a window: what others have to do; and why it waits no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runtime.mpi.errors import CommunicatorRevoked
from runtime.mpi.progress.losses import LossHandler
from runtime.mpi.progress.operations import Operation

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.recovery import Recovery


class FirstError:
    """The first error of steps that are all taken, since other processes wait for each of them.

    >>> steps, taken = FirstError(), []
    >>> for step in (1, 0, 2):
    ...     with steps.goes_on():
    ...         taken.append(4 // step)
    >>> taken
    [4, 2]
    >>> steps.tell()
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer division or modulo by zero
    """

    def __init__(self) -> None:
        self._error: Exception | None = None

    @contextmanager
    def goes_on(self) -> Iterator[None]:
        """Take a step; keep its error."""
        try:
            yield
        except Exception as error:
            if self._error is None:
                self._error = error

    def tell(self) -> None:
        """Raise the first error, if there was any."""
        if self._error is not None:
            raise self._error


class WindowLosses(LossHandler):
    """Why calls at a window are refused: its communicator is closed, or a rank has given it up.

    A file of several clusters is given up in the same way.
    """

    def __init__(
        self,
        parent: Recovery,
        own: Recovery,
        name_of: Callable[[int], str],
        what: str = "window",
        end: str = "Free",
    ) -> None:
        """Know the communicator of the program, and the duplicate that the window has.

        `what` it is called, and the call that ends it.
        """
        super().__init__()
        self._parent, self._own, self._name_of = parent, own, name_of
        self._what, self._end = what, end
        self._fault: Exception | None = None

    def break_off(self, fault: Exception) -> None:
        """Refuse calls from now on, with the first such error; the lock is held.

        Others may wait for what is not served here any more, so it is given up everywhere.
        """
        if self._fault is None:
            self._fault = fault
            self._own.revoke()

    def end(self) -> None:
        """Let it alone again; the lock is held."""
        self._parent.closed_with_it.remove(self._own)

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return self._fault is not None or self._parent.is_closed or self._own.is_closed

    @property
    def error(self) -> Exception | None:  # type: ignore[override]  # also what broke the window itself
        """The error of calls; None while the window works."""
        if self._fault is not None:
            return self._fault
        by = self._own.revoked_by
        if self._parent.is_closed or by is None:
            return self._parent.error or self._own.error
        return CommunicatorRevoked(
            f"{self._name_of(by)} has given the {self._what} up, since it was broken there",
            cause="a rank was lost, the communicator revoked, or what one has sent cannot be read",
            cure=f"{self._end} it here, too, and make another one, after a loss of the communicator"
            " that Shrink returns",
        )


class Awaited(Operation):
    """Something that others have to do, which a predicate tells; it fails where one is lost."""

    __slots__ = ("_engine", "_indexes", "_recovery", "_what", "is_there")

    def __init__(
        self,
        engine: Engine,
        recovery: LossHandler,
        indexes: Sequence[int],
        what: str,
        is_there: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._engine, self._recovery, self._indexes, self._what = engine, recovery, indexes, what
        self.is_there = is_there

    def test(self) -> bool:
        """Ask whether it is there; the lock is held."""
        if self.done:
            return True
        if self.is_there():
            self.finish()
        elif self._recovery.is_closed:
            self.finish(self._recovery.error)
        elif self._engine.losses.gone:
            for one in self._indexes:
                if one in self._engine.losses.gone:
                    self.finish(self._engine.losses.of(one))
                    break
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._what

    def awaited(self) -> Sequence[int]:
        """Return who has to do it."""
        return self._indexes
