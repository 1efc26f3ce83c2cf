"""Why ranks wait: asks all of them twice, and tells what follows from the answers."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from types import MappingProxyType

from gcm.records import dataclass
from runtime.clocks import Clocks, name_of_clock
from runtime.coupling.deployed_codes import CallLater
from runtime.lifecycle.events import Explain, Explained, LeftBehind, Stuck
from runtime.machine.contracts import Facts
from runtime.machine.deaths import RankDeath, UnreadableReport
from runtime.machine.rank_states import RankState, UnreceivedMessage, UnsentMessage
from runtime.processes.launcher.check_reports import CheckReports
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.services import Effects
from runtime.processes.launcher.wait_facts import ProcessOfRank, Snapshot, explained, facts_of
from runtime.processes.rank.waits import AT_THE_END, UNASKED
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.facts import MACHINE, Record, WaitExplained
from runtime.views.inspection import MOST_FINDINGS, explanation, finding_lines
from runtime.views.stream import FactStream

# What explains them is imported when somebody waits for long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.waits import RankStates, WaitFinding

ANSWERS = 1.5
"""How many seconds to wait for answers; ranks in a call that lets no other thread run give none."""

BRIEF_ANSWERS = 0.3
"""How many seconds to wait for them where somebody waits for the end of the run."""

PAUSE = 0.3
"""How many seconds lie between the two questions: a call that is over by then was no wait."""

LEFT_BEHIND, LONGEST_PAUSE = 0.25, 5.0
"""How many seconds after the end of a rank the others are asked whether they wait for it in vain;
and once more after so many, before it is believed. They may do so later, so the pauses grow."""

MOST_ASKED = 200
"""So many ranks are asked for each second, where many end one after the other."""

MOST_OF_A_SIGN = 5
"""A message with no more bytes is a sign and no data: it holds nothing, or a pickled None, truth
value or small number.
"""

MOST_UNRECEIVED = 12
"""So many messages that nobody has received are told of."""

_log = logging.getLogger(__name__)

Seen = Callable[[Snapshot], None]


@dataclass(slots=True)
class _Round:
    """One look at all ranks."""

    number: int
    with_stacks: bool
    patience: float
    then: Seen
    answers: dict[str, RankState] = field(default_factory=dict)
    before: dict[str, RankState] | None = None


class _PartlyEnded:
    """The clusters of which some ranks have ended and others run, however many there are."""

    def __init__(self) -> None:
        self.clusters: set[str] = set()
        self._running: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()

    def count(self, rank: str, running: int, ended: int) -> None:
        """Count a rank more or less among those of its cluster that run, or have ended."""
        cluster = RankName.parse(rank).cluster
        self._running[cluster] += running
        self._ended[cluster] += ended
        is_partly = self._running[cluster] and self._ended[cluster]
        (self.clusters.add if is_partly else self.clusters.discard)(cluster)


class WaitReports:
    """Collects what ranks tell of their calls. All methods are for the engine's thread."""

    def __init__(
        self,
        places: Iterable[ClusterPlace],
        later: CallLater,
        facts: FactStream,
        post: Post,
        *,
        checks: CheckReports,
        names: RankNames,
        present: Callable[[], Mapping[str, ProcessOfRank]] = dict,
        replicas: Mapping[RankName, int] = MappingProxyType({}),
        looks_behind: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Let the run know of ranks left behind only if `looks_behind`.

        `replicas` has the rank of each process where ranks are several processes. `present` returns
        the ranks of programs that go on without lost ones.
        """
        self._facts = facts
        self._post = post
        self.checks = checks
        self._present = present
        self._replicas = {str(process): rank for process, rank in replicas.items()}
        self._names = names
        self._looks_behind = looks_behind
        self._is_advised = False
        self._clock = clock
        self._places = places
        self._later = later
        self._pause = LEFT_BEHIND
        self._look_number = 0  # of the look for ranks that wait in vain which is to come
        self._is_look_due = False
        self._running: set[str] = set()
        self._ended: dict[str, str] = {}
        self._partly_ended = _PartlyEnded()
        self._at_end: dict[str, RankState] = {}
        self._numbers = 0
        self.clocks = Clocks(name_of_clock())
        self._round: _Round | None = None
        self._queue: list[tuple[bool, float, Seen]] = []
        self._reported: set[str] = set()
        self._is_telling_due = False
        self._limit = 0.0

    def rank_ready(self, rank: str) -> None:
        """Record that a rank is there, perhaps again."""
        was_ended = self._ended.pop(rank, None) is not None
        self._partly_ended.count(rank, rank not in self._running, -was_ended)
        self._running.add(rank)
        self._at_end.pop(rank, None)

    def effects(self, goes_on: Callable[[], bool]) -> Effects:
        """Return what is told of waits; a brief look only where the run still `goes_on` then."""

        def explain(effect: Explain) -> None:
            if effect.is_brief:
                self.glance(goes_on)
            else:
                self.explain_end()

        return {Explain: explain}

    def rank_ended(self, _: str, death: RankDeath) -> None:
        """Record how a rank has ended."""
        rank = death.who
        self._partly_ended.count(rank, -(rank in self._running), rank not in self._ended)
        self._running.discard(rank)
        self._ended[rank] = death.ending
        self._go_on_if_complete()
        if self._pause > LEFT_BEHIND:
            self._is_look_due, self._pause = False, LEFT_BEHIND
        self._find_left_behind((), frozenset())

    def _find_left_behind(self, before: Sequence[str], stuck: Set[str]) -> None:
        """Look soon which ranks wait for one of their cluster that has ended.

        Native MPI does not notice that, nor does it fail a call that waits so.
        """
        if not self._looks_behind or self._is_look_due or not self._partly_ended.clusters:
            return
        self._is_look_due = True
        self._look_number += 1
        pause = max(self._pause, len(self._running) / MOST_ASKED)
        number = self._look_number
        self._later(pause, lambda: self._ask_those_left_behind(number, before, stuck))

    def _ask_those_left_behind(self, number: int, before: Sequence[str], stuck: Set[str]) -> None:
        if number == self._look_number and self._is_look_due:
            self._is_look_due = False
            self.ask(lambda seen: self._judge(seen, before, stuck))

    def _judge(self, seen: Snapshot, before: Sequence[str], stuck: Set[str]) -> None:
        """Believe what was the same at two looks."""
        from runtime.waits import left_behind, stuck_in

        behind = left_behind(seen.findings, self._limit)
        found = [one.text for one in behind]
        now_stuck = stuck_in(seen.findings)
        sure = [one for one in found if one in before]
        if sure:
            self._check_stuck({one.ranks[-1] for one in behind}, seen)
            are_all = self._running <= now_stuck & stuck
            self._post(LeftBehind("\n".join(sure), are_all))
        self._pause = LEFT_BEHIND if found and not sure else min(2 * self._pause, LONGEST_PAUSE)
        self._find_left_behind(found, now_stuck)

    def answered(
        self, rank: str, number: int, state: Facts, at_home: Callable[[str], str] = str
    ) -> None:
        """Take what a rank tells; what is not understood is in the log, and ends nothing.

        `at_home` makes the files in its stacks those that the author of the program knows.
        """
        try:
            known = RankState.parse(rank, state)
        except UnreadableReport as fault:
            _log.debug("what %s says of its calls is not understood: %s", rank, fault)
            return
        if number == AT_THE_END:
            self._at_end[rank] = known
            return
        if number == UNASKED:
            longest = max((one.seconds for one in known.waits), default=0.0)
            self._limit = min(longest, self._limit or longest)
            if not self._is_telling_due:  # a look that goes on may have asked before that wait
                self._is_telling_due = True
                self.ask(self._report_waits)
            return
        if known.clock:  # of a late answer, too
            self.clocks.answered(rank, known.clock_of, number, known.clock, self._clock())
        if self._round is not None and number == self._round.number:
            stacks = tuple((thread, at_home(text)) for thread, text in known.stacks)
            self._round.answers[rank] = replace(known, stacks=stacks)
            self._go_on_if_complete()

    def ask(self, then: Seen, *, with_stacks: bool = False, patience: float = ANSWERS) -> None:
        """Ask all ranks, and call `then` with what they say, in less than four seconds."""
        if self._round is not None:
            self._queue.append((with_stacks, patience, then))
            return
        self._begin(with_stacks, patience, then)

    def ask_facts(
        self, then: Callable[[list[tuple[str, Record]]], None], *, with_stacks: bool = False
    ) -> None:
        """Call `then` with what all ranks are doing, as facts with their names."""
        self.ask(lambda seen: then(self._facts_of(seen)), with_stacks=with_stacks)

    def explain(self) -> None:
        """Log what all ranks are doing and why they wait."""
        self.ask(self._log, with_stacks=True)

    def explain_end(self) -> None:
        """Log what all ranks are doing, and why they wait if that is new; then it is explained."""

        def end(seen: Snapshot) -> None:
            fresh = self._unreported(seen).findings
            self._log(seen, [explained(one) for one in seen.findings if one not in fresh])
            self._post(Explained())

        self.ask(end, with_stacks=True)

    def _log(self, seen: Snapshot, reported: Sequence[WaitExplained] = ()) -> None:
        _log.warning("%s", "\n".join(explanation(self._facts_of(seen), seen.names, reported)))

    def _facts_of(self, seen: Snapshot) -> list[tuple[str, Record]]:
        return [*facts_of(seen, self._present())]

    def _begin(self, with_stacks: bool, patience: float, then: Seen) -> None:
        if then == self._report_waits:
            self._is_telling_due = False  # who tells of a wait from now on needs one more look
        self._round = _Round(UNASKED, with_stacks, patience, then)
        self._ask_once()

    def glance(self, is_wanted: Callable[[], bool]) -> None:
        """Ask all ranks, and tell why some can never go on if that is wanted still.

        What was told before is not repeated.
        """
        from runtime.waits.findings import SLOW

        def tell(seen: Snapshot) -> None:
            if is_wanted():
                never = [one for one in seen.findings if one.kind != SLOW]
                self._tell_waits(replace(seen, findings=never))
            self._post(Explained())

        self.ask(tell, patience=BRIEF_ANSWERS)

    def log_unreceived(self) -> None:
        """Tell of messages that nobody had received when the run ended well.

        One with data is suspicious. One that is a mere sign may be left by a correct program, such
        as the second word to end for a worker that has ended: that is a note in the log.
        """
        if not any(state.unreceived or state.unsent for state in self._at_end.values()):
            return
        left: list[tuple[str, str, UnreceivedMessage | UnsentMessage]] = []
        for rank, state in sorted(self._of_ranks({}).last.items()):
            left += [(one.sender, rank, one) for one in state.unreceived]
            left += [(rank, one.receiver, one) for one in state.unsent]
        for level, some in (
            (logging.WARNING, [one for one in left if one[2].size > MOST_OF_A_SIGN]),
            (logging.INFO, [one for one in left if one[2].size <= MOST_OF_A_SIGN]),
        ):
            lines = [
                f"  {self._names.rank(sender)} to {self._names.rank(receiver)}: tag {one.tag},"
                f" {one.size} bytes{one.comm and f', on {one.comm}'}"
                for sender, receiver, one in some
            ]
            if lines:
                left_out = len(lines) - MOST_UNRECEIVED
                more = f"\n  and {left_out} more" if left_out > 0 else ""
                shown = "\n".join(lines[:MOST_UNRECEIVED])
                _log.log(level, "messages that nobody has received:\n%s%s", shown, more)

    def _ask_once(self) -> None:
        assert self._round is not None
        self._numbers += 1
        number = self._round.number = self._numbers
        self.clocks.asked(number, self._clock())
        for place in self._places:
            place.orders.tell_states(number, self._round.with_stacks)
        self._later(self._round.patience, lambda: self._late(number))
        self._go_on_if_complete()

    def _late(self, number: int) -> None:
        if self._round is not None and self._round.number == number:
            self._go_on()

    def _go_on_if_complete(self) -> None:
        """Go on, unless nothing is asked just now: between two questions all ranks may end."""
        asked = self._round
        if asked and asked.number != UNASKED and self._running <= asked.answers.keys():
            self._go_on()

    def _go_on(self) -> None:
        found = self._round
        assert found is not None
        found.number = UNASKED  # nothing that comes late is meant any more
        if found.before is None:
            found.before, found.answers = found.answers, {}
            self._later(PAUSE, self._ask_once)
            return
        self._round = None
        found.then(self._snapshot(found.before, found.answers))
        if self._queue and self._round is None:
            self._begin(*self._queue.pop(0))

    def _snapshot(self, before: dict[str, RankState], after: dict[str, RankState]) -> Snapshot:
        from runtime.waits import explain, steady

        states = steady(before.values(), after.values())
        ranks = self._of_ranks(states)
        findings = explain(
            ranks.states, ranks.ended, ranks.last, limit=self._limit, names=self._names
        )
        silent = tuple(sorted(self._running - states.keys()))
        return Snapshot(states, silent, dict(self._ended), findings, self._names)

    def _of_ranks(self, states: dict[str, RankState]) -> RankStates:
        from runtime.waits import RankStates, of_ranks

        if self._replicas:
            return of_ranks(states, self._ended, self._at_end, self._replicas)
        return RankStates(states, self._ended, dict(self._at_end))

    def _unreported(self, seen: Snapshot) -> Snapshot:
        """Return it without what was told before."""
        fresh = [one for one in seen.findings if _identity(one) not in self._reported]
        return replace(seen, findings=fresh)

    def _report_waits(self, seen: Snapshot) -> None:
        """Tell what was not told before, and once how a run ends in which ranks cannot go on."""
        is_ending = self._tell_waits(seen)
        if not (is_ending or self._is_advised) and _never(seen.findings):
            self._is_advised = True
            _log.warning(
                "Ctrl-C or SIGTERM ends the run; with --run-timeout SECONDS it ends by itself"
            )

    def _tell_waits(self, seen: Snapshot) -> bool:
        """Tell what was not told before; return whether the run ends for it."""
        from runtime.waits import stuck_in

        fresh = self._unreported(seen).findings[:MOST_FINDINGS]
        self._reported.update(map(_identity, fresh))
        if not fresh:
            return False
        found = [explained(one) for one in fresh]
        for one in found:
            self._facts.tell(MACHINE, one)
        if stuck := stuck_in(fresh):
            self._post(Stuck(tuple(sorted(map(RankName.parse, stuck)))))
        if what := self._check_stuck(stuck, seen):
            self._post(LeftBehind("\n".join(one.text for one in found), what=what))
        _log.warning("%s", "\n".join(finding_lines(found)))
        return bool(what)

    def _check_stuck(self, stuck: Set[str], seen: Snapshot) -> str:
        """Tell faults of those stuck; return why the run has to end if a check made them wait."""
        asked = sorted(stuck & seen.states.keys())  # a replica that has gone is stuck with its rank
        waits = [one for state in seen.states.values() for one in state.waits]
        return self.checks.stuck(
            ((rank, one) for rank in asked for one in seen.states[rank].waits),
            in_collectives=any(one.is_collective and one.seconds >= self._limit for one in waits),
        )


def _never(findings: Iterable[WaitFinding]) -> list[WaitFinding]:
    """Return the causes for which ranks can never go on."""
    from runtime.waits.findings import BEHIND, NEVER

    return [one for one in findings if one.kind in NEVER - {BEHIND}]


def _identity(finding: WaitFinding) -> str:
    """Return of what it is told once; in a wait that goes on there are others at each look."""
    from runtime.waits.findings import SLOW

    return finding.text.partition(" in ")[2] if finding.kind == SLOW else finding.text
