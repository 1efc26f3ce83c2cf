"""The page of the evaluation, made of records: the verdicts, and each figure with its plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.evaluate.figure import Claim, Figure, Interval, Record, Verdict
from benchmarks.mpi_rows import size_of
from benchmarks.plots import curves

HEAD = """\
# Evaluation

Figures of the five source documents, measured again: all by `make evaluate`, one by `python -m
benchmarks.evaluate NAME`; `--list` tells why some are not measured, and `--page docs/evaluation.md`
makes this page of the records beside it.

A claim is an inequality that was written before anything was measured. Ways are measured in turns
and compared within each of *n* repetitions, so that other load meets them alike; absolute times say
less. In brackets is the interval of the median (94 % with five repetitions, 75 % with three). A
claim **holds** if the whole interval lies below its bound.

Clusters are network namespaces of one machine, joined by slow lines: 5 ms and 1 Gbit/s between
sites unless a figure says otherwise, 0.17 ms inside one. Ranks share its cores: messages are as on
a real grid, but computing does not speed up with ranks, so speedups are given as overheads.
"""


def page(records: Sequence[tuple[Figure, Record]], folder: str = "evaluation") -> str:
    """Return the whole page; its pictures are in that folder."""
    verdicts = [record.judged(claim)[0] for figure, record in records for claim in figure.claims]
    parts = [
        HEAD,
        f"{_occasion(records)}{_summary(verdicts)}",
        "",
        "claim|verdict|ratio|n",
        "---|---|---|---",
    ]
    parts += [line for figure, record in records for line in _verdicts(figure, record)]
    before = ""
    for figure, record in records:
        source = figure.found if figure.found != before else ""
        parts.append(_section(figure, record, source, folder))
        before = figure.found
    return "\n".join(parts) + "\n"


def _occasion(records: Sequence[tuple[Figure, Record]]) -> str:
    """Return when and on which machines records were made."""
    days = sorted({record.day for _, record in records if record.turns})
    machines = sorted({record.machine for _, record in records if record.turns})
    loads = [one for _, record in records for one in record.loads]
    where = f"{', '.join(days)} with {'; '.join(machines)}"
    return f"Measured on {where}, load {min(loads):g}-{max(loads):g}. " if days else ""


def _summary(verdicts: Sequence[Verdict]) -> str:
    counts = ", ".join(
        f"{count} {_plural(one)}" for one in Verdict if (count := verdicts.count(one))
    )
    return f"Of {len(verdicts)} claims {counts}."


def _verdicts(figure: Figure, record: Record) -> Iterator[str]:
    """Yield the rows of a figure's claims; the first one links to its section."""
    name = f"[{figure.name}](#{figure.name}): "
    for claim in figure.claims:
        verdict, found = record.judged(claim)
        why = _why(verdict, claim, record)
        count = found.count if found else 0
        cells = [f"{_verdict(verdict)}{why}", ratio(figure, claim, found), str(count)]
        yield "|".join([f"{name}{claim.text}", *cells])
        name = ""


def _plural(verdict: Verdict) -> str:
    return {
        Verdict.HOLDS: "hold",
        Verdict.FAILS: "do not hold",
        Verdict.UNTESTED: "cannot be tested here",
        Verdict.OPEN: "are not decided yet",
    }[verdict]


def _verdict(verdict: Verdict) -> str:
    return f"**{verdict}**" if verdict is not Verdict.HOLDS else str(verdict)


def ratio(figure: Figure, claim: Claim, found: Interval | None) -> str:
    """Return a ratio with its interval; where the claim is about a value itself, that one."""
    if found is None or claim.right or figure.factor == 1:
        return _cell(found, 1.0, "{:.3g}".format)
    return f"{_cell(found, figure.factor, _number)} {figure.unit}"


def _section(figure: Figure, record: Record, source: str, folder: str) -> str:
    """Return what a figure shows, what its source found, and its plot: a table if it has none."""
    about = " ".join(filter(None, (f"{figure.title} ({_shown(figure.shows)}).", figure.remark)))
    lines = [f"\n## {figure.name}\n", about]
    lines += [f"*The source:* {source}"] if source else []
    fails = any(record.judged(claim)[0] is Verdict.FAILS for claim in figure.claims)
    lines += [f"*What does not hold:* {figure.why_not}"] if fails and figure.why_not else []
    pictures = plots(figure, record)
    lines += (
        ["", *(f"![{Path(name).stem}]({folder}/{name})" for name in pictures)] if pictures else []
    )
    lines += ["", _table(figure, record)] if record.turns and not pictures else []
    return "\n".join(lines)


def _shown(shows: Sequence[str]) -> str:
    """Return figures by source: "004 7.1, 7.2; 001 4"."""
    named = [one.split(" ", 1) for one in shows]
    by_source = groupby(named, key=lambda one: one[0])
    return "; ".join(
        f"{source} {', '.join(one for _, one in names)}" for source, names in by_source
    )


def _why(verdict: Verdict, claim: Claim, record: Record) -> str:
    """Return the reason why a claim could not be tested."""
    if verdict is not Verdict.UNTESTED:
        return ""
    return f": {claim.untestable or record.faults[-1]}"


def _table(figure: Figure, record: Record) -> str:
    found = record.medians()
    ways = list(dict.fromkeys(way for *_, way in found))
    rows = list(dict.fromkeys((case, at) for case, at, _ in found))
    lines = ["|".join([figure.unit, *ways]), f"---{'|---' * len(ways)}"]
    for case, at in rows:
        size = size_of(at) if figure.across == "bytes" else f"{at} {figure.across}"
        cells = [_cell(found.get((case, at, way)), figure.factor, _number) for way in ways]
        lines.append("|".join([" ".join(filter(None, (case, size))), *cells]))
    return "\n".join(lines)


def _cell(found: Interval | None, factor: float, write: Callable[[float], str]) -> str:
    """Return a median with its interval, if that is one."""
    if found is None:
        return "-"
    middle, low, high = (write(factor * one) for one in (found.middle, found.low, found.high))
    return middle if low == high else f"{middle} [{low}, {high}]"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


MOST_CURVES = 8
"""In one picture; a figure with more of them has a picture for each case."""


def plots(figure: Figure, record: Record) -> dict[str, str]:
    """Return pictures by file name: all ways over sizes; none where there is only one size."""
    found = record.medians()
    series: dict[str, dict[str, Mapping[int, float]]] = {}
    for case, way in dict.fromkeys((case, way) for case, _, way in found):
        points = {
            at: one.middle
            for (of, at, by), one in found.items()
            if (of, by) == (case, way) and at > 0 and one.middle > 0
        }
        if len(points) > 1 and (not figure.drawn or way in figure.drawn):
            series.setdefault(case, {})[way] = points
    if sum(map(len, series.values())) > MOST_CURVES:
        return {
            f"{figure.name}-{case.replace(' ', '-')}.svg": _curves(
                f"{figure.title}: {case}", one, figure
            )
            for case, one in series.items()
        }
    together = {
        f"{case} {way}" if len(series) > 1 else way: points
        for case, one in series.items()
        for way, points in one.items()
    }
    return {f"{figure.name}.svg": _curves(figure.title, together, figure)} if together else {}


def _curves(title: str, series: Mapping[str, Mapping[int, float]], figure: Figure) -> str:
    return curves(
        title, series, unit=figure.unit, factor=figure.factor, across=figure.across.strip("()")
    )
