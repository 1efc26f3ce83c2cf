"""The MPI program that runs a random program; each rank writes what it has seen beside it.

    mpiexec -n 4 python -m tools.random_programs.interpreter program.json 60

A rank that is not done after the given seconds says in which step it is, and ends the run.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
import traceback
from pathlib import Path

from mpi4py import MPI

from tools.random_programs.program import Program
from tools.random_programs.running import Runner

BSEND_BYTES = 16 << 20
HANGS = 70
PATIENCE = 2.0


def main(path: str, seconds: float) -> int:
    """Run this rank's part of the program in a file; return the exit code."""
    program = Program.from_json(Path(path).read_text("utf-8"))
    world = MPI.COMM_WORLD
    if world.Get_size() != program.size:
        print(f"the program is for {program.size} ranks, not {world.Get_size()}", file=sys.stderr)
        return 2
    runner = Runner(program, world)
    watchdog = threading.Timer(seconds, _tell_where_it_hangs, [runner])
    watchdog.daemon = True
    watchdog.start()
    MPI.Attach_buffer(bytearray(BSEND_BYTES))
    try:
        for number, step in program.of_rank(runner.rank):
            runner.do(number, step)
    except Exception:
        print(f"rank {runner.rank} failed in {runner.now}", file=sys.stderr)
        traceback.print_exc()
        sys.stderr.flush()
        world.Abort(1)
    MPI.Detach_buffer()
    runner.close()
    watchdog.cancel()
    seen_file(path, runner.rank).write_text("\n".join(runner.lines), "utf-8")
    return 0


def seen_file(path: str, rank: int) -> Path:
    """Return the file that a rank writes what it has seen to."""
    return Path(path).with_suffix(f".{rank}.txt")


def _tell_where_it_hangs(runner: Runner) -> None:
    print(f"rank {runner.rank} hangs in {runner.now}", file=sys.stderr, flush=True)
    faulthandler.dump_traceback()
    time.sleep(PATIENCE)  # the others have something to say too, and the first to leave ends them
    os._exit(HANGS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
