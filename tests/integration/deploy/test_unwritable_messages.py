"""Messages that cannot be written end no run: a full disk, a reader that has gone, a full log."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.integration.deploy.test_deploy_command import ended

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full"),
]

WRITES_BOTH = """\
import sys
from mpi4py import MPI
for step in range(3):
    MPI.COMM_WORLD.Barrier()
    print("step", step, flush=True)
    print("about", step, file=sys.stderr, flush=True)
"""
STEPS = "step 0\nstep 1\nstep 2\n"


@pytest.mark.parametrize("screen", ["--verbose", "--progress=always", "--quiet"])
def test_a_run_goes_on_while_its_messages_find_no_space(
    start: Any, describe: Any, screen: str
) -> None:
    with open("/dev/full", "w") as full:
        code, out, _ = ended(start(screen, describe(WRITES_BOTH), stderr=full))
    assert (code, out) == (0, STEPS)


@pytest.mark.parametrize("screen", ["--verbose", "--progress=always"])
def test_a_run_goes_on_when_nobody_reads_its_messages(
    start: Any, describe: Any, screen: str
) -> None:
    near, far = os.pipe()
    process = start(screen, describe(WRITES_BOTH), stderr=far)
    os.close(far)
    os.close(near)
    assert ended(process)[:2] == (0, STEPS)


def test_messages_wait_where_another_program_has_made_their_pipe_non_blocking(
    start: Any, describe: Any
) -> None:
    lines = 20_000
    program = f"import mpi4py.MPI, sys\nsys.stderr.write(('x' * 49 + chr(10)) * {lines})\n"
    near, far = os.pipe()
    os.set_blocking(far, False)
    process = start("--quiet", describe(program), stderr=far)
    os.close(far)
    with open(near, "rb") as stream:
        assert stream.read() == (b"x" * 49 + b"\n") * lines
    assert ended(process)[0] == 0


def test_a_log_that_finds_no_space_is_given_up_with_one_message(start: Any, describe: Any) -> None:
    file = describe('from mpi4py import MPI; print("hello")')
    assert ended(start("--quiet", "--log", "/dev/full", file)) == (
        0,
        "hello\n",
        "gcm-deploy: /dev/full: the log ends here: No space left on device\n",
    )
