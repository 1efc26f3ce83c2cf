"""Carries out random programs of windows in a rank, and compares them with the model.

    program.py FIRST COUNT

Each rank prints the seeds of the programs whose outcome was another one, with what was wrong.
"""

from __future__ import annotations

import sys
from array import array
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mpi4py import MPI

from tools.window_programs.drafting import (
    ADD,
    FENCE,
    GET,
    GROUPS,
    LOCK,
    PUT,
    SUMS,
    SWAP,
    TAKE_AND_ADD,
    Access,
    Draft,
    Round,
    carry_out,
    draft,
)

WORD = MPI.INT64_T.size
world = MPI.COMM_WORLD


class Carrier:
    """Carries one program out with real windows."""

    def __init__(self, program: Draft) -> None:
        self.program = program
        mine = program.sizes[world.rank]
        self.memory = array("q", [0]) * mine
        self.window = MPI.Win.Create(self.memory, program.units[world.rank], comm=world)
        self.results: list[array[int]] = []
        self._types: dict[tuple[int, int], MPI.Datatype] = {}
        self._kept: list[object] = []

    def run(self) -> None:
        """Carry all rounds out."""
        for one in self.program.rounds:
            self._round(one)
            world.Barrier()
        self.window.Free()
        for datatype in self._types.values():
            datatype.Free()

    def _round(self, one: Round) -> None:
        mine, window = one.accesses[world.rank], self.window
        if one.epoch == FENCE:
            window.Fence()
            self._all(mine)
            window.Fence(MPI.MODE_NOSUCCEED)
        elif one.epoch == GROUPS:
            group = world.Get_group()
            targets = sorted({access.target for access in mine})
            origins = [
                rank
                for rank, accesses in enumerate(one.accesses)
                if any(access.target == world.rank for access in accesses)
            ]
            window.Post(group.Incl(origins))
            window.Start(group.Incl(targets))
            self._all(mine)
            window.Complete()
            window.Wait()
        elif one.epoch == LOCK:
            for target in dict.fromkeys(access.target for access in mine):
                window.Lock(target, MPI.LOCK_EXCLUSIVE if target % 2 else MPI.LOCK_SHARED)
                self._all([access for access in mine if access.target == target])
                window.Unlock(target)
        else:
            window.Lock_all()
            self._all(mine)
            window.Unlock_all()

    def _all(self, accesses: list[Access]) -> None:
        for one in accesses:
            self._access(one)
            if one.flush:
                self.window.Flush(one.target)

    def _access(self, one: Access) -> None:
        window, rank = self.window, one.target
        data, found = array("q", one.values), array("q", [0]) * one.count
        self._kept.append(data)
        displacement = one.at * WORD // self.program.units[rank]
        place: Any = (displacement, 1, self._type(one.count, one.step))
        if one.step == 1:
            place = displacement
        gives = [data, MPI.INT64_T]
        gets = [found, MPI.INT64_T]
        request: MPI.Request | None = None
        if one.kind == PUT:
            put = window.Rput if one.with_request else window.Put
            request = put(gives, rank, place)
        elif one.kind == GET:
            get = window.Rget if one.with_request else window.Get
            request = get(gets, rank, place)
        elif one.kind == ADD:
            add = window.Raccumulate if one.with_request else window.Accumulate
            request = add(gives, rank, place, MPI.SUM)
        elif one.kind == TAKE_AND_ADD and one.count == 1:
            window.Fetch_and_op(gives, gets, rank, displacement, MPI.SUM)
        elif one.kind == TAKE_AND_ADD:
            take = window.Rget_accumulate if one.with_request else window.Get_accumulate
            request = take(gives, gets, rank, place, MPI.SUM)
        elif one.kind == SWAP:
            expected, new = array("q", one.values[:1]), array("q", one.values[1:])
            window.Compare_and_swap(
                [new, MPI.INT64_T], [expected, MPI.INT64_T], gets, rank, displacement
            )
            self._kept += [expected, new]
        if request is not None:
            request.Wait()
        has_result = one.kind in (GET, TAKE_AND_ADD, SWAP) and one.at >= SUMS
        self.results.append(found if has_result else array("q"))
        self._kept.append(found)

    def _type(self, count: int, step: int) -> MPI.Datatype:
        known = self._types.get((count, step))
        if known is None:
            known = self._types[count, step] = MPI.INT64_T.Create_vector(count, 1, step)
            known.Commit()
        return known


def faults_of(seed: int) -> list[str]:
    """Carry out the program of a seed; return what was wrong at this rank."""
    program = draft(seed, world.size)
    expected = carry_out(program)
    carrier = Carrier(program)
    carrier.run()
    found = []
    if list(carrier.memory) != expected.windows[world.rank]:
        wanted = expected.windows[world.rank]
        found.append(f"the window has {list(carrier.memory)} instead of {wanted}")
    accesses = [access for one in program.rounds for access in one.accesses[world.rank]]
    results = zip(accesses, carrier.results, expected.results[world.rank], strict=True)
    found += [
        f"{access} got {list(got)} instead of {wanted}"
        for access, got, wanted in results
        if list(got) != wanted
    ]
    return found


def main() -> None:
    """Carry out the programs that the command line says."""
    first, count = map(int, sys.argv[1:3])
    wrong = 0
    for seed in range(first, first + count):
        for fault in faults_of(seed)[:3]:
            wrong += 1
            print(f"seed {seed}: {fault}", flush=True)
    print(f"{count} programs, {wrong} faults", flush=True)


if __name__ == "__main__":
    main()
