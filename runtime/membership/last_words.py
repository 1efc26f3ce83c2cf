"""What a rank that fails tells its front-end: its exception, and which other ranks it had lost.

Nothing of this is loaded, or done, where a program ends well.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from runtime.home import HOME

if TYPE_CHECKING:
    from traceback import TracebackException

MOST_TEXT = 32 << 10
"""How many characters of a traceback are told: the first and the last ones."""

MOST_LOST = 1000
"""How many ranks are named that were lost."""

_LOSSES = {
    ("runtime.mpi.errors", "ProcessGone"),
    ("runtime.mpi.errors", "ProcessGonePending"),
    ("runtime.mpi.errors", "CommunicatorRevoked"),
    ("runtime.mpi.errors", "OutOfStep"),
    ("runtime.coupling.errors", "CodeEnded"),
}
"""The errors that tell that something else has failed."""

_OF_MPI4PY = "src/mpi4py/"
"""How the files begin that frames of mpi4py itself name."""

_FAILED_ELSEWHERE = ("ERR_PROC_FAILED", "ERR_PROC_ABORTED", "ERR_OTHER", "ERR_INTERN")
"""The classes of errors with which a native MPI tells that, more often than something else."""


def last_words(error: BaseException | None) -> dict[str, Any]:
    """Return what an `Observation` has of a rank that fails now, with this error if with any."""
    if error is None:
        return {"lost": lost()}
    if isinstance(error, SystemExit):
        return {"lost": lost(), "is_loss": is_about_others(error)}
    import traceback

    told = traceback.TracebackException.from_exception(error)
    if _is_of_a_call(error):
        _leave_out_own(told)
    text = "".join(told.format()).rstrip("\n")
    *_, line = traceback.format_exception_only(error)
    return {
        "exception": line.strip()[:MOST_TEXT], "traceback": bounded(text), "lost": lost(),
        "is_loss": is_about_others(error),
    }  # fmt: skip


def last_words_of_abort(error: BaseException | None) -> dict[str, Any]:
    """Return the same of a rank that ends the run here, because of an error if it names one.

    Else that may be the error which the program handles just now. One that was never raised knows
    no calls; those of the program are told instead.
    """
    error = error or sys.exc_info()[1]
    words = last_words(error)
    if error is None or error.__traceback__ is None:
        import traceback

        own = os.path.join(HOME, "runtime", "")
        calls = [one for one in traceback.extract_stack() if not _is_own(one.filename, own)]
        said = traceback.format_exception_only(error) if error is not None else []
        head = "Traceback (most recent call last):\n"
        text = "".join([head, *traceback.format_list(calls), *said]).rstrip("\n")
        words["traceback"] = bounded(text)
    return words


def _is_of_a_call(error: BaseException) -> bool:
    """Tell whether a call of MPI raises it: then the program's line says where, none of ours."""
    errors, mpi = sys.modules.get("runtime.errors"), sys.modules.get("mpi4py.MPI")
    kinds = tuple(
        getattr(one, name)
        for one, name in [(errors, "GridError"), (mpi, "Exception")]
        if one is not None
    )
    return isinstance(error, kinds)


def _leave_out_own(told: TracebackException) -> None:
    """Leave out the innermost calls if they are ours, unless all of them are."""
    own = os.path.join(HOME, "runtime", "")
    left = len(told.stack)
    while left and _is_own(told.stack[left - 1].filename, own):
        left -= 1
    if left:
        del told.stack[left:]


def _is_own(path: str, own: str) -> bool:
    return path.startswith((own, "<frozen", _OF_MPI4PY))


def is_about_others(error: BaseException) -> bool:
    """Tell whether an error, or one that led to it, says that another rank has failed."""
    return any(_is_loss(one) for one in _chain(error))


def lost() -> tuple[str, ...]:
    """Return the ranks that this one has lost, or that have ended before it."""
    mpi = sys.modules.get("runtime.mpi.progress.predefined")
    engine = None if mpi is None else mpi.running_engine()
    return () if engine is None else tuple(engine.names_of_gone()[:MOST_LOST])


def bounded(text: str) -> str:
    """Return a text of bearable length.

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
