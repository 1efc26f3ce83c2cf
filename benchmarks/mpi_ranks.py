"""What every rank of a measured program does; needs only mpi4py and numpy, and runs on any MPI.

    mpi_ranks.py --ranks 8 collectives [--cyclic] [--only bcast:8,...] [--seconds S]
    mpi_ranks.py --ranks 2 pingpong --sizes 1,1024 [--immediate] [--seconds S]
    mpi_ranks.py --ranks 3 neighbours --sizes 1,65536     the first two ranks of a cluster
    mpi_ranks.py --ranks 2 windows                    one-sided calls beside messages
    mpi_ranks.py --ranks 64 footprint                 when all have started, and their memory

The first rank prints one JSON object for each figure: what, size, and the seconds of all rounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mpi4py import MPI

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

FEWEST, MOST = 7, 300
ATTEMPTS = 2
PUTS, TURNS = 32, 61
KIB, MIB = 1 << 10, 1 << 20
CASES = (
    "barrier:0",
    f"bcast:8,bcast:{MIB},bcast:{4 * MIB}",
    f"gather:{64 * KIB},gather:{MIB}",
    f"allreduce:8,allreduce:{64 * KIB},allreduce:{MIB}",
    f"allgather:{MIB}",
    f"alltoall:{64 * KIB},alltoall:{MIB}",
)
Work = Callable[[], object]


def tell(comm: MPI.Comm, what: str, size: int, seconds: Sequence[float]) -> None:
    """Print one figure, at the first rank."""
    if comm.Get_rank() == 0:
        print(json.dumps({"what": what, "size": size, "seconds": list(seconds)}), flush=True)


class Collective:
    """One collective with its buffers; `size` bytes from each rank, or to each in `alltoall`."""

    def __init__(self, comm: MPI.Intracomm, name: str, size: int) -> None:
        import numpy as np

        self.comm, self.name = comm, name
        ranks, count = comm.Get_size(), max(1, size // 8)
        out = ranks if name == "alltoall" else 1
        into = ranks if name in ("gather", "allgather", "alltoall") else 1
        self.sent: Vector = np.full(count * out, comm.Get_rank() + 1.0)
        self.received: Vector = np.zeros(count * into)

    def work(self) -> None:
        """Do it once."""
        comm, sent, received = self.comm, self.sent, self.received
        match self.name:
            case "barrier":
                comm.Barrier()
            case "bcast":
                comm.Bcast(sent, 0)
            case "gather":
                comm.Gather(sent, received if comm.Get_rank() == 0 else None, 0)
            case "allreduce":
                comm.Allreduce(sent, received, MPI.SUM)
            case "allgather":
                comm.Allgather(sent, received)
            case "alltoall":
                comm.Alltoall(sent, received)

    def check(self) -> None:
        """Look whether the first and the last number that arrived are right."""
        ranks, rank = self.comm.Get_size(), self.comm.Get_rank()
        if self.name == "barrier" or (self.name == "gather" and rank):
            return
        total = ranks * (ranks + 1) / 2
        expected = {"bcast": (1.0, 1.0), "allreduce": (total, total)}.get(self.name, (1, ranks))
        found = self.sent if self.name == "bcast" else self.received
        if (found[0], found[-1]) != expected:
            raise ValueError(f"{self.name} is wrong: {found[0]}, {found[-1]}, not {expected}")


def rounds(comm: MPI.Intracomm, work: Work, budget: float) -> list[float]:
    """Return how long each round took, from its common start to the end of the last rank.

    All ranks are on one machine and share its clock: a barrier in front of each round would be
    part of what is measured.
    """
    period = 2 * comm.allreduce(max(_alone(comm, work) for _ in range(2)), MPI.MAX) + 0.002
    taken: list[float] = []
    for _ in range(ATTEMPTS):
        count = comm.bcast(max(FEWEST, min(MOST, int(budget / period))))
        taken = _windows(comm, work, count, period)
        if 2 * len(taken) > count:
            break
        period *= 2
    return taken


def _alone(comm: MPI.Intracomm, work: Work) -> float:
    comm.Barrier()
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def _windows(comm: MPI.Intracomm, work: Work, count: int, period: float) -> list[float]:
    """Run rounds that start at set times; those that some rank came too late for do not count."""
    first = comm.bcast(time.monotonic() + 0.15)
    mine: list[float] = []
    for number in range(count):
        start = first + number * period
        wait = start - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        work()
        mine.append(time.monotonic() - start if wait > 0 else -1.0)
    everyone = comm.allgather(mine)
    return [max(one) for one in zip(*everyone, strict=True) if min(one) >= 0]


def collectives(options: argparse.Namespace) -> None:
    """Measure collectives on the world."""
    comm = cyclic(MPI.COMM_WORLD) if options.cyclic else MPI.COMM_WORLD
    for case in options.only.split(","):
        name, size = case.split(":")
        one = Collective(comm, name, int(size))
        one.work()
        one.check()
        taken = rounds(comm, one.work, options.seconds)
        tell(comm, name, int(size), taken)


def cyclic(world: MPI.Intracomm) -> MPI.Intracomm:
    """Return the world with its ranks dealt out like cards: one to each machine in turn."""
    names = world.allgather(MPI.Get_processor_name())
    mine = names[world.Get_rank()]
    turn = names[: world.Get_rank()].count(mine)
    machines = list(dict.fromkeys(names))
    dealt = world.Split(0, turn * len(machines) + machines.index(mine))
    assert isinstance(dealt, MPI.Intracomm)
    return dealt


def pingpong(options: argparse.Namespace) -> None:
    """Measure one way between the first and the last rank; nobody else should be there."""
    world = MPI.COMM_WORLD
    last = world.Get_size() - 1
    for size in options.sizes:
        for immediate in (False, True) if options.immediate else (False,):
            ways = both_ways(world, (0, last), size, options.seconds, immediate=immediate)
            if world.Get_rank() == 0:
                tell(world, "immediate" if immediate else "pingpong", size, ways)


def neighbours(options: argparse.Namespace) -> None:
    """Measure one way between the first two ranks; others wait at the end, out of the way."""
    world = MPI.COMM_WORLD
    if world.Get_rank() < 2:
        for size in options.sizes:
            for immediate in (False, True) if options.immediate else (False,):
                ways = both_ways(
                    world, (0, 1), size, options.seconds, most=20_000, immediate=immediate
                )
                tell(world, "immediate" if immediate else "pingpong", size, ways)
    world.Barrier()


def both_ways(
    comm: MPI.Comm,
    pair: tuple[int, int],
    size: int,
    budget: float,
    *,
    most: int = 3000,
    immediate: bool = False,
) -> list[float]:
    """Return, at the first rank, the seconds of each way.

    Immediate calls are under way in both directions at the same time.
    """
    first, last = pair
    there, back = bytearray(size), bytearray(size)

    def trip() -> float:
        begun = time.perf_counter()
        if immediate:
            peer = last if comm.Get_rank() == first else first
            requests = [comm.Irecv([back, MPI.BYTE], peer), comm.Isend([there, MPI.BYTE], peer)]
            MPI.Request.Waitall(requests)
        elif comm.Get_rank() == first:
            comm.Send([there, MPI.BYTE], last)
            comm.Recv([back, MPI.BYTE], last)
        else:
            comm.Recv([back, MPI.BYTE], first)
            comm.Send([there, MPI.BYTE], first)
        return time.perf_counter() - begun

    least = min(trip() for _ in range(3))
    if comm.Get_rank() == first:
        count = max(FEWEST, min(most, int(budget / least)))
        comm.send(count, last)
    else:
        count = comm.recv(source=first)
    return [trip() / 2 for _ in range(count)]


class OneSided:
    """What the first rank does to the memory of the last one, and the messages beside it."""

    def __init__(self) -> None:
        self.world = MPI.COMM_WORLD
        self.last = self.world.Get_size() - 1
        self.one, self.many = bytearray(8), bytearray(MIB)
        size = PUTS * MIB if self.world.Get_rank() == self.last else 0
        self.window = MPI.Win.Allocate(size, 1, comm=self.world)
        self.taken: dict[str, list[float]] = {}

    def round_trip(self) -> None:
        """Send a little, and receive as much."""
        self.world.Send([self.one, MPI.BYTE], self.last)
        self.world.Recv([self.one, MPI.BYTE], self.last)

    def put(self) -> None:
        """Put a little, and wait until it is there."""
        self.window.Put([self.one, MPI.BYTE], self.last)
        self.window.Flush(self.last)

    def locked_put(self) -> None:
        """Do that in an epoch of its own."""
        self.window.Lock(self.last)
        self.window.Put([self.one, MPI.BYTE], self.last)
        self.window.Unlock(self.last)

    def sends(self) -> None:
        """Send much, and hear that it was received."""
        for _ in range(PUTS):
            self.world.Send([self.many, MPI.BYTE], self.last)
        self.world.Recv([self.one, MPI.BYTE], self.last)

    def puts(self) -> None:
        """Put much, and wait until it is there."""
        for at in range(PUTS):
            self.window.Put([self.many, MPI.BYTE], self.last, at * MIB)
        self.window.Flush(self.last)

    def answer(self, times: int, memory: bytearray) -> None:
        """Receive messages, and answer the last one."""
        for _ in range(times):
            self.world.Recv([memory, MPI.BYTE], 0)
        self.world.Send([self.one, MPI.BYTE], 0)

    def time(self, what: str, work: Work, *, is_in_epoch: bool = False) -> None:
        """Take the time of something once."""
        if is_in_epoch:
            self.window.Lock(self.last)
        begun = time.perf_counter()
        work()
        self.taken.setdefault(what, []).append(time.perf_counter() - begun)
        if is_in_epoch:
            self.window.Unlock(self.last)

    def turn(self, *, is_large: bool) -> None:
        """Do everything once, at the first and the last rank."""
        if self.world.Get_rank() == 0:
            self.time("round trip", self.round_trip)
            self.time("put and flush", self.put, is_in_epoch=True)
            self.time("lock, put, unlock", self.locked_put)
            if is_large:
                self.time("32 sends", self.sends)
                self.time("32 puts and a flush", self.puts, is_in_epoch=True)
        elif self.world.Get_rank() == self.last:
            self.answer(1, self.one)
            if is_large:
                self.answer(PUTS, self.many)


def windows(_options: argparse.Namespace) -> None:
    """Measure one-sided calls beside messages; they take turns."""
    cases = OneSided()
    for turn in range(TURNS):
        cases.turn(is_large=turn % 10 == 0)
    for what, seconds in cases.taken.items():
        tell(cases.world, what, MIB if "32" in what else 8, seconds[1:])
    cases.world.Barrier()
    cases.window.Free()


def footprint(_options: argparse.Namespace) -> None:
    """Tell when all ranks had started, by the clock on the wall, and the bytes each one takes."""
    world = MPI.COMM_WORLD
    world.Barrier()
    tell(world, "started", world.Get_size(), [time.time()])
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    own = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    tell(world, "footprint", world.Get_size(), world.gather(float(own)) or [])


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    measures = {
        one.__name__: one for one in (collectives, pingpong, neighbours, windows, footprint)
    }
    parser.add_argument("what", choices=measures)
    parser.add_argument("--ranks", type=int, required=True, help="how many there should be")
    parser.add_argument("--cyclic", action="store_true")
    parser.add_argument("--immediate", action="store_true", help="Isend and Irecv, too")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--sizes", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    if MPI.COMM_WORLD.Get_size() != options.ranks:
        sys.exit(f"the world has {MPI.COMM_WORLD.Get_size()} ranks instead of {options.ranks}")
    measures[options.what](options)


if __name__ == "__main__":
    main()
