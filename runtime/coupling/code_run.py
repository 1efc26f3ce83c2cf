"""The state machine of one code: starting, running, stopping, ended, started again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from gcm.records import dataclass
from runtime.coupling.errors import CodeBusy, CodeNotRunning
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.topology import NO_NAMES, RankNames


class CodeState(StrEnum):
    """The state of a code."""

    IDLE = "idle"
    """It was never started."""
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


_ALIVE = (CodeState.STARTING, CodeState.RUNNING, CodeState.STOPPING)


@dataclass(slots=True)
class CodeRun:
    """The current and past runs of one code; `clusters` maps cluster identifiers to rank counts."""

    name: str
    clusters: Mapping[str, int]
    names: RankNames = NO_NAMES
    survives: bool = False
    """Whether its ranks can go on when others are lost."""
    state: CodeState = CodeState.IDLE
    incarnation: int = 0
    exit_codes: dict[int, int] = field(default_factory=dict)
    why: str = ""
    """Why it failed or did not start."""
    has_run: bool = False
    """Whether the current run got as far as running."""
    blamed: str = ""
    """The first failure in the current run, in words."""
    _up: set[str] = field(default_factory=set)
    _open: set[str] = field(default_factory=set)
    _is_settling: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether any part of it may still run."""
        return self.state in _ALIVE

    def begin(self) -> None:
        """Start the code; raises CodeBusy if it has not ended."""
        if self.is_alive:
            raise CodeBusy(
                f"{self.name} cannot be started, it is {self.state}",
                cure="Stop it first, or wait for its end",
            )
        self.state = CodeState.STARTING
        self.incarnation += 1
        self.exit_codes = {}
        self.why = ""
        self.has_run = False
        self.blamed = ""
        self._is_settling = False
        self._up = set()
        self._open = set(self.clusters)

    def ranks_up(self, cluster: str) -> bool:
        """Record that the ranks of a cluster are up; return whether the whole code may run now."""
        self._up.add(cluster)
        return self.state is CodeState.STARTING and self._up == set(self.clusters)

    def go(self) -> bool:
        """Change from starting to running; return whether it was starting."""
        if self.state is not CodeState.STARTING:
            return False
        self.state = CodeState.RUNNING
        self.has_run = True
        return True

    def stop(self) -> None:
        """Record a request to stop; raises CodeNotRunning."""
        if not self.is_alive:
            raise CodeNotRunning(f"{self.name} does not run, it is {self.state}")
        self.state = CodeState.STOPPING

    def rank_ended(self, death: RankDeath, why: str = "") -> dict[int, str]:
        """Record that a rank has died; return it with the reason, nothing if that was known."""
        rank = self.first_rank(death.rank.cluster) + death.rank.rank
        if rank in self.exit_codes:
            return {}
        self.exit_codes[rank] = death.code
        words = death.why or why or _how(death.code)
        self._blame(death.code, f"rank {rank}", words)
        return {rank: words}

    def rank_starts_again(self, rank: RankName) -> int:
        """Record that another process takes the place of one that has ended; return its rank."""
        number = self.first_rank(rank.cluster) + rank.rank
        self.exit_codes.pop(number, None)
        return number

    def job_ended(self, cluster: str, code: int, why: str) -> dict[int, str]:
        """Record that a cluster has ended; return its ranks of which no death was known."""
        first = self.first_rank(cluster)
        words = "\n".join(filter(None, (_how(code), why)))
        silent = [
            rank
            for rank in range(first, first + self.clusters[cluster])
            if rank not in self.exit_codes
        ]
        self.exit_codes |= dict.fromkeys(silent, code)
        if code and not self.why:
            self.why = words
        self._open.discard(cluster)
        if not self._open:
            self.state = CodeState.ENDED
        who = f"rank {silent[0]}" if len(silent) == 1 else f"cluster {self.names.name(cluster)}"
        self._blame(code, who, words)
        return dict.fromkeys(silent, words)

    def begins_to_settle(self) -> bool:
        """Return True once per run, when a part of it has failed and others still run.

        They may wait for that part for ever, unless they can survive its loss.
        """
        if (
            self.survives
            or not self.blamed
            or self._is_settling
            or self.state is not CodeState.RUNNING
        ):
            return False
        self._is_settling = True
        return True

    def settle(self, incarnation: int, seconds: float) -> bool:
        """Record that the time to settle is over; return whether to kill the rest of the run."""
        if self.incarnation != incarnation or self.state is not CodeState.RUNNING:
            return False
        what = (
            f"{self.blamed}, and the other ranks of {self.name} did not end within {seconds:g} s"
            " and were stopped"
        )
        self.why = f"{what}\n{self.why}" if self.why else what
        return True

    def fail(self, why: str) -> None:
        """Record that it cannot start; ranks already running have to be killed."""
        self.why = self.why or why

    def lose(self, why: str) -> None:
        """Record that everything has ended because the machine has."""
        if self.is_alive:
            self.state = CodeState.ENDED
            self.why = self.why or why

    def _blame(self, code: int, who: str, why: str) -> None:
        if code and not self.blamed:
            who, what = f"{who} of {self.name}", why.splitlines()[0]
            self.blamed = what if what.startswith(f"{who} ") else f"{who} failed ({what})"

    def first_rank(self, cluster: str) -> int:
        """Return the rank in the code of a cluster's rank 0; raises KeyError."""
        before = 0
        for known, ranks in self.clusters.items():
            if known == cluster:
                return before
            before += ranks
        raise KeyError(cluster)


def _how(code: int) -> str:
    return (
        f"exit code {code}" if code <= 128 else f"exit code {code}, killed by signal {code - 128}"
    )
