"""The lives of one code: started, running, stopping, ended, started again. A pure machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from gcm.records import dataclass
from runtime.coupling.errors import CodeBusy, CodeNotRunning


class CodeState(StrEnum):
    """Where a code is."""

    IDLE = "idle"
    """It was never started."""
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


_ALIVE = (CodeState.STARTING, CodeState.RUNNING, CodeState.STOPPING)


@dataclass(frozen=True, slots=True)
class CodeRankEnd:
    """One rank of a code has ended."""

    rank: int
    code: int
    why: str


@dataclass(slots=True)
class CodeRun:
    """One code. `clusters` maps the identifiers of its clusters to their numbers of ranks."""

    name: str
    clusters: Mapping[str, int]
    state: CodeState = CodeState.IDLE
    life: int = 0
    exit_codes: dict[int, int] = field(default_factory=dict)
    why: str = ""
    """Why it did not end well, or did not start."""
    has_run: bool = False
    """Whether its present life has come as far as to run."""
    blamed: str = ""
    """What was the first to end badly in the present life, and how."""
    _up: set[str] = field(default_factory=set)
    _open: set[str] = field(default_factory=set)
    _is_settling: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether anything of it may still run."""
        return self.state in _ALIVE

    def begin(self) -> None:
        """Start; raises CodeBusy if it has not ended."""
        if self.is_alive:
            raise CodeBusy(
                f"{self.name} cannot be started, it is {self.state}",
                cure="Stop it first, or wait for its end",
            )
        self.state = CodeState.STARTING
        self.life += 1
        self.exit_codes = {}
        self.why = ""
        self.has_run = False
        self.blamed = ""
        self._is_settling = False
        self._up = set()
        self._open = set(self.clusters)

    def ranks_up(self, cluster: str) -> bool:
        """Record that the ranks of a cluster are up; tell whether the whole code may go."""
        self._up.add(cluster)
        return self.state is CodeState.STARTING and self._up == set(self.clusters)

    def go(self) -> bool:
        """Run, if it is starting; tell whether that was so."""
        if self.state is not CodeState.STARTING:
            return False
        self.state = CodeState.RUNNING
        self.has_run = True
        return True

    def stop(self) -> None:
        """Be asked to end; raises CodeNotRunning."""
        if not self.is_alive:
            raise CodeNotRunning(f"{self.name} does not run, it is {self.state}")
        self.state = CodeState.STOPPING

    def rank_ended(self, cluster: str, number: int, code: int, why: str) -> CodeRankEnd | None:
        """Record that a rank has ended; None if that was known."""
        rank = self.first_rank(cluster) + number
        if rank in self.exit_codes:
            return None
        self.exit_codes[rank] = code
        end = CodeRankEnd(rank, code, why or _how(code))
        self._blame(code, f"rank {rank}", end.why)
        return end

    def job_ended(self, cluster: str, code: int, why: str) -> list[CodeRankEnd]:
        """Record that a cluster has ended; return the ranks of which nothing had been heard."""
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
        self._blame(code, f"rank {silent[0]}" if len(silent) == 1 else f"cluster {cluster}", words)
        return [CodeRankEnd(rank, code, words) for rank in silent]

    def begins_to_settle(self) -> bool:
        """Tell, once in a life, that a part of it has failed and others run."""
        if not self.blamed or self._is_settling or self.state is not CodeState.RUNNING:
            return False
        self._is_settling = True
        return True

    def settle(self, life: int, seconds: float) -> bool:
        """Record that the time is over; tell whether what is left in that life has to be ended."""
        if self.life != life or self.state is not CodeState.RUNNING:
            return False
        what = (
            f"{self.blamed}, and what was left of {self.name} did not end within {seconds:g} s and"
            " was stopped"
        )
        self.why = f"{what}\n{self.why}" if self.why else what
        return True

    def fail(self, why: str) -> None:
        """Record that it cannot start; what runs of it has to be ended."""
        self.why = self.why or why

    def lose(self, why: str) -> None:
        """Record that everything has ended, and that no more is known of it."""
        if self.is_alive:
            self.state = CodeState.ENDED
            self.why = self.why or why

    def _blame(self, code: int, who: str, why: str) -> None:
        if code and not self.blamed:
            self.blamed = f"{who} of {self.name} failed ({why.splitlines()[0]})"

    def first_rank(self, cluster: str) -> int:
        """Return the number in the code of a cluster's rank 0; raises KeyError."""
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
