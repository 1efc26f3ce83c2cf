"""`python -m benchmarks.detectors`: detectors simulated, beside the published figures.

With `--small` in half a minute; without it groups of up to 10⁵ members, which takes half an hour.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.detectors.reliability import PUBLISHED, failure_probability
from benchmarks.detectors.simulation import Case, Found, Run
from benchmarks.plots import curves
from runtime.health import DetectorProtocol as P

PICTURES = Path("build/benchmarks")
FLAT = (P.ROUND_ROBIN, P.BRR, P.DBRR)
DETECTION = {16: (4, 6), 32: (5, 7.5), 64: (6, 9), 128: (7, 10.5), 256: (8, 12)}
"""Published: T_cleanup of BRR and DBRR in seconds; about 0.5 s more was observed."""

COLUMNS = (
    "group",
    "T_cleanup",
    "first",
    "mean",
    "last",
    "unaware",
    "wrong suspicions",
    "wrong verdicts",
    "messages/s",
    "entries",
    "simulated in",
)


def published(small: bool) -> Iterator[Case]:
    """Yield the groups whose detection times were published."""
    for members in list(DETECTION)[: 2 if small else None]:
        for protocol in FLAT:
            yield Case(protocol, members, 120.0, deaths=3)


def large(small: bool) -> Iterator[Case]:
    """Yield groups of 10³ to 10⁵."""
    if small:
        yield Case(P.HIERARCHICAL, 400, 60.0)
        return
    for members, protocols in ((1_000, tuple(P)), (10_000, (P.BRR, P.DBRR, P.HIERARCHICAL))):
        for protocol in protocols:
            seconds = 140.0 if protocol is P.ROUND_ROBIN else 48.0
            yield Case(protocol, members, seconds)
    # Small groups, whose members do little: it is the number of rounds that takes time.
    yield Case(P.HIERARCHICAL, 100_000, 24.0, group=32, settle=2.0)


def lossy(small: bool) -> Iterator[Case]:
    """Yield groups that lose one message of a hundred."""
    for protocol in P:
        members, seconds = (32, 120.0) if small else (256, 600.0)
        yield Case(protocol, members, seconds, deaths=0, loss=0.01, max_hang=1.0)
    if not small:
        yield Case(P.HIERARCHICAL, 10_000, 30.0, deaths=0, loss=0.01, max_hang=1.0, group=32)


def overloaded(small: bool) -> Iterator[Case]:
    """Yield groups in which processors stand still, with the local health of watchers and without.

    A tenth of the members stops in each second, for up to 5 seconds; one that goes on may stop
    again at once. T_max_hang is 2 seconds.
    """
    members, seconds = (32, 120.0) if small else (128, 300.0)
    groups = [(protocol, members, seconds, 0) for protocol in (P.BRR, P.DBRR, P.HIERARCHICAL)]
    if not small:
        groups.append((P.HIERARCHICAL, 2_000, 60.0, 32))
    for protocol, members, seconds, group in groups:
        case = Case(
            protocol, members, seconds, 0, overload=0.1, stop=5.0, max_hang=2.0, group=group
        )
        yield case
        yield replace(case, most_distrust=0)


PARTS = {"published": published, "large": large, "loss": lossy, "overload": overloaded}


def main() -> None:
    """Simulate, print tables, write pictures and figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detectors", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none")
    parser.add_argument("--small", action="store_true", help="small groups only")
    parser.add_argument("--json", type=Path, help="write all figures to a file")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    found: dict[str, list[tuple[Case, Found]]] = {}
    for name in options.parts or PARTS:
        print(f"\n{name}\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
        found[name] = []
        for case in PARTS[name](options.small):
            result = Run(case).found()
            found[name].append((case, result))
            print(f"| {' | '.join(_row(case, result))} |", flush=True)
    _print_reliability()
    _draw([one for part in ("published", "large") for one in found.get(part, ())])
    if options.json:
        figures = {
            name: [{**asdict(case), **asdict(result)} for case, result in rows]
            for name, rows in found.items()
        }
        options.json.write_text(json.dumps(figures, indent=1))


def _row(case: Case, found: Found) -> list[str]:
    health = "" if case.most_distrust else ", no local health"
    times = (
        ["", "", ""]
        if not case.deaths
        else [f"{one:.2f} s" for one in (found.first, found.mean, found.last)]
    )
    return [
        f"{case.protocol} {case.members:,}{health}",
        f"{found.cleanup:g} s",
        *times,
        str(found.unaware),
        str(found.suspicions),
        str(found.false_verdicts),
        f"{found.messages:.2f}",
        str(found.entries),
        f"{found.took:.0f} s",
    ]


def _print_reliability() -> None:
    print("\nThe detector itself fails, 5 % of the members being dead:\n")
    print("| members | protocol | published | exact |\n|---|---|---|---|")
    for (members, name), told in PUBLISHED.items():
        exact = failure_probability(P(name), members, 0.05)
        print(f"| {members} | {name} | {told:.3e} | {exact:.3e} |")


def _draw(found: list[tuple[Case, Found]]) -> None:
    if not found:
        return
    series: dict[str, dict[int, float]] = {}
    for case, result in found:
        series.setdefault(str(case.protocol), {})[case.members] = result.mean
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / "detectors.svg"
    picture.write_text(curves("From a death to its verdict", series, unit="seconds"))
    print(f"\n{picture}")


if __name__ == "__main__":
    main()
