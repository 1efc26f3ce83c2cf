"""The page of the evaluation, made of records: for each figure its source, claims and plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.evaluate.figure import Claim, Figure, Interval, Record, Verdict
from benchmarks.mpi_rows import size_of
from benchmarks.plots import curves

HEAD = """\
# Evaluation

What the five source documents measured, measured here: each figure is one command, all together
are `make evaluate`. This page is generated from the records beside it
(`docs/evaluation/NAME.json`) by `python -m benchmarks.evaluate --page docs/evaluation.md`.

**How to read it.** A claim is an inequality that was written before anything was measured. Ways
are measured in turns, and ratios are taken within each repetition, so that what else the machine
does meets them alike; absolute times say less. *n* is the number of repetitions, in brackets is
the interval of the median by order statistics (94 % with five repetitions, 75 % with three). A
claim **holds** if its whole interval does; one whose interval reaches over its bound does not.

**From emulated to real.** Clusters are network namespaces of one machine, between which packets
are delayed and limited in rate (`benchmarks/grid`): 5 ms and 1 Gbit/s between sites if nothing
else is said, 0.17 ms inside one. All ranks share the cores of that machine. So the number of
messages between sites, their latency and their bandwidth are as on a real grid; computing does
not speed up with ranks, and the sources' hundreds of processors are out of reach. Speedups are
therefore given as overheads: how much longer the same work takes in one way than in another one.
"""


def page(records: Sequence[tuple[Figure, Record]], coverage: Sequence[tuple[str, str]]) -> str:
    """Return the whole page."""
    verdicts = [
        (figure, claim, *record.judged(claim))
        for figure, record in records
        for claim in figure.claims
    ]
    parts = [HEAD, _summary([verdict for *_, verdict, _ in verdicts])]
    parts.append(
        "\n## Claims\n\n| figure | claim | verdict | ratio, median [interval] | bound | n |"
    )
    parts.append("|---|---|---|---|---|---|")
    parts += [
        f"| [{figure.name}](#{figure.name}) | {claim.text} | {_verdict(verdict)} "
        f"| {_ratio(found)} | {_bound(claim)} | {found.count if found else 0} |"
        for figure, claim, verdict, found in verdicts
    ]
    parts += [_section(figure, record) for figure, record in records]
    parts += ["\n## Every figure of the sources\n", "| figure | here |", "|---|---|"]
    parts += [f"| {name} | {where} |" for name, where in coverage]
    return "\n".join(parts) + "\n"


def _summary(verdicts: Sequence[Verdict]) -> str:
    counts = ", ".join(f"{verdicts.count(one)} {_plural(one)}" for one in Verdict)
    return f"Of {len(verdicts)} claims {counts}."


def _plural(verdict: Verdict) -> str:
    return {
        Verdict.HOLDS: "hold",
        Verdict.FAILS: "do not hold",
        Verdict.UNTESTED: "cannot be tested here",
        Verdict.OPEN: "are not decided yet",
    }[verdict]


def _bound(claim: Claim) -> str:
    return "-" if claim.untestable else f"≤ {claim.bound:g}"


def _verdict(verdict: Verdict) -> str:
    return f"**{verdict}**" if verdict is not Verdict.HOLDS else str(verdict)


def _ratio(found: Interval | None) -> str:
    return f"{found.middle:.3g} [{found.low:.3g}, {found.high:.3g}]" if found else "-"


def _section(figure: Figure, record: Record) -> str:
    lines = [f"\n## {figure.name}\n", f"**{figure.title}** ({', '.join(figure.shows)})."]
    if figure.remark:
        lines.append(figure.remark)
    lines += [f"\n*The source:* {figure.found}\n"]
    for claim in figure.claims:
        verdict, found = record.judged(claim)
        why = _why(verdict, claim, found, record)
        lines.append(f"- {claim.text}: {_verdict(verdict)}{why}.")
    if record.turns:
        lines += ["", _table(figure, record), "", _conditions(record)]
        pictures = plots(figure, record)
        lines += [f"\n![{figure.title}](evaluation/{name})" for name in pictures]
    lines.append(f"\n`python -m benchmarks.evaluate {figure.name}`")
    return "\n".join(lines)


def _why(verdict: Verdict, claim: Claim, found: Interval | None, record: Record) -> str:
    if claim.untestable:
        return f": {claim.untestable}"
    if found is None:
        return f": {record.faults[-1]}" if record.faults else ": nothing is measured"
    if verdict is Verdict.OPEN:
        return f": n = {found.count} is too few, {_ratio(found)}"
    straddles = verdict is Verdict.FAILS and found.middle <= claim.bound
    reason = ", since its interval reaches over the bound" if straddles else ""
    return f": {_ratio(found)}, bound {claim.bound:g}, n = {found.count}{reason}"


def _conditions(record: Record) -> str:
    loads = f"load {min(record.loads):g} to {max(record.loads):g}" if record.loads else ""
    return f"{len(record.turns)} repetitions, {record.machine}, {record.day}, {loads}."


def _table(figure: Figure, record: Record) -> str:
    found = record.medians()
    ways = list(dict.fromkeys(way for *_, way in found))
    rows = list(dict.fromkeys((case, at) for case, at, _ in found))
    lines = [f"| {figure.unit} | {' | '.join(ways)} |", f"|---|{'---|' * len(ways)}"]
    for case, at in rows:
        size = size_of(at) if figure.across == "bytes" else f"{at} {figure.across}"
        cells = [_cell(found.get((case, at, way)), figure.factor) for way in ways]
        lines.append(f"| {' '.join(filter(None, (case, size)))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: Interval | None, factor: float) -> str:
    if found is None:
        return "-"
    middle, low, high = (_number(factor * one) for one in (found.middle, found.low, found.high))
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
    return curves(title, series, unit=figure.unit, factor=figure.factor)
