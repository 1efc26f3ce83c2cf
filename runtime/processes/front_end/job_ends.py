"""Makes one death of each rank of a job out of all that was observed of its end.

What a rank says itself, what its parent saw and what `mpiexec` came to are observations. A pure
machine: the same observations lead to the same deaths, whichever of them comes first. Times are
those of one clock of the host, taken where the event was seen, not when it was heard of here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from runtime.exit_codes import LOST
from runtime.launchers.base import Exit
from runtime.launchers.guarded import exit_of
from runtime.machine.deaths import BY_REQUEST, Observation, RankDeath, Witness
from runtime.rank_name import RankName

IN_TIME = -1.0
"""The time of an end that was seen by another clock: before anything was done about it."""

NOT_FINALISED = (
    "without finalising MPI. Let the program return instead of ending its process with os._exit"
)
CONNECTION_LOST = 255
"""What ssh, and what batch systems have in its place, end with when their connection is lost. A
starter of ranks ends with the same, and that is no exit code of a rank."""

KILLED = 128 + 9
MPIEXEC = "mpiexec"
_AT_ITS_END = "ended so after its program, while it finalised MPI or the interpreter"
_CLEANED_UP = frozenset({9, 15})
"""With these an `mpiexec` ends the others once one rank has failed."""


class JobEnds:
    """The ends of the ranks of one job, whose cluster is `cluster`.

    Where the job `goes_on` without ranks that are lost, `mpiexec` cleans nothing up after them.
    """

    def __init__(self, cluster: str, *, goes_on: bool = False) -> None:
        self._cluster = cluster
        self._goes_on = goes_on
        self._aborted: set[str] = set()
        self._aborting = ("", 0)  # the rank whose MPI ends all others, and their exit code
        self._missed: set[str] = set()  # whose loss has made others end the run
        self._deaths: dict[str, RankDeath] = {}
        self._seen: dict[str, Observation] = {}
        self._left: dict[str, None] = {}
        self._gone: dict[str, str] = {}  # why the parents of these ranks cannot tell their ends
        self._helper: tuple[str, float] | None = None
        self._is_outlived = False  # that helper
        self._stopped_at: float | None = None

    @property
    def known(self) -> set[str]:
        """The ranks whose end is known."""
        return set(self._deaths)

    @property
    def first_code(self) -> int:
        """The exit code of the rank that failed first, 0 if none did."""
        first = self._first_bad()
        return self._deaths[first].code if first else 0

    def again(self, rank: str) -> None:
        """Record that a rank was started again, and forget how it had ended before."""
        self._deaths.pop(rank, None)
        self._seen.pop(rank, None)
        self._left.pop(rank, None)
        self._gone.pop(rank, None)
        self._missed.discard(rank)

    def was_reported(self, rank: str) -> bool:
        """Tell whether a rank or its parent has told its end, so that its host lives."""
        death = self._deaths.get(rank)
        return rank in self._seen or (death is not None and death.is_stated)

    @property
    def are_some_lost(self) -> bool:
        """Whether a rank has ended badly, in whose place another one may be started."""
        return any(end.code for end in self._deaths.values())

    def stopping(self, at: float) -> None:
        """Record that all ranks are asked to end."""
        if self._stopped_at is None:
            self._stopped_at = at

    def helper_ended(self, name: str, at: float) -> None:
        """Record that a process of `mpiexec`, which should outlive its ranks, has ended."""
        self._helper = self._helper or (name, at)

    def is_helper_outlived_by(self, connected: Iterable[str]) -> bool:
        """Record whether ranks run although a process of `mpiexec` has ended a while ago.

        Those that are still `connected` do, unless their parents have seen them end: then this
        process has not come to read that they have hung up.
        """
        self._is_outlived = any(rank not in self._seen for rank in connected)
        return self._is_outlived

    def program_ended(self, rank: str, observed: Observation) -> RankDeath | None:
        """Record how the program of a rank ended, by its own word.

        The first one that it has failed counts: while it ends, it loses others who end because of
        that, and what it makes of these losses explains nothing.
        """
        before = self._deaths.get(rank)
        if before is not None and before.code and before.observed.by is Witness.RANK:
            return None
        if rank in self._aborted and observed.is_loss and self._stopped_at is None:
            self._missed.update(map(str, observed.lost))
        return self._report(rank, observed)

    def concluded(self, rank: str, why: str) -> RankDeath:
        """Record that a rank counts as lost, whatever becomes of its process."""
        return self._report(rank, _lost(why))

    def aborted(self, rank: str) -> None:
        """Record that a rank ends the run: whatever is seen later follows from that."""
        self._aborted.add(rank)

    def mpi_aborted(self, rank: str, code: int) -> None:
        """Record that the MPI of a rank aborts, so that others end with this code by themselves."""
        self._aborting = self._aborting if self._aborting[0] else (rank, code)

    def left(self, rank: str) -> RankDeath | None:
        """Record that nothing more will be heard of a rank, which has not said how it ends."""
        self._left[rank] = None
        return self._decide(rank)

    def exited(self, rank: str, seen: Observation, *, is_connected: bool) -> RankDeath | None:
        """Record how the process of a rank ended.

        While it `is_connected`, its own word about that may still come, and counts more.
        """
        self._seen[rank] = seen
        if not is_connected:
            self._left[rank] = None
        return self._decide(rank)

    def host_gone(self, rank: str, why: str) -> RankDeath | None:
        """Record why nobody on its host will tell how a rank ends."""
        self._gone[rank] = why
        return self._decide(rank)

    def give_up(self, rank: str) -> RankDeath | None:
        """Wait no longer for more about a rank that has left, or whose process has ended."""
        if rank in self._deaths:
            return None
        self._left[rank] = None
        if found := self._decide(rank):
            return found
        silent = Observation(Witness.FRONT_END, 1, why=f"ended {NOT_FINALISED}")
        return self._report(rank, silent, self._ended_by(rank))

    def job_over(
        self,
        ended: Exit,
        words: str,
        ranks: list[str],
        signal_printed: int = 0,
        *,
        starter: str = MPIEXEC,
        is_broken: bool = False,
    ) -> tuple[list[RankDeath], str]:
        """Record how `mpiexec` ended; return what follows for its ranks, and its own fault if any.

        It is called `starter` where that is another process. If that `is_broken`, its end tells of
        no rank. `words` are the last ones of its own,
        `signal_printed` is the signal by which it says that one of the `ranks` ended, which are all
        that had come.
        """
        found = [end for rank in list(self._seen) if (end := self.give_up(rank))]
        fault = self._fault_of_mpiexec(ended, words, ranks, starter, is_broken=is_broken)
        if fault and starter != MPIEXEC and (end := self._killed_behind_its_program(ended)):
            found.append(end)
            fault = ""
        silent = [*self._left, *(rank for rank in ranks if rank not in self._left)]
        silent = [rank for rank in silent if rank not in self._deaths]
        if fault:
            found += [end for rank in ranks if (end := self._blame_mpiexec(rank, ended))]
        for rank in silent:
            found.append(self._silent(rank, ended, signal_printed, fault))
        return found, fault

    # --- decisions --------------------------------------------------------------------------------

    def _report(self, rank: str, observed: Observation, after: str = "") -> RankDeath:
        """Make the death of a rank, in place of the one that was told before if there was one."""
        is_later = rank in self._deaths
        made = RankDeath(RankName.parse(rank), observed, after, supersedes=is_later)
        self._deaths[rank] = made
        return made

    def _decide(self, rank: str) -> RankDeath | None:
        seen, death = self._seen.get(rank), self._deaths.get(rank)
        if seen is None:
            return None if death is not None or rank not in self._left else self._lose(rank)
        if death is not None:
            return self._failed_behind_its_program(death, seen)
        if rank not in self._left:
            return None
        if not seen.code:
            seen = replace(seen, code=1, why=f"ended {NOT_FINALISED}")
        after = self._ended_by(rank, seen.at, seen.signal)
        aborting, code = self._aborting
        if seen.code == code and rank != aborting and not self._goes_on:
            after = after or aborting
        return self._report(rank, seen, after)

    def _lose(self, rank: str) -> RankDeath | None:
        """Return the death of a rank that was lost with its host, if it was."""
        why = self._gone.get(rank)
        if why is None:
            return None
        return self._report(rank, _lost(why), self._ended_by(rank))

    def _failed_behind_its_program(self, death: RankDeath, seen: Observation) -> RankDeath | None:
        """Return the death of a rank whose program ended well, and then its process did not."""
        is_cleaned_up = seen.signal in _CLEANED_UP
        if death.code or not seen.code or is_cleaned_up or self._ended_by(death.who, seen.at):
            return None
        return self._report(death.who, replace(seen, why=_AT_ITS_END))

    def _killed_behind_its_program(self, ended: Exit) -> RankDeath | None:
        """Return the death of the rank that was killed first, and has `ended` who started it so.

        That is no `mpiexec`, which would tell its own end so, and kill others for that.
        """
        killed = [
            (seen.at, rank)
            for rank, seen in self._seen.items()
            if seen.signal in _CLEANED_UP
            and seen.code == ended.code
            and not self._deaths[rank].code
        ]
        if not killed:
            return None
        _, first = min(killed)
        return self._report(first, replace(self._seen[first], why=_AT_ITS_END))

    def _ended_by(self, rank: str, at: float = 0.0, number: int = 0) -> str:
        """Return who had ended a rank of which only its parent, or nobody, tells the end.

        Parents may see late the end of one that others had missed, and ended the run for.
        """
        is_missed = rank in self._missed
        if self._stopped_at is not None and not is_missed and (not at or at >= self._stopped_at):
            return BY_REQUEST
        if self._helper is not None and (not at or at >= self._helper[1]):
            return self._cluster
        if not self._goes_on and not is_missed and (not at or number in _CLEANED_UP):
            return self._first_bad(at)
        return ""

    def _first_bad(self, before: float = 0.0) -> str:
        """Return the rank that has failed first, and not because of others.

        With a time of this host that is one after which a process that ended then was cleaned up.
        """
        bad = (one for one in self._deaths.values() if one.code and not one.after)
        return next((one.who for one in bad if self._is_cleaned_up_after(one, before)), "")

    def _is_cleaned_up_after(self, one: RankDeath, ended: float) -> bool:
        """Tell whether a process that had `ended` then may have been ended because of a rank.

        `mpiexec` does so for an abort, and where the process of a rank has ended: its parent has
        told that before. The word of the rank comes earlier, also that it had missed this process.
        """
        if ended <= 0 or one.who in self._aborted or one.observed.by is not Witness.RANK:
            return True
        seen = self._seen.get(one.who)
        return seen is not None and seen.at < ended

    def _fault_of_mpiexec(
        self, ended: Exit, words: str, ranks: list[str], starter: str, *, is_broken: bool
    ) -> str:
        """Return what was wrong with `mpiexec` itself; nothing if it ended because of a rank."""
        stopped = self._stopped_at
        was_stopped = stopped is not None and (not ended.at or stopped <= ended.at)
        helper = self._helper_that_was_outlived()
        if was_stopped or (ended.ok and not helper):
            return ""
        if any(
            one.code and not one.after and self._when(one) <= ended.at
            for one in self._deaths.values()
        ):
            return ""
        if helper:
            what = f"{helper}, a process of mpiexec, was ended"
        elif is_broken:
            what = f"{starter} could not go on"
        elif ended.signal is None and set(ranks) - self._deaths.keys():
            return ""  # it tells of a rank of which nothing else is known
        else:
            what = f"{starter} {ended.predicate}"
        good = [rank for rank in ranks if rank in self._deaths and not self._deaths[rank].code]
        how = "all ranks had ended well" if len(good) == len(ranks) else "the ranks ran"
        return f"{what} while {how}. No rank had failed before" + (f"\n{words}" if words else "")

    def _helper_that_was_outlived(self) -> str:
        """Return the process of `mpiexec` that ended before a rank of it had; "" if none did."""
        if self._helper is None:
            return ""
        name, at = self._helper
        is_outlived = self._is_outlived or any(seen.at > at for seen in self._seen.values())
        return name if is_outlived else ""

    def _when(self, one: RankDeath) -> float:
        """Return when a rank ended; what it said itself was before everything that followed."""
        seen = self._seen.get(one.who)
        if seen is None or one.who in self._aborted or one.observed.exception:
            return IN_TIME
        return seen.at if one.code == seen.code else IN_TIME

    def _blame_mpiexec(self, rank: str, ended: Exit) -> RankDeath | None:
        """Return the death of a rank anew, if it ended because `mpiexec` had."""
        death = self._deaths.get(rank)
        if death is None or not death.code or death.after == BY_REQUEST:
            return None
        if self._when(death) <= ended.at:
            return None
        return self._report(rank, death.observed, self._cluster)

    def _silent(self, rank: str, ended: Exit, signal_printed: int, fault: str) -> RankDeath:
        """Return the death of a rank of which nobody has told anything but perhaps `mpiexec`."""
        after = self._cluster if fault else ""
        if rank not in self._missed:
            after = BY_REQUEST if self._stopped_at is not None else after or self._first_bad()
        if after:
            return self._report(rank, Observation(Witness.MPIEXEC, KILLED, signal=9), after)
        if ended.shell_code == CONNECTION_LOST and not signal_printed:
            lost = "its host, or the connection of mpiexec to it, was lost"
            return self._report(rank, Observation(Witness.MPIEXEC, LOST, exception=lost))
        why = f"ended {NOT_FINALISED}" if ended.ok else "ended, as mpiexec tells"
        code = 128 + signal_printed if signal_printed else ended.shell_code or 1
        return self._report(
            rank, Observation(Witness.MPIEXEC, code, signal=signal_printed, why=why)
        )


def sight_of(status: int, at: float, crash: str = "") -> Observation:
    """Return what the parent of a rank saw: a wait status, its time, and what a crash left."""
    ended = exit_of(status)
    number = ended.signal or 0
    return Observation(Witness.PARENT, ended.shell_code, signal=number, traceback=crash, at=at)


def _lost(why: str) -> Observation:
    """Return what a front-end concludes of a rank that it cannot see any more."""
    return Observation(Witness.FRONT_END, LOST, exception=why)


def crash_of(path: str, own: tuple[str, ...]) -> str:
    """Return what `faulthandler` wrote of a crash: why, and the calls of the thread it was in.

    `own` are the beginnings of files whose frames say nothing about the program.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 16).splitlines()
        os.unlink(path)
    except OSError:
        return ""
    return "\n".join(_of_program(lines, own))


def _of_program(lines: list[str], own: tuple[str, ...]) -> list[str]:
    frames = tuple(f'  File "{path}' for path in own)
    kept: list[str] = []
    is_current = True
    for line in lines:
        if line.startswith(("Thread ", "Current thread ", "Extension modules")):
            is_current = line.startswith("Current thread ")
        if is_current and line.strip() and not line.startswith(frames):
            kept.append(line)
    return kept
