"""Plays a program through without MPI, in any interleaving: does it hang, who receives what?

A sending may wait for its receive, and ranks go on in any order: whatever MPI allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from tools.random_programs.program import Program, Step

Ready = Callable[[], bool]


@dataclass(eq=False)
class End:
    """One end of a message: what was sent, or what a receive wants."""

    rank: int  # of the sender, or None of a receive that takes any
    tag: int | None
    names: list[str]
    matched: bool = False
    any_rank: bool = False


@dataclass
class Box:
    """What waits at one process in one communicator."""

    sent: list[End] = field(default_factory=list)
    wanted: list[End] = field(default_factory=list)


def rehearse(program: Program, dice: Random, *, eager: bool) -> str:
    """Return what goes wrong, or nothing; with `eager` no sending waits, without all of them do."""
    return _Rehearsal(program, eager).run(dice)


class _Rehearsal:
    def __init__(self, program: Program, eager: bool) -> None:
        self._program = program
        self._eager = eager
        self._boxes: dict[tuple[str, int], Box] = defaultdict(Box)
        self._met: dict[tuple[str, str | int], set[int]] = defaultdict(set)
        self._calls: dict[tuple[str, int], int] = defaultdict(int)
        self._requests: dict[tuple[int, str], Ready] = {}
        self._wrong = ""

    def run(self, dice: Random) -> str:
        ranks = range(self._program.size)
        actors = {rank: self._play(rank) for rank in ranks}
        blocked: dict[int, Ready] = {rank: lambda: True for rank in ranks}
        while blocked and not self._wrong:
            able = [rank for rank, ready in blocked.items() if ready()]
            if not able:
                return f"ranks {list(blocked)} hang"
            rank = dice.choice(able)
            following = next(actors[rank], None)
            if following is None:
                del blocked[rank]
            else:
                blocked[rank] = following
        return self._wrong or self._left_over()

    def _left_over(self) -> str:
        left = [end.names for box in self._boxes.values() for end in box.sent + box.wanted]
        return f"nobody took {left}" if left else ""

    def _play(self, rank: int) -> Iterator[Ready]:
        for number, step in self._program.of_rank(rank):
            yield from self._step(rank, number, step)

    def _step(self, rank: int, number: int, step: Step) -> Iterator[Ready]:
        match step["op"]:
            case "send" | "receive":
                if "robe" in step.get("mode", "") or step.get("mode") == "Imrecv":
                    yield self._probe(rank, step)
                yield from self._begin(rank, step, self._end(rank, step["op"], step))
            case "start":
                yield from self._begin(rank, step, self._end(rank, step["end"], step))
            case "receive_any":
                for _ in step["messages"]:
                    yield self._post_any(rank, step)
            case "sendrecv":
                landed = self._end(rank, "receive", {"message": step["receive"]})
                gone = self._end(rank, "send", {"message": step["send"]})
                yield lambda: landed() and gone()
            case "complete":
                waiting = [self._requests.pop((rank, name)) for name in step["requests"]]
                yield lambda: all(ready() for ready in waiting)
            case "collective":
                yield from self._begin(rank, step, self._meet(rank, step))
            case "communicator" if step["names"] or step["how"] != "Create_group":
                yield self._meet_all(rank, number)

    def _begin(self, rank: int, step: Step, ready: Ready) -> Iterator[Ready]:
        if "request" in step:
            self._requests[rank, step["request"]] = ready
        else:
            yield ready

    def _world(self, name: str, end: str, rank: int) -> int:
        """Return the other end of a message as a rank of the world."""
        message = self._program.messages[name]
        groups = self._program.communicators[message["comm"]]
        far = next((one for one in groups if rank not in one), groups[0])
        number: int = message["dest" if end == "send" else "source"]
        return far[number]

    def _end(self, rank: int, end: str, step: Step) -> Ready:
        name = step["message"]
        message = self._program.messages[name]
        other = self._world(name, end, rank)
        if end == "send":
            here = End(rank, message["tag"], [name])
            box = self._boxes[message["comm"], other]
            self._match(here, box.sent, box.wanted)
            lazy = self._eager or "bsend" in step.get("mode", "").lower()
            return lambda: lazy or here.matched
        here = End(other, None if step.get("any_tag") else message["tag"], [name])
        box = self._boxes[message["comm"], rank]
        self._match(here, box.wanted, box.sent)
        return lambda: here.matched

    def _post_any(self, rank: int, step: Step) -> Ready:
        message = self._program.messages[step["messages"][0]]
        tag = None if step["any_tag"] else message["tag"]
        here = End(-1, tag, step["messages"], any_rank=True)
        box = self._boxes[message["comm"], rank]
        self._match(here, box.wanted, box.sent)
        return lambda: here.matched

    def _match(self, new: End, own: list[End], others: list[End]) -> None:
        for other in others:
            if _fit(new, other):
                others.remove(other)
                new.matched = other.matched = True
                if not set(new.names) & set(other.names):
                    self._wrong = f"{new.names} got together with {other.names}"
                return
        own.append(new)

    def _probe(self, rank: int, step: Step) -> Ready:
        name = step["message"]
        message = self._program.messages[name]
        tag = None if step["any_tag"] else message["tag"]
        wanted = End(self._world(name, "receive", rank), tag, [name])
        box = self._boxes[message["comm"], rank]
        return lambda: any(_fit(wanted, one) for one in box.sent)

    def _meet(self, rank: int, step: Step) -> Ready:
        comm = step["comm"]
        groups = self._program.communicators[comm]
        self._calls[comm, rank] += 1
        met = self._met[comm, f"{self._calls[comm, rank]} {step['name']}"]
        met.add(rank)
        return lambda: len(met) == sum(map(len, groups))

    def _meet_all(self, rank: int, number: int) -> Ready:
        met = self._met["", number]
        met.add(rank)
        return lambda: len(met) == len(self._program.events[number].steps)


def _fit(first: End, second: End) -> bool:
    tags = None in (first.tag, second.tag) or first.tag == second.tag
    ranks = first.any_rank or second.any_rank or first.rank == second.rank
    return tags and ranks
