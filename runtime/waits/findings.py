"""Explains in sentences what is wrong with calls in which ranks wait for long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from runtime import calls
from runtime.machine.rank_states import COLLECTIVE, RECEIVE, SEND, UNKNOWN, Part, RankState, Wait
from runtime.part_names import cluster_of
from runtime.rank_name import RankName
from runtime.topology import NO_NAMES, RankNames
from runtime.waits.blocked import Picture, made_by

CYCLE, ENDED, NOBODY, MISMATCH, BEHIND, SIZES, APART, SLOW, INTERCEPTED = (
    "cycle",
    "ended",
    "nobody",
    "mismatch",
    "behind",
    "sizes",
    "apart",
    "slow",
    "intercepted",
)
"""Kinds of findings: ranks that wait for each other; for one that has ended; for a message that
nobody can send; in different collectives; behind others that cannot go on; in one collective with
data of different sizes; apart, in different collectives that native MPI does not count; for one
that still runs; and what interceptors did to messages meanwhile.
"""

_NEVER = "these ranks wait and can never go on:"
HEADINGS = {
    CYCLE: _NEVER,
    ENDED: _NEVER,
    NOBODY: _NEVER,
    MISMATCH: _NEVER,
    BEHIND: "because of that these cannot either:",
    SIZES: "these ranks give data of different sizes to one collective:",
    APART: "these ranks have waited for long in different collectives of one communicator:",
    SLOW: "these ranks have waited for long:",
    INTERCEPTED: "interceptors have held up or dropped messages:",
}
"""The heading of the findings of each kind."""

NEVER = frozenset({CYCLE, ENDED, NOBODY, MISMATCH, BEHIND})
"""The kinds of findings on ranks that can never go on."""

_WAITING = calls.of_kind("wait", of=calls.OF_REQUESTS)
_MOST_NAMED = 6


@dataclass(frozen=True)
class WaitFinding:
    """One explanation: its kind, the ranks concerned, the sentence, and details.

    Details are what other, running ranks do, which differs at each look.
    """

    kind: str
    ranks: tuple[str, ...]
    text: str
    besides: str = ""
    gone: tuple[str, ...] = ()
    """Those that have ended and that the last of the ranks waits for."""
    is_sure: bool = True
    """Whether the last of the ranks is known to wait for others."""
    seconds: float = 0.0
    """For how long it has waited at least."""

    def __str__(self) -> str:
        return f"{self.text}{self.besides}"


def explain(
    states: Mapping[str, RankState],
    ended: Mapping[str, str],
    last: Mapping[str, RankState] | None = None,
    *,
    limit: float = 0.0,
    names: RankNames = NO_NAMES,
) -> list[WaitFinding]:
    """Return why ranks wait: first those that are stuck, then calls longer than `limit`.

    The sentences name ranks as `names` does.

    >>> from runtime.machine.rank_states import Part, RankState, Wait
    >>> states = {
    ...     one: RankState(one, (Wait("Recv", (Part("receive", other, 7),)),))
    ...     for one, other in [("0:0:0", "0:1:0"), ("0:1:0", "0:0:0")]
    ... }
    >>> print(explain(states, {})[0].text)
    0:0:0 waits in Recv from 0:1:0 tag 7, which waits in Recv from 0:0:0 tag 7
    """
    found = list(_Explanation(Picture(states, ended, last), names).findings(limit))
    if found:
        found += [
            WaitFinding(INTERCEPTED, (rank,), f"{names.rank(rank)}: {what}")
            for rank in sorted(states, key=RankName.parse)
            for what in states[rank].intercepted
        ]
    return found


def left_behind(findings: Iterable[WaitFinding], limit: float = 0.0) -> list[WaitFinding]:
    """Return the findings on ranks that wait for an ended rank of their own cluster.

    Between clusters the connections tell what is still to come from a rank that has ended. What a
    native request waits for is unknown, and may not be a rank: it has to have lasted for `limit`,
    if there is one.
    """
    return [
        one
        for one in findings
        if one.gone
        and {cluster_of(rank) for rank in one.gone} == {cluster_of(one.ranks[-1])}
        and (one.is_sure or 0 < limit <= one.seconds)
    ]


def stuck_in(findings: Iterable[WaitFinding]) -> set[str]:
    """Return the ranks that are stuck."""
    return {rank for one in findings if one.kind in NEVER for rank in one.ranks}


def _seconds(state: RankState) -> float:
    return max(one.seconds for one in state.waits)


class _Explanation:
    def __init__(self, picture: Picture, names: RankNames) -> None:
        self._picture = picture
        self._names = names
        self._explained: set[str] = set()

    def findings(self, limit: float) -> Iterator[WaitFinding]:
        picture = self._picture
        blocked = sorted(picture.blocked, key=RankName.parse)
        for rank in blocked:
            if rank not in self._explained:
                finding = self._followed(rank)
                if finding is not None:
                    self._explained.update(finding.ranks)
                    yield finding
        yield from self._behind([one for one in blocked if one not in self._explained])
        for finding in self._of_different_sizes():
            self._explained.update(finding.ranks)
            yield finding
        for finding in self._in_different_calls(limit):
            self._explained.update(finding.ranks)
            yield finding
        yield from self._slow(limit)

    def _followed(self, rank: str) -> WaitFinding | None:
        """Follow from rank to rank by what each one waits for, to the cause."""
        picture = self._picture
        way: dict[str, str] = {}
        while rank not in way:
            if rank in self._explained:
                return None
            wait, part = self._hindered(rank)
            mismatch = picture.mismatch(rank, wait) if part.kind == COLLECTIVE else None
            if mismatch is not None:
                other, theirs = mismatch
                text = f"{self._in(rank, wait)} while {self._in(other, theirs)}"
                return WaitFinding(MISMATCH, (rank, other), text)
            blamed = self._blamed(rank, wait, part)
            way[rank] = self._call(rank, wait, part, blamed)
            if not part.peer and part.kind != COLLECTIVE:
                left = [rank, *(one for one in blamed if one not in picture.ended)]
                is_deserted = all(self._is_alone_in_mpi(one) for one in left)
                return WaitFinding(
                    NOBODY,
                    tuple(way),
                    f"{self._chain(way)}: {self._of_others(blamed)}",
                    gone=tuple(set(blamed) - set(left)) if is_deserted else (),
                    is_sure=not any(self._is_for_unknown(one) for one in left),
                    seconds=min(_seconds(picture.states[one]) for one in left),
                )
            gone = [one for one in blamed if one in picture.ended]
            if gone:
                text = f"{self._chain(way)}{self._gone(gone)}"
                return WaitFinding(ENDED, tuple(way), text, gone=tuple(gone))
            rank = blamed[0]
        ranks = list(way)
        circle = ranks[ranks.index(rank) :]
        text = self._chain({one: way[one] for one in circle})
        if len(circle) == 1:
            text += ", which is itself"
        return WaitFinding(CYCLE, tuple(circle), text)

    def _is_for_unknown(self, rank: str) -> bool:
        waits = self._picture.states[rank].waits
        return any(part.kind == UNKNOWN for one in waits for part in one.parts)

    def _is_alone_in_mpi(self, rank: str) -> bool:
        """Return whether a rank has one thread, which waits in MPI for its own cluster."""
        state, home = self._picture.states[rank], cluster_of(rank)
        return state.is_alone and all(
            one.is_of_mpi and {cluster_of(other) for other in one.comm.ranks} <= {home}
            for one in state.waits
        )

    def _hindered(self, rank: str) -> tuple[Wait, Part]:
        """Return the call in which a rank waits, and the part of it that cannot complete."""
        wait = max(self._picture.states[rank].waits, key=lambda one: one.seconds)
        parts = (one for one in wait.parts if not self._picture.can_be_done(rank, wait, one))
        return wait, next(parts, wait.parts[0])

    def _call(self, rank: str, wait: Wait, part: Part, blamed: list[str]) -> str:
        """Return the call of a rank, whom it lacks, and what has come instead."""
        whom = self._not_in(wait, part, blamed)
        return f"{described(wait, self._names)}{whom}{self._hint(rank, part)}"

    def _in(self, rank: str, wait: Wait) -> str:
        return f"{self._names.rank(rank)} is in {described(wait, self._names)}"

    def _blamed(self, rank: str, wait: Wait, part: Part) -> list[str]:
        """Return the ranks that it waits for, those first that have ended."""
        picture = self._picture
        if part.kind == COLLECTIVE:
            found = [
                one
                for one in picture.absent(rank, wait)
                if one in picture.blocked or one in picture.ended
            ]
        else:
            found = list(picture.partners(rank, wait, part))
        return sorted(found, key=lambda one: (one not in picture.ended, RankName.parse(one)))

    def _not_in(self, wait: Wait, part: Part, blamed: list[str]) -> str:
        if part.kind != COLLECTIVE:
            return ""
        verb = "has" if len(blamed) == 1 else "have"
        known = f"{verb} not entered" if wait.turn is not None else f"{_is(blamed)} not in"
        return f" that {self._named(blamed)} {known}"

    def _gone(self, gone: list[str]) -> str:
        verb = "has" if len(gone) == 1 else "have"
        return f", which {verb} ended ({self._picture.ended[gone[0]]})"

    def _of_others(self, others: list[str]) -> str:
        left = [one for one in others if one not in self._picture.ended]
        if not others:
            return "nobody else is left"
        if not left:
            return "all others have ended"
        gone = len(others) > len(left)
        return f"all others {'have ended or ' if gone else ''}wait themselves"

    def _hint(self, rank: str, part: Part) -> str:
        """Return what was sent instead of the expected message.

        Of what only native MPI knows it is any that nobody receives: who waits for a send of its
        own learns that others wait for theirs.
        """
        is_unknown = part.kind == UNKNOWN
        if part.kind != RECEIVE and not is_unknown:
            return ""
        there = [
            f"tag {one.tag}, {one.size} bytes"
            for one in self._picture.states[rank].unreceived
            if part.peer in ("", one.sender) and (is_unknown or not part.fits(one.tag))
        ]
        if there:
            return f" (a message that nobody receives has come: {there[0]})"
        return ""

    def _behind(self, ranks: list[str]) -> Iterator[WaitFinding]:
        """Yield one finding for all that wait in the same call behind the same others."""
        groups: dict[str, list[str]] = {}
        for rank in ranks:
            wait, part = self._hindered(rank)
            blamed = self._blamed(rank, wait, part)
            what = self._call(rank, wait, part, blamed)
            groups.setdefault(what, []).append(rank)
        for what, members in groups.items():
            verb = "waits" if len(members) == 1 else "wait"
            text = f"{self._names.names(members)} {verb} in {what}"
            yield WaitFinding(BEHIND, tuple(members), text)

    def _of_different_sizes(self) -> Iterator[WaitFinding]:
        """Yield one finding for each collective to which members contribute different sizes."""
        calls: dict[tuple[str, str, tuple[str, ...]], dict[int, list[str]]] = {}
        for rank, state in self._picture.states.items():
            for wait in state.waits:
                if wait.size is not None:
                    made = wait.call, str(wait.comm), wait.comm.ranks
                    calls.setdefault(made, {}).setdefault(wait.size, []).append(rank)
        for (call, comm, _), sizes in calls.items():
            if len(sizes) > 1:
                known = self._names.names
                given = ", ".join(f"{known(sizes[one])} {one} bytes" for one in sorted(sizes))
                ranks = sorted((one for many in sizes.values() for one in many), key=RankName.parse)
                yield WaitFinding(SIZES, tuple(ranks), f"{call} on {comm}: {given}")

    def _in_different_calls(self, limit: float) -> Iterator[WaitFinding]:
        """Yield one finding for each communicator whose members wait long in different calls.

        That may pass: members can do their part of a collective and leave it before others enter.
        """
        calls: dict[str, dict[tuple[str, str], list[tuple[str, Wait]]]] = {}
        for rank in self._waiting():
            for wait in self._picture.states[rank].waits:
                if wait.is_collective and wait.comm.id and wait.seconds >= limit:
                    made = made_by(wait), wait.root
                    calls.setdefault(wait.comm.id, {}).setdefault(made, []).append((rank, wait))
        for groups in calls.values():
            if len(groups) > 1:
                texts = []
                for members in groups.values():
                    names, wait = [rank for rank, _ in members], members[0][1]
                    call = described(wait, self._names)
                    texts.append(f"{self._names.names(names)} {_is(names)} in {call}")
                every = (one for many in groups.values() for one, _ in many)
                ranks = sorted(every, key=RankName.parse)
                yield WaitFinding(APART, tuple(ranks), " while ".join(texts))

    def _waiting(self) -> list[str]:
        """Return the ranks that are not explained yet, and may go on."""
        picture = self._picture
        rest = picture.states.keys() - picture.blocked - picture.ended.keys() - self._explained
        return sorted(rest, key=RankName.parse)

    def _slow(self, limit: float) -> Iterator[WaitFinding]:
        """Yield one finding for all that have waited long in the same call, and may complete."""
        picture = self._picture
        groups: dict[tuple[str, str], list[str]] = {}
        for rank in self._waiting():
            for wait in picture.states[rank].waits:
                if wait.seconds >= limit:
                    others = self._others_of(rank, wait)
                    groups.setdefault((described(wait, self._names), others), []).append(rank)
        for (what, others), members in sorted(groups.items()):
            verb = "waits" if len(members) == 1 else "wait"
            ranks = tuple(sorted(members, key=RankName.parse))
            yield WaitFinding(SLOW, ranks, f"{self._names.names(ranks)} {verb} in {what}", others)

    def _others_of(self, rank: str, wait: Wait) -> str:
        """Return what the ranks do that are waited for."""
        others: list[str] = []
        for part in wait.parts:
            if part.kind == COLLECTIVE:
                others += self._picture.absent(rank, wait)
            elif part.peer:
                others.append(part.peer)
        others = list(dict.fromkeys(others))
        if not others:
            return ""
        more = f", and {len(others) - 1} more are not there" if len(others) > 1 else ""
        return f"; {self._names.rank(others[0])} {self._doing(others[0])}{more}"

    def _doing(self, rank: str) -> str:
        state = self._picture.states.get(rank)
        if rank in self._picture.ended:
            return f"has ended ({self._picture.ended[rank]})"
        if state is None:
            return "does not answer: it is in a call that lets no other thread run, or stopped"
        if state.waits:
            return f"waits in {described(state.waits[0], self._names)}"
        return f"is at {state.at}" if state.at else "waits for nobody"

    def _chain(self, way: Mapping[str, str]) -> str:
        (first, call), *others = way.items()
        begin = f"{self._names.rank(first)} waits in {call}"
        return "".join([begin, *(f", which waits in {one}" for _, one in others)])

    def _named(self, ranks: list[str]) -> str:
        return self._names.names(ranks, _MOST_NAMED)


def described(wait: Wait, names: RankNames = NO_NAMES) -> str:
    """Describe a call in words.

    >>> described(Wait("Recv", (Part("receive", "0:0:1", 7),), where="ring.py:12"))
    'Recv from 0:0:1 tag 7 (ring.py:12)'
    """
    known = [_part(one, names) for one in wait.parts if one.kind != UNKNOWN]
    known = [one for one in known if one]
    joined = (" and " if wait.needs_all else " or ").join(known[:_MOST_NAMED])
    if len(known) > _MOST_NAMED:
        joined += f" and {len(known) - _MOST_NAMED} more"
    text = wait.call
    if wait.call in _WAITING and joined:
        text += f" for a message {joined}" if wait.parts[0].kind == RECEIVE else f" for {joined}"
    elif joined:
        text += f" {joined}"
    elif wait.began:
        text += f" for {wait.began}"
    if wait.root:
        text += f" with root {names.rank(wait.root)}"
    name = str(wait.comm)
    if wait.is_collective or name not in ("COMM_WORLD", "a communicator"):
        text += f" on {name}"
    return f"{text} ({wait.where})" if wait.where else text


def _part(part: Part, names: RankNames) -> str:
    if part.kind == COLLECTIVE:
        return ""
    way = "to" if part.kind == SEND else "from"
    tag = "" if part.tag is None else f" tag {part.tag}"
    return f"{way} {names.rank(part.peer) or 'any rank'}{tag}"


def _is(ranks: list[str]) -> str:
    return "is" if len(ranks) == 1 else "are"
