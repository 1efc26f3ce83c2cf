"""The last report of a failing rank to its front-end: its exception, and the ranks it had lost.

A program that ends well neither loads nor runs this.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.home import HOME
from runtime.lazy_import import imported

if TYPE_CHECKING:
    from traceback import TracebackException

MOST_TEXT = 32 << 10
"""Characters of a traceback that a report keeps: the first and the last ones."""

MOST_LOST = 1000
"""Lost ranks that a report names."""

_LOSSES = {
    ("runtime.mpi.errors", "ProcessGone"),
    ("runtime.mpi.errors", "ProcessGonePending"),
    ("runtime.mpi.errors", "CommunicatorRevoked"),
    ("runtime.mpi.errors", "OutOfStep"),
    ("runtime.coupling.errors", "CodeEnded"),
}
"""The errors that report the failure of another process."""

_OF_MPI4PY = "src/mpi4py/"
"""The prefix of the files in frames of mpi4py itself."""

_FAILED_ELSEWHERE = ("ERR_PROC_FAILED", "ERR_PROC_ABORTED", "ERR_OTHER", "ERR_INTERN")
"""Error classes by which a native MPI mostly reports the failure of another process."""


def last_words(error: BaseException | None) -> dict[str, Any]:
    """Return the fields of an `Observation` for a rank that fails now, with the error if any."""
    if error is None:
        return {"lost": lost()}
    if isinstance(error, SystemExit):
        return _losses(error)
    import traceback

    trace = traceback.TracebackException.from_exception(error)
    if _is_of_a_call(error):
        _leave_out_own(trace)
    text = "".join(trace.format()).rstrip("\n")
    *_, line = traceback.format_exception_only(error)
    return {
        "exception": line.strip()[:MOST_TEXT], "traceback": bounded(text), **_losses(error),
    }  # fmt: skip


def last_words_of_abort(error: BaseException | None) -> dict[str, Any]:
    """Return the last report of a rank that aborts the run, because of an error if it names one.

    Without one, it is the error that the program handles just now, if any. An error that was never
    raised has no traceback; the calls of the program take its place.
    """
    is_own_choice = error is None and _may_survive()
    error = error or sys.exc_info()[1]
    words = last_words(error)
    if is_own_choice:
        words["is_loss"] = False
    if error is None or error.__traceback__ is None:
        import traceback

        own = os.path.join(HOME, "runtime", "")
        calls = [one for one in traceback.extract_stack() if not _is_own(one.filename, own)]
        raised = traceback.format_exception_only(error) if error is not None else []
        head = "Traceback (most recent call last):\n"
        text = "".join([head, *traceback.format_list(calls), *raised]).rstrip("\n")
        words["traceback"] = bounded(text)
    return words


def _is_of_a_call(error: BaseException) -> bool:
    """Return whether a call of MPI raised the error: then only the program's lines are shown."""
    errors, mpi = sys.modules.get("runtime.errors"), sys.modules.get("mpi4py.MPI")
    kinds = tuple(
        getattr(one, name)
        for one, name in [(errors, "GridError"), (mpi, "Exception")]
        if one is not None
    )
    return isinstance(error, kinds)


def _leave_out_own(trace: TracebackException) -> None:
    """Remove the innermost calls that are of this package, unless all of them are."""
    own = os.path.join(HOME, "runtime", "")
    left = len(trace.stack)
    while left and _is_own(trace.stack[left - 1].filename, own):
        left -= 1
    if left:
        del trace.stack[left:]


def _is_own(path: str, own: str) -> bool:
    return path.startswith((own, "<frozen", _OF_MPI4PY))


def _losses(error: BaseException) -> dict[str, Any]:
    """Return the fields that tell whether an error reports a loss, and of whom.

    An error that a loss has led to counts as well, but not in a program that may survive losses:
    it has caught the loss, and what it does then is its own end. A loss that it has survived, by a
    recovery or by acknowledging it, is none any more.
    """
    left, engine = lost(), _running_engine()
    errors = (error,) if _may_survive() else _chain(error)
    named = {getattr(one, "process", "") for one in errors if _is_loss(one)}
    if "" not in named:
        about = tuple(one for one in left if one in named)
        return {"lost": about or left, "is_loss": bool(about)}
    has_survived = engine is not None and bool(engine.losses.survived)
    return {"lost": left, "is_loss": bool(left) or not has_survived}


def _may_survive() -> bool:
    """Return whether the program is told of losses, so that it can go on without lost ranks."""
    from runtime.membership.rank_link import current

    link = current()
    if link is None:
        return False
    settings = link.wrapper.settings
    return settings.failures == "return" and settings.replicas == 1


def lost() -> tuple[str, ...]:
    """Return the ranks that this one has lost, or that have ended before it.

    Losses that the program has survived are not among them.
    """
    engine = _running_engine()
    return () if engine is None else tuple(engine.names_of_gone()[:MOST_LOST])


def _running_engine() -> Any:
    mpi = imported("runtime.mpi.progress.predefined")
    return None if mpi is None else mpi.running_engine()


def bounded(text: str) -> str:
    """Return a text, its middle cut out if it is longer than MOST_TEXT.

    >>> len(bounded("x" * 100_000)) < 40_000
    True
    """
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    return f"{text[:half]}\n  ... {len(text) - MOST_TEXT} characters more ...\n{text[-half:]}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__


def _is_loss(error: BaseException) -> bool:
    kind = type(error)
    if (kind.__module__, kind.__name__) in _LOSSES:
        return True
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not kind.__module__.startswith("mpi4py") or kind.__name__ != "Exception":
        return False
    classes = {getattr(mpi, name, None) for name in _FAILED_ELSEWHERE}
    return error.Get_error_class() in classes  # type: ignore[attr-defined]  # MPI's own has it
