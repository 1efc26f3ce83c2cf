"""Many peers in networks of their own, booked by some users at once; needs root.

python -m tests.network.users_at_once                        64 peers, 4 users, 16 then 24 places
python -m tests.network.users_at_once --peers 8 --users 2 --rounds 1
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.grid import EmulatedGrid, Layout, Line, missing
from benchmarks.grid.peers import PeersOnHosts
from tools.on_grids import ROOT

LIMIT = 900.0
SETTINGS = "processes = 1\nalive_every = 10\nexchange_every = 2\nping_every = 30\n"
WAN = Line(delay=0.005, rate=1e9)
Rounds = Sequence[dict[str, Any]]


@contextmanager
def lab_of(peers: int, base: Path) -> Iterator[PeersOnHosts]:
    """Yield a started lab of four sites; two hosts have a supernode only."""
    counts = tuple(len(range(number, peers + 2, 4)) for number in range(4))
    with EmulatedGrid(Layout(counts, wan=WAN)) as grid:
        first, second, *others = grid.clusters
        lab = PeersOnHosts(grid, base, [first, second], others[0], others, settings=SETTINGS)
        try:
            begun = time.monotonic()
            lab.start()
            print(f"{peers} peers are up after {time.monotonic() - begun:.0f} s", flush=True)
            yield lab
        finally:
            lab.stop()


def book(lab: PeersOnHosts, users: int, places: int, rounds: int, held: float) -> list[Rounds]:
    """Let users book at once, each at a host of its own; return what each one tells."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def one(number: int) -> Rounds:
        name = f"user{number}"
        host = lab.peers[number * len(lab.peers) // users]
        words = [str(lab.credential_of(name)), str(lab.base / f"{name}.json")]
        words += [str(places), str(rounds), str(held)]
        done = lab.grid.run(
            host, [sys.executable, "-m", "tests.network.booking_alone", *words],
            timeout=LIMIT, env=environment, cwd=str(ROOT),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(users) as threads:
        return list(threads.map(one, range(users)))


def faults(told: Sequence[Rounds]) -> list[str]:
    """Return what must not be: who got nothing, and places that two users had at once.

    >>> hers = [{"booked": 0.0, "until": 2.0, "hosts": {"c2": 1}}]
    >>> faults([hers, [{"booked": 2.5, "until": 3.0, "hosts": {"c2": 1}}]])
    []
    >>> faults([hers, [{"booked": 1.0, "until": 3.0, "hosts": {"c2": 1}}, {"fault": "too few"}]])
    ['user1: too few', 'user0 and user1 had c2 at once']
    """
    found = [
        f"user{number}: {one['fault']}"
        for number, rounds in enumerate(told)
        for one in rounds
        if "fault" in one
    ]
    held = [(number, one) for number, some in enumerate(told) for one in some if "until" in one]
    for (first, hers), (second, his) in combinations(held, 2):
        if first != second and hers["booked"] < his["until"] and his["booked"] < hers["until"]:
            both = sorted(hers["hosts"].keys() & his["hosts"].keys())
            found += [f"user{first} and user{second} had {one} at once" for one in both]
    return found


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", type=int, default=64)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--held", type=float, default=3.0, help="seconds, on average")
    found = parser.parse_args()
    if why := missing():
        sys.exit(why)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as base, lab_of(found.peers, Path(base)) as lab:
        fair = found.peers // found.users
        for places in (fair, fair * 3 // 2):
            told = book(lab, found.users, places, found.rounds, found.held)
            took = [one["booked"] - one["known"] for some in told for one in some if "until" in one]
            wrong += faults(told)
            print(
                f"{found.users} users, {places} of {found.peers} places each, {found.rounds} times:"
                f" {len(took)} booked, in {min(took):.1f} s at least, {statistics.median(took):.1f}"
                f" s in the middle, {max(took):.1f} s at most; load {os.getloadavg()[0]:.0f}",
                flush=True,
            )
        left = [one for one in lab.peers if lab.reserved_at(one)]
        wrong += [f"{one} is still reserved" for one in left]
    print("\n".join(wrong) or "no place was two users' at once, and none stays reserved")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
