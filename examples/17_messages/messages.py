"""Exchanges messages with a coupled code, and makes every mistake that coupling reports.

Needs the package's `mpi` extra.

    python examples/17_messages/messages.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gcm.documents import Diagnostics
from runtime import Machine, coupling
from runtime.coupling import (
    CodeBusy,
    CodeEnded,
    CodeNotRunning,
    CodeNotStarted,
    CouplingError,
    NoSuchRank,
    NotCoupled,
    UnknownCode,
)
from runtime.deployment import DescriptorContext, make_plan, read_descriptor

FOLDER = Path(__file__).parent
DESCRIPTOR = f"""
<deployment name="messages">
  <application name="echo" script="{FOLDER}/echo.py" clusters="here/one"/>
  <application name="broken" executable="true" clusters="here/two"/>
  <connect from="echo.words" to="broken.words"/>
  <grid>
    <site name="here">
      <cluster name="one"><mpi ranks="1"/></cluster>
      <cluster name="two"><mpi ranks="1" command-path="/nowhere/mpiexec"/></cluster>
    </site>
  </grid>
</deployment>
"""


@contextmanager
def refused(expected: type[CouplingError]) -> Iterator[None]:
    """Print the error that the mistake in the block causes."""
    try:
        yield
    except expected as error:
        print(f"{type(error).__name__}: {error}")


def main() -> int:
    with refused(NotCoupled):
        coupling.send("hello", code="echo")  # this program is not a rank
    faults = Diagnostics()
    deployment = read_descriptor(
        DESCRIPTOR.strip().encode(),
        name="messages.xml",
        surroundings=DescriptorContext(str(FOLDER)),
        diagnostics=faults,
    )
    if deployment is None:
        print(*faults, sep="\n", file=sys.stderr)
        return 1
    with Machine(make_plan(deployment), steered=True, idle=True) as machine:
        echo, broken = machine.code("echo"), machine.code("broken")
        with refused(UnknownCode):
            machine.code("ech")
        with refused(CodeNotRunning):
            echo.control.stop()
        with refused(CodeNotStarted):
            broken.control.start()
        echo.control.start()
        with refused(CodeBusy):
            echo.control.start()
        with refused(NoSuchRank):
            echo.messages.send("hello", rank=7)
        for _ in range(3):  # mistakes that a rank made, which it tells
            print(echo.messages.recv(rank=0))
        echo.messages.send("one", rank=0)
        print(echo.messages.recv(rank=0))
        echo.messages.send(None, rank=0)
        print("exit code:", echo.control.wait())
        with refused(CodeEnded):
            echo.messages.recv(rank=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
