"""What is said of the failures of a run: of the first one all that is known, of others a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from runtime.exit_codes import LOST
from runtime.lifecycle.failures import Failure, Failures
from runtime.lifecycle.outcome import FirstCause, RankReport
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName
from runtime.topology import RankNames

MOST_NAMES = 4
"""How many of those are named that failed because of another."""

MOST_OTHERS = 3
"""How many are told of that failed for a reason of their own."""


def first_cause(
    failures: Failures, ranks: Iterable[RankReport], names: RankNames
) -> FirstCause | None:
    """Return what failed first; None if nothing did."""
    first = failures.first
    if not isinstance(first, RankDeath):
        return None if first is None else FirstCause(first, first.why)
    known = {one.rank: one for one in ranks}
    found = known.get(first.who)
    ended = [] if not first.observed.is_loss else [
        one for one in map(str, first.observed.lost) if one in known and known[one].code == 0
    ]  # fmt: skip
    too_early = (
        f"; {names.names(ended, MOST_NAMES)} had ended with exit code 0 by then" if ended else ""
    )
    return FirstCause(
        first,
        what=f"{_what(first).rstrip('.')}{too_early}" if too_early else _what(first),
        host="" if found is None else found.host,
        pid=None if found is None else found.pid,
        number=names.number(first.who),
        name=names.name(first.who),
    )


def messages(
    failures: Failures, ranks: Sequence[RankReport], paths: Mapping[str, str], names: RankNames
) -> Iterator[str]:
    """Yield whole messages, the first cause first; `paths` are those of clusters and ranks."""
    first, cause = failures.first, first_cause(failures, ranks, names)
    if first is None or cause is None:
        return
    if isinstance(first, RankDeath):
        process = f" on {cause.host} (process {cause.pid})" if cause.host else ""
        alone = not failures.consequences and not failures.independent
        when = "" if alone else " first"
        head = f"{names.name(first.who)}{process} failed{when}: {cause.what}"
        text = "" if _is_shown_in(cause.traceback, head) else cause.traceback
        yield _indented(head, text)
    elif first.why or first.who in paths:  # an exit code that an assembly chose says enough
        yield first.why or f"{paths[first.who]} ended with code {first.code}"
    if because := _because(failures, names, len(ranks)):
        yield because
    if failures.survived and isinstance(first, RankDeath):
        yield _survived(failures, names)
    replicas = [one.rank for one in ranks if names.is_copy(one.rank, first.who)]
    is_last = all(failures.has_rank_failed(RankName.parse(one)) for one in replicas)
    yield from _others(failures.independent, first, names, is_last=is_last)


def _what(failure: Failure) -> str:
    """Return in a line what happened to a rank, or was said of something else."""
    if not isinstance(failure, RankDeath):
        return failure.why
    seen = failure.observed
    words = f"killed by {failure.ending}" if seen.signal else failure.ending
    if not seen.signal and seen.exception and failure.code in (1, LOST):
        words = ""  # as Python ends with every exception, and what ends without a word
    return "; ".join(part for part in (words, seen.exception, failure.why) if part)


def _because(failures: Failures, known: RankNames, ranks: int) -> str:
    others = failures.consequences
    parts = []
    if len(others) == ranks - 1 > 1 and all(isinstance(one, RankDeath) for one in others):
        parts.append(f"the other {len(others)} ranks were ended")  # who else, is no question
    elif others:
        ordered = sorted(others, key=lambda one: not isinstance(one, RankDeath))
        names = known.names([one.who for one in ordered], MOST_NAMES)
        were = "was" if len(others) == 1 else "were"
        parts.append(f"{len(others)} more failed or {were} ended ({names})")
    if failures.stopped:
        parts.append(f"{failures.stopped}, and had to be stopped")
    return f"because of that {', and '.join(parts)}" if parts else ""


def _survived(failures: Failures, names: RankNames) -> str:
    """Return which ranks were lost before the program failed for another reason."""
    lost = list(failures.survived.values())
    which = names.names([one.who for one in lost], MOST_NAMES)
    what = _what(lost[0])
    rest = "" if all(_what(one) == what for one in lost) else ", and others in other ways"
    were = "was" if len(lost) == 1 else "were"
    return f"before that {which} {were} lost, and the program went on: {what}{rest}"


def _others(
    others: Sequence[Failure], first: Failure, names: RankNames, *, is_last: bool
) -> Iterator[str]:
    """Yield a line for all that failed in the same way, and one each for some of the rest.

    `is_last` says that the first one has no replica that did not fail.
    """
    same = [one for one in others if isinstance(one, RankDeath) and _what(one) == _what(first)]
    copies = [one for one in same if names.is_copy(one.who, first.who)]
    if copies and is_last:
        numbers = ", ".join(str(names.replica(one.who)) for one in copies)
        word = "replica" if len(copies) == 1 else "replicas"
        yield (
            f"{names.rank(first.who)} has lost its last replica: {word} {numbers} failed in the"
            " same way"
        )
    if alike := [one for one in same if not (is_last and one in copies)]:
        which = names.names([one.who for one in alike], MOST_NAMES)
        yield f"{len(alike)} more failed in the same way ({which})"
    rest = [one for one in others if one not in same]
    for one in rest[:MOST_OTHERS]:
        if isinstance(one, RankDeath):
            yield f"{names.name(one.who)} failed by itself, too: {_what(one)}"
        else:
            yield one.why
    if left := rest[MOST_OTHERS:]:
        which = names.names([one.who for one in left], MOST_NAMES)
        yield f"{len(left)} more failed by themselves ({which})"


def _is_shown_in(text: str, head: str) -> bool:
    return not text or text.strip() in head


def _indented(head: str, text: str) -> str:
    return "\n".join([head, *(f"    {line}" for line in text.splitlines())])
