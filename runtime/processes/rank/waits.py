"""A rank's own look at how long its calls take: a thread that sleeps, looks, and tells."""

from __future__ import annotations

import _thread
import time

from runtime.lazy_import import imported, logger

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.machine.rank_states import RankState, UnreceivedMessage
    from runtime.machine.wrapper import RankWrapper
    from runtime.mpi.surface.waiting_calls import CallWatch, ThreadsLook
    from runtime.processes.rank.native_libraries import NativeLibraries

LOOKS = 4
"""How often to look during the time after which a wait is told of."""

LEAST, MOST = 0.05, 10.0
"""How many seconds lie between two looks at least and at most."""

UNASKED, AT_THE_END = 0, -1
"""Numbers of what is told without a question; see `runtime.machine.contracts.Appeals`."""


_log = logger(__name__)


class RankWaits:
    """Tells the cluster which calls take long, each once, and whenever it is asked.

    What it needs is imported when it looks for the first time: a short program never does.
    """

    def __init__(self, wrapper: RankWrapper) -> None:
        self._wrapper = wrapper
        self._limit = wrapper.settings.explain_waits
        self._lock = _thread.allocate_lock()
        self._watch: CallWatch | None = None
        self._has_ended = self._is_last = False
        self._left: tuple[UnreceivedMessage, ...] = ()
        self.end_now: Callable[[], None] = lambda: None
        """Does what is done before MPI is finalised, now."""
        wrapper.state_of_program = self.state
        self.libraries: NativeLibraries | None = None
        """What serves native code; None where it has the communicators of the program anyway."""

    def start(self) -> None:
        """Look from now on, unless nobody wants to know."""
        if self._limit > 0:
            _thread.start_new_thread(self._run, ())

    def state(self, with_stacks: bool) -> RankState:
        """Return what the rank is doing."""
        with self._lock:
            if self._watch is None:
                from runtime.mpi.surface.waiting_calls import CallWatch

                self._watch = CallWatch()
            look = self._watch.look()
            _look_at_codes(look)
            return _state_reporter()(self._wrapper.name, look, with_stacks)

    def ended(self, code: int) -> None:
        """Tell which messages are left that nobody has received; no more is told afterwards."""
        self._has_ended = True
        self._look_at_native_code()
        counts = imported("runtime.mpi.surface.counted_calls")
        if counts is not None and (counted := counts.counted()) is not None:
            self._wrapper.appeals.called(self._wrapper.member, counted)
        if self._wrapper.settings.is_observed:
            import resource

            used = resource.getrusage(resource.RUSAGE_SELF)
            memory, cpu = used.ru_maxrss * 1024, used.ru_utime + used.ru_stime
            self._wrapper.appeals.used(self._wrapper.member, memory, cpu)
        traced = imported("runtime.mpi.surface.traced_calls")
        if traced is not None:
            for head, rows in traced.recorded():
                self._wrapper.appeals.traced(self._wrapper.member, head | _clock(), rows)
        checked = imported("runtime.mpi.surface.checked_calls")
        if checked is not None:
            checked.ended(code)
        if code == 0 and _has_communicators():
            from runtime.mpi.surface.rank_state import state_at_end

            try:
                state = state_at_end(self._wrapper.name)
            except Exception:  # the program has ended well, whatever is wrong here
                _log.exception("what this rank has not received is not known")
                return
            if state.turns or state.unreceived:
                self._left = state.unreceived
                self._tell(AT_THE_END, state)

    def last(self) -> None:
        """Wait until all ranks of the cluster end, and tell what has come meanwhile.

        It is called once, before this rank finalises MPI; so it waits for nobody for whom that
        would not wait.
        """
        if self._is_last or not _has_communicators():
            return
        self._is_last = True
        from runtime.mpi.surface.rank_state import state_at_end, wait_for_the_ends_of_all

        try:
            wait_for_the_ends_of_all()
            state = state_at_end(self._wrapper.name)
        except Exception:  # one has failed, or MPI is finalised already
            _log.debug("what came at the end is not known", exc_info=True)
            return
        if state.unreceived != self._left or state.unsent:
            self._tell(AT_THE_END, state)

    def _tell(self, number: int, state: RankState) -> None:
        self._wrapper.appeals.waiting(self._wrapper.member, number, state.plain)

    def _run(self) -> None:
        try:
            self._sample()
        except Exception:  # whatever is wrong with it, the program goes on
            _log.exception("the calls of this rank are not watched any more")

    def _sample(self) -> None:
        reported: set[int] = set()
        while not self._has_ended:
            time.sleep(min(max(self._limit / LOOKS, LEAST), MOST))
            self._look_at_native_code()
            state = self.state(False)
            late = {one.serial for one in state.waits if one.seconds >= self._limit}
            if late - reported and not self._has_ended:
                reported = late
                self._tell(UNASKED, state)

    def _look_at_native_code(self) -> None:
        """Tell of libraries that the program has loaded and that compute on this cluster alone."""
        if self.libraries is not None:
            files, why = self.libraries.found()
            if files:
                self._wrapper.appeals.uses_native_mpi(self._wrapper.member, files, why)


def _look_at_codes(look: ThreadsLook) -> None:
    """Add the waits for messages of other codes."""
    coupled = imported("runtime.coupling.rank_side")
    if coupled is None:
        return
    from runtime.mpi.surface.waiting_calls import line_of

    for wait in coupled.awaited(line_of):
        if wait.where and wait.parts:
            look.besides.append(wait)
        else:
            look.may_act = True


def _clock() -> dict[str, object]:
    """Return the time here, and of which clock."""
    from runtime.clocks import name_of_clock

    return {"clock": time.monotonic(), "clock_of": name_of_clock()}


def _has_communicators() -> bool:
    """Tell whether the program uses the MPI of the machine; importing it here would begin that."""
    made = imported("runtime.mpi.progress.predefined")
    return made is not None and bool(made.are_made())


def _state_reporter() -> Callable[[str, ThreadsLook, bool], RankState]:
    if _has_communicators():
        from runtime.mpi.surface.rank_state import state_of_rank

        return state_of_rank
    from runtime.mpi.surface.waiting_calls import state_of_any_rank

    return state_of_any_rank
