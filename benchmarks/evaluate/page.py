"""The page of the evaluation, made of records: the verdicts, and each figure with its plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.evaluate.figure import (
    Cell,
    Claim,
    Figure,
    Finding,
    Interval,
    Judgement,
    Record,
    Verdict,
)
from benchmarks.mpi_rows import size_of
from benchmarks.plots import curves

HEAD = """\
# Evaluation

Figures of the five source documents, measured again: all by `make evaluate`, one by `python -m
benchmarks.evaluate NAME`; `--list` tells why some are not measured, and `--page docs/evaluation.md`
makes this page of the records beside it.

A claim is an inequality that was written before anything was measured. Ways are measured in turns
and compared within each repetition, so that other load meets them alike; absolute times say less.
In brackets is the interval of the median (94 % with five repetitions, 75 % with three). A claim has
a verdict in each **cell**, one case at one size: it **holds** there if the whole interval lies
below its bound, **does not hold** if all of it lies above, and is **undecided** if the bound lies
between, after up to twice the repetitions. Another day gives other ratios: where a figure was
measured in several sessions, its intervals span those of all.

*Flat MPI* is what you would start without us: MPICH over OFI, MPICH over UCX, or Open MPI, with
plain mpi4py and `mpiexec` where this package is not installed. In each cell the fastest of them
counts, and is named. A row shows all cells in which a claim is undecided or, in bold, does not
hold; where there are none, the one that is nearest to the bound.

Clusters are network namespaces of one machine, joined by slow lines: 5 ms and 1 Gbit/s between
sites unless a figure says otherwise, 0.17 ms inside one. Ranks share its cores: messages are as on
a real grid, but computing does not speed up with ranks, so speedups are given as overheads.
"""


def page(records: Sequence[tuple[Figure, Record]], folder: str = "evaluation") -> str:
    """Return the whole page; its pictures are in that folder."""
    judged = [record.judged(claim) for figure, record in records for claim in figure.claims]
    parts = [
        HEAD,
        _summary(judged),
        *_occasions(records),
        "",
        "claim|verdict|ratio, in the cells that count|n",
        "---|---|---|---",
    ]
    parts += [line for figure, record in records for line in _verdicts(figure, record)]
    before = ""
    for figure, record in records:
        source = figure.found if figure.found != before else ""
        parts.append(_section(figure, record, source, folder))
        before = figure.found
    return "\n".join(parts) + "\n"


def _occasions(records: Sequence[tuple[Figure, Record]]) -> Iterator[str]:
    """Yield a row for each session: when, on which machine, of which commits, under which load."""
    yield "\nsession|measured|of commit|with|load|figures"
    yield "---|---|---|---|---|---"
    most = max((len(record.sessions) for _, record in records), default=0)
    for number in range(most):
        held = [one.sessions[number] for _, one in records if len(one.sessions) > number]
        days = sorted(one.day for one in held)
        when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
        loads = [load for one in held for load in one.loads]
        kinds = [
            ", ".join(sorted({part for one in held for part in text(one).split(", ") if part}))
            for text in (lambda one: one.commit, lambda one: f"{one.machine}, {one.mpi}")
        ]
        load = f"{min(loads):g} to {max(loads):g}"
        yield f"{number + 1}|{when}|{kinds[0]}|{kinds[1]}|{load}|{len(held)}"


def _summary(judged: Sequence[Judgement]) -> str:
    claims = _counted([one.verdict for one in judged])
    cells = _counted([cell.verdict for one in judged for cell in one.cells.values()])
    count = sum(len(one.cells) for one in judged)
    return f"Of {len(judged)} claims {claims}. Of their {count} cells {cells or 'none is known'}."


def _counted(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{count} {_plural(one)}" for one in Verdict if (count := verdicts.count(one)))


def _verdicts(figure: Figure, record: Record) -> Iterator[str]:
    """Yield the rows of a figure's claims; the first one links to its section."""
    name = f"[{figure.name}](#{figure.name}): "
    for claim in figure.claims:
        judgement = record.judged(claim)
        why = _why(judgement.verdict, claim, record)
        cells = [f"{_verdict(judgement.verdict)}{why}", told(figure, claim, judgement)]
        yield "|".join([f"{name}{claim.text}", *cells, str(judgement.count)])
        name = ""


def told(figure: Figure, claim: Claim, judgement: Judgement) -> str:
    """Return each cell of a claim in which it does not hold, or else the one that is nearest."""
    cells = judgement.cells
    if not cells:
        return "-"
    by_value = sorted(cells, key=lambda cell: cells[cell].interval.high, reverse=True)
    held = sum(one.verdict is Verdict.HOLDS for one in cells.values())
    head = f"{held} of {len(cells)} hold; " if 0 < held < len(cells) else ""
    shown = [cell for cell in by_value if cells[cell].verdict is not Verdict.HOLDS]
    shown = shown or by_value[:1]
    return head + "; ".join(_of_cell(figure, claim, cell, cells) for cell in shown)


def _of_cell(figure: Figure, claim: Claim, cell: Cell, cells: Mapping[Cell, Finding]) -> str:
    """Return one cell's ratio, with its name where there are others, and the MPI it was against."""
    finding = cells[cell]
    against = f" ({finding.against})" if finding.against else ""
    one = ratio(figure, claim, finding.interval)
    if len(cells) == 1:
        return f"{one}{against}"
    mark = "**" if finding.verdict is Verdict.FAILS else ""
    return f"{mark}{_cell_name(figure, cell)} {one}{mark}{against}"


def _cell_name(figure: Figure, cell: Cell) -> str:
    case, at = cell
    if figure.across == "bytes":
        size = size_of(at)
    else:
        size = "" if figure.across.startswith("(") else f"{at} {figure.across}"
    return " ".join(filter(None, (case, size)))


def _plural(verdict: Verdict) -> str:
    return {
        Verdict.HOLDS: "hold",
        Verdict.IN_PART: "hold in part",
        Verdict.FAILS: "do not hold",
        Verdict.UNDECIDED: "are undecided",
        Verdict.UNTESTED: "cannot be tested here",
        Verdict.OPEN: "are not measured yet",
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
    fails = any(record.judged(claim).fails for claim in figure.claims)
    lines += [f"*What does not hold:* {figure.why_not}"] if fails and figure.why_not else []
    pictures = plots(figure, record)
    lines += (
        ["", *(f"![{Path(name).stem}]({folder}/{name})" for name in pictures)] if pictures else []
    )
    lines += ["", _table(figure, record)] if record.comparable and not pictures else []
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
        cells = [_cell(found.get((case, at, way)), figure.factor, _number) for way in ways]
        lines.append("|".join([_cell_name(figure, (case, at)), *cells]))
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
    series: dict[str, dict[str, dict[int, Interval]]] = {}
    for (case, at, way), one in record.medians().items():
        if at > 0 and one.middle > 0 and (not figure.drawn or way in figure.drawn):
            series.setdefault(case, {}).setdefault(way, {})[at] = one
    drawn = {
        case: {way: points for way, points in ways.items() if len(points) > 1}
        for case, ways in series.items()
    }
    drawn = {case: ways for case, ways in drawn.items() if ways}
    if sum(map(len, drawn.values())) > MOST_CURVES:
        return {
            f"{figure.name}-{case.replace(' ', '-')}.svg": _curves(
                f"{figure.title}: {case}", ways, figure
            )
            for case, ways in drawn.items()
        }
    together = {
        f"{case} {way}" if len(drawn) > 1 else way: points
        for case, ways in drawn.items()
        for way, points in ways.items()
    }
    return {f"{figure.name}.svg": _curves(figure.title, together, figure)} if together else {}


def _curves(title: str, series: Mapping[str, Mapping[int, Interval]], figure: Figure) -> str:
    return curves(
        title,
        {name: {at: one.middle for at, one in some.items()} for name, some in series.items()},
        unit=figure.unit,
        factor=figure.factor,
        across=figure.across.strip("()"),
        spreads={
            name: {at: (one.low, one.high) for at, one in some.items()}
            for name, some in series.items()
        },
    )
