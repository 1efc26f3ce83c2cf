"""How each rank of a job ended, from what it said, its parent saw, and `mpiexec` came to.

A pure machine: the same facts lead to the same answers, whichever of them comes first. Times are
those of one clock of the host, taken where the event was seen, not when it was heard of here.
"""

from __future__ import annotations

import os
from dataclasses import replace

from gcm.records import dataclass
from runtime.exit_codes import LOST
from runtime.launchers.base import Exit
from runtime.launchers.guarded import exit_of
from runtime.run.rank_exit import BY_REQUEST, RankExit

IN_TIME = -1.0
"""The time of an end that was seen by another clock: before anything was done about it."""

NOT_FINALISED = (
    "without finalising MPI. Let the program return instead of ending its process with os._exit"
)
KILLED = 128 + 9
_CLEANED_UP = frozenset({9, 15})
"""With these an `mpiexec` ends the others once one rank has failed."""


@dataclass(frozen=True, slots=True)
class RankEnd:
    """How one rank has ended; `why` says more where code and facts do not."""

    rank: str
    code: int
    why: str
    facts: RankExit


@dataclass(frozen=True, slots=True)
class Seen:
    """What the parent process of a rank saw of its end: wait status and time."""

    status: int
    at: float
    crash: str = ""


class JobEnds:
    """The ends of the ranks of one job, whose cluster is `cluster`.

    Where the job `goes_on` without ranks that are lost, `mpiexec` cleans nothing up after them.
    """

    def __init__(self, cluster: str, *, goes_on: bool = False) -> None:
        self._cluster = cluster
        self._goes_on = goes_on
        self._aborted: set[str] = set()
        self._told: dict[str, RankEnd] = {}
        self._seen: dict[str, Seen] = {}
        self._left: dict[str, None] = {}
        self._gone: dict[str, str] = {}  # why the parents of these ranks cannot tell their ends
        self._helper: tuple[str, float] | None = None
        self._is_outlived = False  # that helper
        self._stopped_at: float | None = None

    @property
    def told(self) -> set[str]:
        """The ranks whose end is known."""
        return set(self._told)

    @property
    def first_code(self) -> int:
        """The exit code of the rank that failed first, 0 if none did."""
        first = self._first_bad()
        return self._told[first].code if first else 0

    def again(self, rank: str) -> None:
        """Record that a rank was started again, and forget how it had ended before."""
        self._told.pop(rank, None)
        self._seen.pop(rank, None)
        self._left.pop(rank, None)
        self._gone.pop(rank, None)

    def was_told_there(self, rank: str) -> bool:
        """Tell whether a rank or its parent has told its end, so that its host lives."""
        told = self._told.get(rank)
        return rank in self._seen or (told is not None and told.facts.is_said)

    @property
    def are_some_lost(self) -> bool:
        """Whether a rank has ended badly, in whose place another one may be started."""
        return any(end.code for end in self._told.values())

    def stopping(self, at: float) -> None:
        """Record that all ranks are asked to end."""
        if self._stopped_at is None:
            self._stopped_at = at

    def helper_ended(self, name: str, at: float) -> None:
        """Record that a process of `mpiexec`, which should outlive its ranks, has ended."""
        self._helper = self._helper or (name, at)

    def helper_is_outlived(self) -> None:
        """Record that ranks run although a process of `mpiexec` has ended a while ago."""
        self._is_outlived = True

    def said(self, rank: str, code: int, why: str, facts: RankExit) -> RankEnd:
        """Record how the program of a rank ended, by its own word."""
        return self._tell(RankEnd(rank, code, why, facts))

    def aborted(self, rank: str) -> None:
        """Record that a rank ends the run: whatever is seen later follows from that."""
        self._aborted.add(rank)

    def left(self, rank: str) -> RankEnd | None:
        """Record that nothing more will be heard of a rank, which has not said how it ends."""
        self._left[rank] = None
        return self._decide(rank)

    def saw(self, rank: str, seen: Seen, *, is_connected: bool) -> RankEnd | None:
        """Record how the process of a rank ended.

        While it `is_connected`, its own word about that may still come, and counts more.
        """
        self._seen[rank] = seen
        if not is_connected:
            self._left[rank] = None
        return self._decide(rank)

    def host_gone(self, rank: str, why: str) -> RankEnd | None:
        """Record why nobody on its host will tell how a rank ends."""
        self._gone[rank] = why
        return self._decide(rank)

    def give_up(self, rank: str) -> RankEnd | None:
        """Wait no longer for more about a rank that has left, or whose process has ended."""
        if rank in self._told:
            return None
        self._left[rank] = None
        return self._decide(rank) or self._tell(
            RankEnd(rank, 1, f"ended {NOT_FINALISED}", self._facts(0))
        )

    def job_over(
        self, ended: Exit, words: str, ranks: list[str], signal_told: int = 0
    ) -> tuple[list[RankEnd], str]:
        """Record how `mpiexec` ended; return what follows for its ranks, and its own fault if any.

        `words` are the last ones that it said itself, `signal_told` is the signal by which it said
        that one of the `ranks` ended, which are all that had come.
        """
        found = [end for rank in list(self._seen) if (end := self.give_up(rank))]
        fault = self._fault_of_mpiexec(ended, words, ranks)
        silent = [*self._left, *(rank for rank in ranks if rank not in self._left)]
        silent = [rank for rank in silent if rank not in self._told]
        if fault:
            found += [end for rank in ranks if (end := self._blame_mpiexec(rank, ended))]
        for rank in silent:
            found.append(self._silent(rank, ended, signal_told, fault))
        return found, fault

    # --- decisions --------------------------------------------------------------------------------

    def _tell(self, end: RankEnd) -> RankEnd:
        self._told[end.rank] = end
        return end

    def _decide(self, rank: str) -> RankEnd | None:
        seen, told = self._seen.get(rank), self._told.get(rank)
        if seen is None:
            return None if told is not None or rank not in self._left else self._lose(rank)
        ended = exit_of(seen.status)
        if told is not None:
            return self._failed_behind_its_program(told, ended, seen)
        if rank not in self._left:
            return None
        why = "" if not ended.ok else f"ended {NOT_FINALISED}"
        facts = replace(self._facts(seen.at, ended.signal or 0), traceback=seen.crash)
        return self._tell(RankEnd(rank, ended.shell_code or 1, why, facts))

    def _lose(self, rank: str) -> RankEnd | None:
        """Return the end of a rank that was lost with its host, if it was."""
        why = self._gone.get(rank)
        if why is None:
            return None
        return self._tell(RankEnd(rank, LOST, "", replace(self._facts(0), exception=why)))

    def _failed_behind_its_program(self, told: RankEnd, ended: Exit, seen: Seen) -> RankEnd | None:
        """Return the end of a rank whose program ended well, and then its process did not."""
        is_cleaned_up = ended.signal in _CLEANED_UP
        if told.code or ended.ok or is_cleaned_up or self._facts(seen.at).after:
            return None
        why = "ended so after its program, while it finalised MPI or the interpreter"
        facts = RankExit(signal=ended.signal or 0, traceback=seen.crash)
        return self._tell(RankEnd(told.rank, ended.shell_code, why, facts))

    def _facts(self, at: float, number: int = 0) -> RankExit:
        """Return who had ended a rank of which only its parent, or nobody, tells the end."""
        after = ""
        if self._stopped_at is not None and (not at or at >= self._stopped_at):
            after = BY_REQUEST
        elif self._helper is not None and (not at or at >= self._helper[1]):
            after = self._cluster
        elif not self._goes_on and (not at or number in _CLEANED_UP):
            after = self._first_bad()
        return RankExit(signal=number, after=after)

    def _first_bad(self) -> str:
        """Return the rank that has failed first, and not because of others."""
        bad = (one for one in self._told.values() if one.code and not one.facts.after)
        return next((one.rank for one in bad), "")

    def _fault_of_mpiexec(self, ended: Exit, words: str, ranks: list[str]) -> str:
        """Return what was wrong with `mpiexec` itself; nothing if it ended because of a rank."""
        stopped = self._stopped_at
        was_stopped = stopped is not None and (not ended.at or stopped <= ended.at)
        helper = self._helper_that_was_outlived()
        if was_stopped or (ended.ok and not helper):
            return ""
        if any(
            one.code and not one.facts.after and self._when(one) <= ended.at
            for one in self._told.values()
        ):
            return ""
        if helper:
            what = f"{helper}, a process of mpiexec, was ended"
        elif ended.signal is None and set(ranks) - self._told.keys():
            return ""  # it tells of a rank of which nothing else is known
        else:
            what = f"mpiexec {'was ' if ended.signal else 'ended with '}{ended}"
        good = [rank for rank in ranks if rank in self._told and not self._told[rank].code]
        how = "all ranks had ended well" if len(good) == len(ranks) else "the ranks ran"
        return f"{what} while {how}. No rank had failed before" + (f"\n{words}" if words else "")

    def _helper_that_was_outlived(self) -> str:
        """Return the process of `mpiexec` that ended before a rank of it had; "" if none did."""
        if self._helper is None:
            return ""
        name, at = self._helper
        is_outlived = self._is_outlived or any(seen.at > at for seen in self._seen.values())
        return name if is_outlived else ""

    def _when(self, one: RankEnd) -> float:
        """Return when a rank ended; what it said itself was before everything that followed."""
        seen = self._seen.get(one.rank)
        if seen is None or one.rank in self._aborted or one.facts.exception:
            return IN_TIME
        if one.code != exit_of(seen.status).shell_code:
            return IN_TIME
        return seen.at

    def _blame_mpiexec(self, rank: str, ended: Exit) -> RankEnd | None:
        """Return the end of a rank anew, if it ended because `mpiexec` had."""
        told = self._told.get(rank)
        if told is None or not told.code or told.facts.after == BY_REQUEST:
            return None
        if self._when(told) <= ended.at:
            return None
        return self._tell(replace(told, facts=replace(told.facts, after=self._cluster)))

    def _silent(self, rank: str, ended: Exit, signal_told: int, fault: str) -> RankEnd:
        """Return the end of a rank of which nobody has told anything but perhaps `mpiexec`."""
        after = BY_REQUEST if self._stopped_at is not None else ""
        after = after or (self._cluster if fault else self._first_bad())
        if after:
            return self._tell(RankEnd(rank, KILLED, "", RankExit(signal=9, after=after)))
        why = f"ended {NOT_FINALISED}" if ended.ok else "ended, as mpiexec tells"
        code = 128 + signal_told if signal_told else ended.shell_code or 1
        return self._tell(RankEnd(rank, code, why, RankExit(signal=signal_told)))


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
