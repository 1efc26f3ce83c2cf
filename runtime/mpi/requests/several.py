"""Completing several requests at once, of the grid and of native MPI in any mix.

Such a call refers to no communicator, so the error handler of COMM_SELF is called for errors. For
errors that native MPI finds it has called that already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.errors import GridMPIError, tell
from runtime.mpi.progress.native_waits import NATIVE, settle
from runtime.mpi.requests.parts import (
    correct,
    describe,
    ended,
    engine_of,
    finish,
    finish_object,
    is_ours,
    operation_of,
)
from runtime.mpi.values.statuses import clear, error_class_of, hand_out

if TYPE_CHECKING:
    from runtime.mpi.progress.decision_points import DecisionPoints
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.operations import Operation

    T = TypeVar("T")

_truncation: Any = LazyModule("runtime.mpi.values.truncation")


class Mix:
    """Several requests: those of the grid, and those of native MPI, each with its position."""

    def __init__(self, requests: Sequence[MPI.Request], *, objects: bool = False) -> None:
        self.size = len(requests)
        self.objects = objects
        self.mine: list[tuple[int, MPI.Request]] = []
        self.places: list[int] = []
        self.natives: list[MPI.Request] = []
        for place, request in enumerate(requests):
            if is_ours(request):
                self.mine.append((place, request))
            else:
                self.places.append(place)
                self.natives.append(request)
        self.chosen: tuple[int, ...] | None = None
        """The positions of those that may be completed; None if replicas need not agree."""
        self.left: list[Operation] = []
        """The operations in progress, the last first; the others are done, or persistent and not
        begun.
        """
        for _, request in reversed(self.mine):
            operation = operation_of(request)
            if operation is not None:
                self.left.append(operation)

    def done(self) -> Iterator[tuple[int, MPI.Request]]:
        """Yield those of the grid that are done."""
        for one in self.mine:
            operation = operation_of(one[1])
            if self.chosen is not None and one[0] not in self.chosen:
                continue
            if operation is not None and operation.test():
                yield one

    def agree(self, *, most: int | None = None, waits: bool = False) -> None:
        """Let the replicas of a rank complete the same ones; do nothing if there are none."""
        decisions = self._decisions()
        if decisions is None:
            return
        going_on = [(place, operation_of(request)) for place, request in self.mine]
        operations = [(place, one) for place, one in going_on if one is not None]
        natives = list(zip(self.places, self.natives, strict=True))
        self.chosen = decisions.which_are_done(operations, natives, most=most, waits=waits)
        chosen = [(place, one) for place, one in natives if place in self.chosen]
        self.places, self.natives = [place for place, _ in chosen], [one for _, one in chosen]

    def _decisions(self) -> DecisionPoints | None:
        """Return the decision points; None if all are of a process with itself."""
        engine = self.engine() if self.left else None
        return None if engine is None else engine.decisions

    def are_done(self, *, waits: bool = False) -> bool:
        """Return whether all of the grid are done; tests again only the first that was not."""
        decisions = None if waits else self._decisions()
        if decisions is not None:
            return decisions.are_all_done(self.left, self.natives)
        left = self.left
        while left and left[-1].test():
            left.pop()
        return not left

    def engine(self) -> Engine | None:
        """Return the engine to wait with; None if native MPI is to wait itself."""
        one = self.mine[0][1] if self.mine else self.natives[0] if self.natives else MPI.Request()
        return engine_of(one)

    def complete(
        self, request: MPI.Request, status: MPI.Status | None
    ) -> tuple[BaseException | None, Any]:
        """End a request of the grid that is done; return its error, and its object."""
        operation = operation_of(request)
        if operation is not None and operation.error is not None:
            describe(request, status)
            return ended(request, operation), None
        if self.objects:
            return None, finish_object(request, status)
        finish(request, status)
        return None, None


def any_of(
    requests: Sequence[MPI.Request],
    status: MPI.Status | None,
    *,
    objects: bool = False,
    waits: bool = False,
) -> tuple[int, bool, Any]:
    """Complete one that is done; return which, whether there is one, and its object.

    This and those below do so once one is done if they wait.
    """
    mix = _begun(requests, objects=objects, waits=waits)
    mix.agree(most=1, waits=waits)
    return _until(mix, lambda: _any(mix, status), lambda found: found[1], waits=waits)


def all_of(
    requests: Sequence[MPI.Request],
    statuses: Sequence[MPI.Status] | None,
    *,
    objects: bool = False,
    waits: bool = False,
) -> list[Any] | None:
    """Complete all if all are done; return their objects, or None."""
    mix = _begun(requests, objects=objects, waits=waits)

    def attempt() -> list[Any] | None:
        return _all(mix, statuses, gives_up=waits)

    return _until(mix, attempt, lambda found: found is not None, waits=waits)


def some_of(
    requests: Sequence[MPI.Request],
    statuses: Sequence[MPI.Status] | None,
    *,
    objects: bool = False,
    waits: bool = False,
) -> tuple[list[int] | None, list[Any] | None]:
    """Complete those that are done; return which, and their objects."""
    mix = _begun(requests, objects=objects, waits=waits)
    mix.agree(waits=waits)
    return _until(mix, lambda: _some(mix, statuses), lambda found: found[0] != [], waits=waits)


def _begun(requests: Sequence[MPI.Request], *, objects: bool = False, waits: bool = False) -> Mix:
    """Return requests after one step of progress, unless the call waits."""
    mix = Mix(requests, objects=objects)
    engine = mix.engine() if mix.mine and not waits else None
    if engine is not None:
        engine.ask()
    return mix


def status_any(requests: Sequence[MPI.Request], status: MPI.Status | None) -> tuple[int, bool]:
    """Return whether one is done, and which."""
    mix = _begun(requests)
    mix.agree(most=1)
    for place, request in mix.done():
        describe(request, status)
        return place, True
    index, flag = MPI.Request.Get_status_any(mix.natives, status)
    if index != MPI.UNDEFINED and flag:
        correct(mix.natives[index], status)
        return mix.places[index], True
    return MPI.UNDEFINED, flag and not mix.left


def status_all(requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None) -> bool:
    """Return whether all are done."""
    mix = _begun(requests)
    found = [MPI.Status() for _ in requests]
    near = [found[place] for place in mix.places]
    if not mix.are_done() or not MPI.Request.Get_status_all(mix.natives, near):
        return False
    _correct_all(mix, near)
    for place, request in mix.mine:
        describe(request, found[place])
    hand_out(found, statuses)
    return True


def status_some(
    requests: Sequence[MPI.Request], statuses: Sequence[MPI.Status] | None
) -> list[int] | None:
    """Return which are done, or None if none can be waited for."""
    mix = _begun(requests)
    mix.agree()
    found: list[MPI.Status] = []
    near = MPI.Request.Get_status_some(mix.natives, found)
    if near is None and not mix.left:
        return None
    indices = [mix.places[index] for index in near or ()]
    for place, request in mix.done():
        indices.append(place)
        found.append(MPI.Status())
        describe(request, found[-1])
    hand_out(found, statuses)
    return indices


def _any(mix: Mix, status: MPI.Status | None) -> tuple[int, bool, Any]:
    for place, request in mix.done():
        error, loaded = mix.complete(request, status)
        if error is not None:
            tell(MPI.COMM_SELF, error)
        return place, True, loaded
    index, flag, found = _native_any(mix, status)
    if flag and index != MPI.UNDEFINED:
        correct(mix.natives[index], status)
        return mix.places[index], True, found
    is_idle = flag and not mix.left
    if is_idle:
        clear(status)
    return MPI.UNDEFINED, is_idle, None


def _native_any(mix: Mix, status: MPI.Status | None) -> tuple[int, bool, Any]:
    if mix.objects:
        return MPI.Request.testany(mix.natives, status)
    return (*MPI.Request.Testany(mix.natives, status), None)


def _all(mix: Mix, statuses: Sequence[MPI.Status] | None, *, gives_up: bool) -> list[Any] | None:
    """Complete all if all are done; with `gives_up`, return at the first error of native MPI.

    Requests that are not done then have ERR_PENDING in their status and stay active.
    """
    if not mix.are_done(waits=gives_up):
        return None
    found = [MPI.Status() for _ in range(mix.size)]
    near = [found[place] for place in mix.places]
    objects: list[Any] = [None] * mix.size
    raised: MPI.Exception | None = None
    try:
        done, near_objects = _native_all(mix, near)
    except MPI.Exception as error:
        done, near_objects, raised = True, [None] * len(near), error
    if not (done or (gives_up and _has_error(near))):
        return None
    for place, one in zip(mix.places, near_objects, strict=True):
        objects[place] = one
    _correct_all(mix, near)
    errors = _complete_all(mix, mix.mine, found, objects)
    is_told = bool(errors) and _has_error(near)
    hand_out(found, statuses)
    _raise_one_of(errors, raised, near, is_told=is_told)
    return objects


def _native_all(mix: Mix, near: list[MPI.Status]) -> tuple[bool, list[Any]]:
    if mix.objects:
        done, objects = MPI.Request.testall(mix.natives, near)
        return done, objects or [None] * len(near)
    return MPI.Request.Testall(mix.natives, near), [None] * len(near)


def _some(
    mix: Mix, statuses: Sequence[MPI.Status] | None
) -> tuple[list[int] | None, list[Any] | None]:
    found: list[MPI.Status] = []
    raised: MPI.Exception | None = None
    before = list(map(bool, mix.natives))
    try:
        near, objects = _native_some(mix, found)
    except MPI.Exception as error:
        near = [one for one, was in enumerate(before) if was and not mix.natives[one]]
        objects, raised = [None] * len(near), error
        del found[len(near) :]
    if near is None and not mix.left:
        return None, None
    for index, status in zip(near or (), found, strict=False):
        correct(mix.natives[index], status)
    indices = [mix.places[index] for index in near or ()]
    ended = list(mix.done())
    done = [(len(indices) + number, one) for number, (_, one) in enumerate(ended)]
    statuses_near = list(found)
    is_told = bool(done) and _has_error(found)
    indices.extend(place for place, _ in ended)
    found.extend(MPI.Status() for _ in done)
    objects.extend(None for _ in done)
    errors = _complete_all(mix, done, found, objects)
    hand_out(found, statuses)
    _raise_one_of(errors, raised, statuses_near, is_told=is_told)
    return indices, objects


def _native_some(mix: Mix, found: list[MPI.Status]) -> tuple[list[int] | None, list[Any]]:
    if mix.objects:
        near, objects = MPI.Request.testsome(mix.natives, found)
        return near, objects or []
    near = MPI.Request.Testsome(mix.natives, found)
    return near, [None] * len(near or ())


def _complete_all(
    mix: Mix,
    done: Sequence[tuple[int, MPI.Request]],
    found: list[MPI.Status],
    objects: list[Any],
) -> list[BaseException]:
    """End requests of the grid, and return the errors of those that failed."""
    errors: list[BaseException] = []
    for place, request in done:
        error, objects[place] = mix.complete(request, found[place])
        if error is not None:
            found[place].error = error_class_of(error)
            errors.append(error)
    return errors


def _has_error(statuses: Sequence[MPI.Status]) -> bool:
    return any(one.error != MPI.SUCCESS for one in statuses)


def _raise_one_of(
    errors: Sequence[BaseException],
    raised: MPI.Exception | None,
    near: Sequence[MPI.Status],
    *,
    is_told: bool,
) -> None:
    """Raise the most useful error: a loss, which names a process, or what native MPI `raised`.

    The latter, and the error that stands for several, say only that statuses have errors; the first
    of these is its note.
    """
    for error in errors:
        if isinstance(error, GridMPIError):
            tell(MPI.COMM_SELF, error)
    if raised is not None:
        failed = (one.error for one in near if one.error not in (MPI.SUCCESS, MPI.ERR_PENDING))
        if code := next(failed, 0):
            said = MPI.Get_error_string(code)
            raised.add_note(_truncation.sizes_in(said) or said.partition("\n")[0])
        raise raised
    if errors and not is_told:
        several = MPI.Exception(MPI.ERR_IN_STATUS)
        for note in getattr(errors[0], "__notes__", [str(errors[0])]):
            several.add_note(note)
        tell(MPI.COMM_SELF, several)


def _correct_all(mix: Mix, near: Sequence[MPI.Status]) -> None:
    for request, status in zip(mix.natives, near, strict=True):
        correct(request, status)


def _until(
    mix: Mix, attempt: Callable[[], T], is_enough: Callable[[T], object], *, waits: bool
) -> T:
    """Try once; if the call waits, try again until it succeeds, and sleep in between."""
    found = attempt()
    engine = mix.engine()
    if not waits or is_enough(found):
        return found

    def again() -> object:
        nonlocal found
        found = attempt()
        return is_enough(found)

    if engine is None:
        while not again():
            pass
    elif not mix.mine:
        settle(engine, again)
    else:
        engine.waits.wait(
            lambda: bool(again()), lambda: [*mix.left, NATIVE] if any(mix.natives) else mix.left
        )
    return found
