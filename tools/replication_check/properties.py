"""What has to hold in every state of a run, whatever dies."""

from __future__ import annotations

from typing import Any

from tools.replication_check.process import Process
from tools.replication_check.space import Space, State

NAMES = {
    "once": "no message is delivered twice",
    "same order": "all replicas of a rank see the same, in the same order",
    "no ghosts": "what a rank has received, every living replica of the sender sends too",
    "bounded": "copies and decisions that are kept stay below their limits",
    "no deadlock": "every program ends: no message is lost, and nobody waits for ever",
    "nothing left": "at the end no copy is kept and no link has anything on it",
}


class AllProperties:
    """Checks states; what depends on few processes alone is checked once."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._good: set[tuple[int, ...]] = set()

    def problem_of(self, state: State, *, is_end: bool) -> str:
        """Return which property does not hold in a state, and why; nothing if all hold."""
        for rank, several in enumerate(self._space.ranks):
            key = state[several[0] : several[-1] + 1]
            if key not in self._good:
                processes = self._space.living(state, rank)
                problem = _order(processes)
                for process in processes:
                    problem = problem or _of_one(process, self._space)
                if problem:
                    return f"{problem} (rank {rank})"
                self._good.add(key)
        return self._at_the_end(state) if is_end else ""

    def _at_the_end(self, state: State) -> str:
        by_rank = [self._space.living(state, rank) for rank in range(len(self._space.ranks))]
        for rank, several in enumerate(by_rank):
            for process in several:
                if not process.has_ended or process.waits_for is not None:
                    operation = process.program[min(process.at, len(process.program) - 1)]
                    return f"no deadlock: rank {rank} waits in {operation}"
                if process.core._sends.backup:
                    return f"nothing left: backup of rank {rank}"
                received = (one for one in process.seen if one != "no" and one[0] != "chosen")
                for sender, _, content in received:
                    if problem := _ghost(content, by_rank[sender]):
                        return f"no ghosts: rank {rank} has received from {sender} {problem}"
        return "" if self._space.is_quiet(state) else "nothing left: on a link"


def _of_one(process: Process, space: Space) -> str:
    twice = [key for key, count in process.delivered.items() if count > 1]
    if twice:
        return f"once: {twice[0]}"
    limits = space.size.limits
    if process.core.kept_bytes > limits.kept_bytes:
        return f"bounded: {process.core.kept_bytes} bytes"
    decisions = process.core._decisions
    if max(len(decisions._values), len(decisions._recent)) > limits.decisions:
        return f"bounded: {len(decisions._recent)} decisions"
    return ""


def _order(several: list[Process]) -> str:
    longest = max((process.seen for process in several), key=len, default=())
    for process in several:
        if process.seen != longest[: len(process.seen)]:
            return f"same order: {process.seen} is not how {longest} begins"
    return ""


def _ghost(content: Any, senders: list[Process]) -> str:
    _, had_seen = content
    for sender in senders:
        if sender.seen[: len(had_seen)] != had_seen:
            return f"what is sent after {had_seen}, not after {sender.seen}"
    return ""
