"""The life of one rank in lines, out of the facts of its run. A fold."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.cli.output import counted
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.account import RunAccount
from runtime.views.facts import (
    CallSeen,
    Fact,
    MessagesCounted,
    OutputWritten,
    RankSeen,
    RankStarted,
    RunEnded,
    RunPlanned,
    StateChanged,
    WaitExplained,
)
from runtime.views.summary import in_megabytes

MOST_WRITTEN = 20
"""So many lines of its output are told."""

_OF_CLUSTER = {
    ("starting", "front-end"): "its cluster is being reached",
    ("up", "front-end"): "its cluster was reached",
    ("starting", "ranks"): "the ranks of its cluster are being started",
}


class UnknownRank(ValueError):
    """A run has no rank of that name, or several."""


def find_rank(planned: RunPlanned, text: str) -> str:
    """Return the name of the rank that somebody calls so: `3`, `3.1` for a replica, or `0:1:2`.

    Raises:
        UnknownRank: there is none, or one in each of several codes.
    """
    names, ranks = planned.names(), [*planned.hosts()]
    if text in ranks:
        return text
    number, _, replica = text.partition(".")
    found = [
        one
        for one in ranks
        if str(names.number(one)) == number and str(names.replica(one)) == (replica or "0")
    ]
    if len(found) == 1:
        return found[0]
    if found:
        known = ", ".join(f"{one} for {names.name(one)}" for one in found)
        raise UnknownRank(f"several codes have a rank {text}; say {known}")
    raise UnknownRank(f"the run has no rank '{text}', but {counted(len(ranks), 'rank')} from 0 on")


class RankStory:
    """Tells what became of one rank; `take` is the only way in."""

    def __init__(self, rank: str) -> None:
        self._rank = rank
        self._cluster = RankName.parse(rank).cluster
        self._names = RankNames()
        self._account = RunAccount()
        self._lines: list[tuple[float, str]] = []
        self._call: CallSeen | None = None
        self._written = 0
        self._sent: dict[str, int] = {}
        self._messages = 0

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        if not isinstance(fact.record, OutputWritten):
            self._account.take(fact)
        if isinstance(fact.record, RunPlanned):
            self._names = fact.record.names()
        for line in self._told(fact):
            if not self._lines or self._lines[-1][1] != line:
                self._lines.append((fact.time, line))

    def lines(self) -> Iterator[str]:
        """Yield a heading, and what happened when."""
        yield f"{self._names.name(self._rank)}, in seconds since the beginning of the run:"
        for time, line in self._lines:
            for number, text in enumerate(line.splitlines()):
                yield f"{f'{time:9.2f}' if number == 0 else ' ' * 9}  {text}"
        yield from (f"{'':11}{one}" for one in self._figures())

    def _told(self, fact: Fact) -> Iterator[str]:
        if fact.name == self._rank:
            yield from self._told_of_it(fact)
            return
        match fact.record:
            case StateChanged(state, detail) if fact.name == self._cluster:
                if (words := _OF_CLUSTER.get((state, detail))) is not None:
                    yield words
                elif state in ("queued", "lost", "failed"):
                    yield f"its cluster: {f'{state}, {detail}' if detail else state}"
            case WaitExplained(_, heading, ranks, text) if self._rank in ranks:
                yield f"{heading}\n{text}"
            case RunEnded(code):
                yield f"the run ends with exit code {code}"

    def _told_of_it(self, fact: Fact) -> Iterator[str]:
        match fact.record:
            case RankStarted(host, pid, mpi):
                version = " ".join(mpi.replace("Version:", "").split())
                yield f"starts as process {pid} on {host}{version and f', with {version}'}"
            case RankDeath() as death if death.code:
                yield f"ends: {death.how}"
            case StateChanged(state, detail) if state not in ("starting", "planned"):
                yield f"{state}, {detail}" if detail else state
            case RankSeen() as seen:
                yield from self._look(seen.calls[0] if seen.calls else None)
            case OutputWritten(stream, data):
                for line in data.decode(errors="replace").splitlines():
                    self._written += 1
                    if self._written <= MOST_WRITTEN:
                        yield f"writes{'' if stream == 'stdout' else f' to {stream}'}: {line}"
            case MessagesCounted() as sent:
                self._messages += sent.messages
                self._sent[sent.to] = self._sent.get(sent.to, 0) + sent.bytes

    def _look(self, call: CallSeen | None) -> Iterator[str]:
        before, self._call = self._call, call
        if call is not None and (before is None or before.text != call.text):
            yield f"waits in {call.text}, since {call.seconds:.1f} s"
        elif call is None and before is not None:
            yield "goes on"

    def _figures(self) -> Iterator[str]:
        """Yield what was counted of it."""
        if (left := self._written - MOST_WRITTEN) > 0:
            yield f"It wrote {counted(left, 'more line')}."
        times = self._account.times().get(self._rank)
        if times is not None:
            waiting = "" if times.waiting is None else f", {times.waiting:.2f} s of them waiting"
            yield (
                f"Of {times.seconds:.2f} s it computed for {times.computing:.2f} s and was in MPI"
                f" for {times.in_mpi:.2f} s{waiting}."
            )
        memory, cpu = self._account.used(self._rank)
        if memory:
            yield f"It had {in_megabytes(memory)} at most, and used {cpu:.2f} s of a processor."
        if self._messages:
            peers = counted(len(self._sent), "rank")
            size = sum(self._sent.values())
            many = counted(self._messages, "message")
            yield f"It sent {many} with {size:,} bytes over the wire, to {peers} of other clusters."
