"""Kills launchers of one program over two Slurm clusters and a host behind ssh, at random times.

    python -m tests.integration.batch.kills --kills 10 --seed 2611

After each kill both queues have to be empty, with no lease and no process of the account on any
host; and all nodes idle before the next one. Needs root, sshd, Slurm and munge.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Iterator

from benchmarks.grid import missing
from runtime.testing.sshd import Sshd
from tests.integration.batch.site import LONG, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tests.integration.batch.two_slurms import descriptor, two_slurms

SEED = 2611
LATEST = 20.0
"""Seconds after which a launcher is killed at the latest: ranks run after about half of them."""


def kill_launchers(near: Slurm, far: Slurm, server: Sshd, kills: int, seed: int) -> Iterator[str]:
    """Start and kill so many launchers; yield what was seen of each once all is given back."""
    times = random.Random(seed)
    for _ in range(kills):
        run = near.start(descriptor(near, far, server, program=LONG))
        after = times.uniform(0.0, LATEST)
        time.sleep(after)
        jobs = len(near.queue()), len(far.queue())
        assert run.poll() is None, end_of(run)
        os.kill(run.pid, signal.SIGKILL)
        killed = time.monotonic()
        _, said, _ = end_of(run)
        wait_until(lambda: near.is_given_back() and far.is_given_back(), 90)
        took = time.monotonic() - killed
        ranks = said.count("rank")
        yield f"killed after {after:.1f} s, jobs {jobs}, {ranks} ranks: gone {took:.1f} s later"


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(lacking)
    with two_slurms() as (near, far, server), near.fresh():
        for line in kill_launchers(near, far, server, options.kills, options.seed):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
