"""Runs many random programs in one start of MPI; each rank judges what it sees itself.

    gcm-deploy --emulate 1+2 tools/random_programs/batch.py FIRST COUNT LENGTH SECONDS

To start takes longer than a program does. A rank that hangs for the given seconds shows where, and
ends the run; which program that was, the ranks have said before.
"""

from __future__ import annotations

import faulthandler
import sys
import traceback
from itertools import zip_longest

from mpi4py import MPI

from tools.random_programs.generator import generate
from tools.random_programs.interpreter import BSEND_BYTES
from tools.random_programs.model import expected_of
from tools.random_programs.running import Runner


def main(first: int, count: int, length: int, seconds: float) -> int:
    """Run the programs of some seeds; return the exit code."""
    world = MPI.COMM_WORLD
    rank, wrong = world.Get_rank(), 0
    MPI.Attach_buffer(bytearray(BSEND_BYTES))
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(seconds, exit=True)
        wrong += not _is_right(world, seed, length)
    faulthandler.cancel_dump_traceback_later()
    MPI.Detach_buffer()
    wrong = world.allreduce(wrong)
    if rank == 0:
        print(f"{count} programs from seed {first} on {world.Get_size()} ranks: {wrong} wrong")
    return bool(wrong)


def _is_right(world: MPI.Intracomm, seed: int, length: int) -> bool:
    program = generate(seed, world.Get_size(), length=length)
    runner = Runner(program, world)
    due = expected_of(program, runner.rank)
    if runner.rank == 0:
        print(f"seed {seed}", file=sys.stderr, flush=True)
    try:
        for number, step in program.of_rank(runner.rank):
            runner.do(number, step)
    except Exception:
        print(f"seed {seed}: rank {runner.rank} failed in {runner.now}", file=sys.stderr)
        traceback.print_exc()
        sys.stderr.flush()
        world.Abort(1)
    runner.close()
    world.Barrier()  # else its receives from any rank may take messages of the next program
    for wanted, seen in zip_longest(due, runner.lines):
        if wanted != seen:
            told = f"seed {seed}: rank {runner.rank} saw\n    {seen}\nand not\n    {wanted}"
            print(told, file=sys.stderr, flush=True)
            return False
    return True


if __name__ == "__main__":
    _first, _count, _length = map(int, sys.argv[1:4])
    sys.exit(main(_first, _count, _length, float(sys.argv[4])))
