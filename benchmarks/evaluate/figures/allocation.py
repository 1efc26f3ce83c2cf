"""Which hosts each strategy books in the Grid'5000 table (000 3.5, 3.6; 001 4, 5; 002 2, 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from runtime.peers.booking import Demand, Offer, allocate, strategy_named

TABLE = (
    ("Nancy", 60, 4, 0.0),
    ("Lyon", 50, 2, 10.5),
    ("Rennes", 90, 2, 11.6),
    ("Bordeaux", 60, 4, 12.6),
    ("Grenoble", 8, 2, 13.2),
    ("Grenoble", 12, 4, 13.2),
    ("Sophia", 32, 2, 17.1),
    ("Sophia", 38, 4, 17.1),
)
"""Site, hosts, cores of each, and the round trip from Nancy in milliseconds."""

SIZES = range(100, 601, 50)


def _offers() -> list[Offer]:
    return [
        Offer(f"{site}-{cores}-{number:02}", cores, rtt / 1000, site)
        for site, hosts, cores, rtt in TABLE
        for number in range(hosts)
    ]


def allocations(_setting: Setting) -> Iterator[Sample]:
    """Book all sizes of the table by both strategies; yield the processes of each site."""
    for strategy in ("concentrate", "spread"):
        for count in SIZES:
            found = allocate(_offers(), Demand(count, 1), strategy_named(strategy))
            cores: Counter[str] = Counter()
            for one in found:
                cores[one.offer.site] += len(one.copies)
            hosts = Counter(one.offer.site for one in found)
            for site, _, _, _ in TABLE:
                yield Sample(strategy, count, site, cores[site])
            yield Sample(strategy, count, "outside Nancy", count - cores["Nancy"])
            yield Sample(strategy, count, "hosts at Lyon", hosts["Lyon"])
            yield Sample(strategy, count, "on one host", max(len(one.copies) for one in found))
            yield Sample(strategy, count, "sites without", 6 - len(hosts))


def _claim(text: str, left: str, bound: float, sizes: tuple[int, ...]) -> Claim:
    return Claim(text, left, bound, sizes=sizes, exact=True)


FIGURES = (
    Figure(
        "co-allocation", "Hosts and processes of each site by strategy",
        ("000 3.5", "000 3.6", "001 4", "001 5", "002 2", "002 3", "002 table 1"),
        "concentrate: only Nancy up to 200 processes, 5 hosts at Lyon for 250, then Lyon, Rennes "
        "and Bordeaux compete, as their round trips are within 1.1 ms. Spread: one process a host "
        "from the four nearest sites up to 250, all six sites from 300, and a second process at "
        "Nancy for 400, as there are 350 hosts.",
        (
            _claim("concentrate: none outside Nancy up to 200", "outside Nancy@concentrate", 0,
                   (100, 150, 200)),
            _claim("concentrate: at most 5 hosts at Lyon for 250", "hosts at Lyon@concentrate", 5,
                   (250,)),
            _claim("spread: one process a host up to 350", "on one host@spread", 1,
                   tuple(range(100, 351, 50))),
            _claim("spread: two processes a host for 400", "on one host@spread", 2, (400,)),
            _claim("spread: at most 110 processes at Nancy for 400", "Nancy@spread", 110, (400,)),
            _claim("spread: no site is left out from 300 on", "sites without@spread", 0,
                   tuple(range(300, 601, 50))),
        ),
        allocations, across="processes", unit="processes", factor=1, turns=1, needs_grid=False,
        drawn=tuple(dict.fromkeys(site for site, *_ in TABLE)),
        remark="Computed by the code that books, from exact round trips.",
    ),
)  # fmt: skip
