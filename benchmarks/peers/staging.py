"""How long it takes until all of n peers have a content: `python -m benchmarks.peers.staging`.

The least of several turns counts, as all peers share the processors of this machine.

Each peer is its own staging service with a cache on disk. Sending takes as long as it would over
links of a given rate: each end sends one piece at a time, as a network card does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.plots import curves
from runtime.peers.contracts import Staging
from runtime.peers.staging.broadcast import Shape
from runtime.peers.staging.cache import ContentCache
from runtime.peers.staging.delivery import Receiver, StagedContent, deliver
from runtime.peers.staging.service import StagingService

MEMORY = "/dev/shm"  # real peers have a disk each, and here all would share one
SHAPES = (Shape.PUSH, Shape.TREE, Shape.CHAIN)
PICTURE = Path("build/benchmarks/peers-staging.svg")
KEY, USER, SUBMITTER = "0" * 32, "user:bench", "submitter"


class Link:
    """What one host can send: so many bytes per second, one piece after the other."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._lock = threading.Lock()

    def carry(self, size: int) -> None:
        """Return once so many bytes were sent."""
        with self._lock:
            time.sleep(size / self._rate)


class Network:
    """Peers with caches in a folder, and the links of all hosts."""

    def __init__(self, folder: Path, peers: int, rate: float) -> None:
        names = [f"h{number}" for number in range(peers)]
        self.links = {name: Link(rate) for name in (SUBMITTER, *names)}
        self.services = {
            name: StagingService(
                ContentCache(folder / name, 1 << 32), lambda _caller, _key: None, self.open_peer
            )
            for name in names
        }

    @contextmanager
    def open_peer(self, name: str, _address: str, digest: str) -> Iterator[Any]:
        """Open another peer as a source."""
        network = self

        class Remote:
            def read(self, offset: int, most: int) -> bytes:
                data = network.services[name].get("peer:h", digest, offset, most)
                network.links[name].carry(len(data))
                return data

        yield Remote()

    @contextmanager
    def open(self, name: str) -> Iterator[Staging]:
        """Open a peer as the submitter does."""
        network, service = self, self.services[name]

        class Pushed(StagingService):
            def put(
                self, caller: str, key: str, content: list[Any], offset: int, data: bytes
            ) -> int:
                network.links[SUBMITTER].carry(len(data))
                return service.put(caller, key, content, offset, data)

        yield Pushed(service.cache, lambda _caller, _key: None, self.open_peer)

    def receivers(self) -> list[Receiver]:
        """Return all peers."""
        return [
            Receiver(name, f"{name}:1", KEY, lambda name=name: self.open(name))  # type: ignore[misc]
            for name in self.services
        ]


def seconds(peers: int, size: int, rate: float, shape: Shape) -> float:
    """Return how long a delivery takes; raises RuntimeError if it fails."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="gcm-bench-", dir=MEMORY))
        )
        packed = folder / "content"
        packed.write_bytes(os.urandom(size))
        network = Network(folder, peers, rate)
        begun = time.monotonic()
        failures = deliver(StagedContent.of(packed), network.receivers(), caller=USER, shape=shape)
        took = time.monotonic() - begun
    if failures:
        raise RuntimeError(str(failures))
    return took


def main() -> None:
    """Print the table, and draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=16)
    parser.add_argument("--rate", type=float, default=20.0, help="MB per second of each host")
    parser.add_argument("--peers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--turns", type=int, default=1)
    given = parser.parse_args()
    size, rate = given.megabytes << 20, given.rate * 1e6
    series: dict[str, dict[int, float]] = {shape: {} for shape in SHAPES}
    print("| peers | " + " | ".join(SHAPES) + " |")
    print("|---" * (len(SHAPES) + 1) + "|")
    for peers in given.peers:
        turns = [[seconds(peers, size, rate, one) for one in SHAPES] for _ in range(given.turns)]
        row = [min(some) for some in zip(*turns, strict=True)]
        for shape, took in zip(SHAPES, row, strict=True):
            series[shape][peers] = took
        print(f"| {peers} | " + " | ".join(f"{took:.1f} s" for took in row) + " |", flush=True)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    title = f"Seconds until n peers have {given.megabytes} MiB, {given.rate:g} MB/s each"
    PICTURE.write_text(curves(title, series, unit="seconds"))
    print(f"\n{PICTURE}")


if __name__ == "__main__":
    main()
