"""`python -m benchmarks.peers`: labs of 10² to 10⁵ peers, simulated with the very code.

With `--small` in a minute; without it labs of up to 10⁵ peers, which takes an hour.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.peers.bookings import BookingCase, BookingRun
from benchmarks.peers.membership import MembershipRun
from benchmarks.peers.ranking import ranking
from benchmarks.plots import curves

PICTURES = Path("build/benchmarks")
SIZES = (100, 1_000, 10_000, 100_000)
SMALL = (100, 400)

Figures = dict[str, dict[int, float]]


def membership(sizes: Sequence[int], churn: float = 0.01) -> None:
    """Print what a lab costs and knows while 1 % of its peers die in a minute."""
    _head(*_MEMBERSHIP)
    series: Figures = {"messages of a peer": {}, "of a supernode, for each peer": {}}
    for peers in sizes:
        # The largest lab would take hours.
        found = MembershipRun(peers, churn).found(300 if peers <= 10_000 else 140)
        series["messages of a peer"][peers] = found.messages
        series["of a supernode, for each peer"][peers] = found.supernode_messages
        _row(
            f"{peers:,}",
            f"{found.messages:.0f}/min",
            f"{found.bytes / 1000:.1f} kB/min",
            f"{found.supernode_messages:.1f}/min",
            f"{found.stale:.2%}",
            f"{found.missing:.2%}",
            f"{found.detection:.0f} s",
            f"{found.longest_detection:.0f} s",
            f"{found.peer_memory / 1e6:.2f} MB",
            f"{found.supernode_memory:.0f} B",
        )
    _draw("peers-messages", "Messages in a minute", series, "messages")


_MEMBERSHIP = ("peers", "messages of a peer", "bytes", "of a supernode, for each peer", "stale",
               "missing", "found dead after", "at most", "memory of a peer",
               "of a supernode, for each")  # fmt: skip


def rankings(sizes: Sequence[int]) -> None:
    """Print how near the hosts are that a user books."""
    _head("peers", "told of", "of the nearest", "round trip", "nearest of those told of",
          "nearest of all")  # fmt: skip
    for peers in sizes:
        one = ranking(peers)
        trips = (f"{1000 * rtt:.2f} ms" for rtt in (one.rtt, one.best, one.best_of_all))
        _row(f"{peers:,}", f"{one.told}", f"{one.recall:.0%}", *trips)


def _booking_cases(sizes: Sequence[int]) -> Iterator[BookingCase]:
    for peers in sizes:
        ranks = min(1_000, peers)
        quiet = BookingCase(peers, ranks, strategy="concentrate")
        yield quiet
        if peers >= 2 * ranks:
            yield replace(quiet, strategy="spread")
            yield replace(quiet, ranks=ranks // 2, replicas=2, strategy="mixed")
        yield replace(quiet, churn=0.01, users=10, apart=40.0)
        if peers >= 2 * ranks:
            yield replace(quiet, strategy="spread", churn=0.01, users=10, apart=40.0)


def bookings(sizes: Sequence[int]) -> None:
    """Print how long 10³ places take, with nobody dying and with 1 % dying in a minute."""
    series: Figures = {}
    _head(*_BOOKING)
    for case in _booking_cases(sizes):
        median = _booking_row(case)
        if case.ranks == 1_000:
            name = f"{case.strategy}, {'1 % die in a minute' if case.churn else 'nobody dies'}"
            series.setdefault(name, {})[case.peers] = median
    _draw("peers-bookings", "Time to book 1,000 places", series, "seconds")


def users(sizes: Sequence[int]) -> None:
    """Print how users fare who book at the same moment, each a tenth of the hosts for 20 s."""
    _head(*_BOOKING)
    peers = sizes[1]
    for count in (1, 4, 8, 16, 32):
        _booking_row(
            BookingCase(peers, peers // 10, strategy="spread", users=count, job=20.0, search=300.0)
        )


_BOOKING = ("peers", "places", "strategy", "die in a minute", "users", "booked", "first", "median",
            "last", "rounds", "messages of a user")  # fmt: skip


def _booking_row(case: BookingCase) -> float:
    found = BookingRun(case).found()
    _row(
        f"{case.peers:,}",
        f"{case.ranks:,}" if case.replicas == 1 else f"{case.ranks:,} × {case.replicas}",
        case.strategy,
        f"{case.churn:.0%}",
        str(case.users),
        str(found.booked),
        *(f"{one:.2f} s" for one in (found.first, found.median, found.last)),
        f"{found.rounds:.1f}",
        f"{found.messages:,.0f}",
    )
    return found.median


PARTS = {"bookings": bookings, "users": users, "rankings": rankings, "membership": membership}


def main() -> None:
    """Simulate, print tables, write pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none")
    parser.add_argument("--small", action="store_true", help="small labs only")
    parser.add_argument("--peers", type=int, nargs="+", metavar="N", help="labs of these sizes")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in options.parts or PARTS:
        print(f"\n{name}\n", flush=True)
        PARTS[name](options.peers or (SMALL if options.small else SIZES))


def _head(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _draw(name: str, title: str, series: Figures, unit: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"{name}.svg"
    picture.write_text(curves(title, series, unit=unit))
    print(f"\n{picture}")


if __name__ == "__main__":
    main()
