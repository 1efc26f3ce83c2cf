"""Whether MPI is initialised, as a program sees it: `mpi4py.rc`, `Init` and `Finalize`.

In a rank that a front-end has started MPI is initialised before the program begins, with all that
threads need. The program sees what mpi4py would have done for it: MPI that is not initialised until
it calls `Init` if `rc.initialize` is false, and the level of threads that it has asked for.
Anywhere else all calls are mpi4py's own.
"""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI

from runtime.membership.rank_link import current
from runtime.mpi.communicators.attributes import let_looks_end
from runtime.mpi.errors import keep_strings
from runtime.mpi.process.options import LEVELS, YES, option
from runtime.mpi.progress.predefined import finish
from runtime.mpi.values.numbers import integer

CALLS = ("Init", "Init_thread", "Is_initialized", "Query_thread", "Finalize", "Is_finalized")
_native: dict[str, Callable[..., object]] = {name: getattr(MPI, name) for name in CALLS}


class _Lifetime:
    """The lifetime of MPI as the program sees it, in a rank where it is always initialised."""

    def __init__(self) -> None:
        level = str(option("thread_level")) if option("threads") in YES else "single"
        self.is_up = option("initialize") in YES
        self.level = LEVELS.index(level) + MPI.THREAD_SINGLE
        self.is_over = False

    def begin(self, level: int) -> bool:
        """Begin at a level of thread support; return False if it has begun before."""
        if self.is_up:
            return False
        self.is_up, self.level = True, level
        return True

    def check(self) -> None:
        """Raise MPI's error if MPI is not initialised yet."""
        if not self.is_up:
            error = MPI.Exception(MPI.ERR_OTHER)
            error.add_note("mpi4py.rc.initialize is false, and MPI.Init has not been called")
            raise error


_life: _Lifetime | None = None
_whenever_up: list[Callable[[], None]] = []


def _lifetime() -> _Lifetime | None:
    """Return the lifetime that this rank simulates; None where a program initialises MPI itself."""
    global _life  # noqa: PLW0603 - mpi4py asks once in a process, too
    if _life is None and current() is not None:
        _life = _Lifetime()
    return _life


def when_up(begin: Callable[[], None]) -> None:
    """Call a function when MPI is initialised: now, or when the program has called `Init`."""
    _lifetime()
    if MPI.Is_initialized():
        begin()
    else:
        _whenever_up.append(begin)


def before_end(call: Callable[[], None]) -> Callable[[], None]:
    """Call a function when MPI is finalised, also by code in C; return what calls it before.

    MPI deletes the attributes of COMM_SELF first, while everything works still. Python has ended
    when mpi4py finalises MPI by itself, so this has to be done before.
    """
    key = MPI.Comm.Create_keyval(delete_fn=lambda *_: call())
    MPI.COMM_SELF.Set_attr(key, True)

    def now() -> None:
        if not MPI.Is_finalized():
            MPI.COMM_SELF.Delete_attr(key)

    return now


def _is_up() -> None:
    while _whenever_up:
        _whenever_up.pop(0)()


def Init() -> None:
    """Initialise MPI."""
    life = _lifetime()
    if life is None or not life.begin(MPI.THREAD_SINGLE):
        _native["Init"]()
    _is_up()


def Init_thread(required: int = MPI.THREAD_MULTIPLE) -> int:
    """Initialise MPI for threads, and return the provided level."""
    life, level = _lifetime(), integer(required)
    provided = max(MPI.THREAD_SINGLE, min(level, MPI.THREAD_MULTIPLE))
    if life is None or not life.begin(provided):
        provided = integer(_native["Init_thread"](level))
    _is_up()
    return provided


def Is_initialized() -> bool:
    """Return whether MPI has been initialised."""
    life = _lifetime()
    return bool(_native["Is_initialized"]()) if life is None else life.is_up


def Query_thread() -> int:
    """Return the provided level of thread support."""
    life = _lifetime()
    if life is None or _native["Is_finalized"]():
        return integer(_native["Query_thread"]())
    life.check()
    return life.level


def Finalize() -> None:
    """Flush messages, then finalise the native MPI of this cluster.

    Where the program goes on without lost ranks, native MPI is left as it is: it waits for them.
    """
    life = _lifetime()
    if life is not None:
        life.check()
        link = current()
        life.is_over = link is not None and link.wrapper.settings.goes_on
    finish()
    let_looks_end()
    if life is None or not life.is_over:
        _native["Finalize"]()
    keep_strings()


def Is_finalized() -> bool:
    """Return whether MPI has been finalised."""
    life = _lifetime()
    return (life is not None and life.is_over) or bool(_native["Is_finalized"]())


def put_into_mpi4py() -> None:
    """Show the same to a program that uses mpi4py's own `MPI`: it is initialised, too."""
    from runtime.mpi.surface.open_sessions import OpenSession

    vars(MPI).update({name: globals()[name] for name in CALLS}, Session=OpenSession)
