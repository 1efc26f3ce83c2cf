"""`gcm-deploy tune`: measures plans of collectives on a machine, and stores the best beside it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gcm.cli.common_options import Option, number_of
from runtime.cli.errors import UsageError
from runtime.cli.line.options import DEFAULT_TIMEOUT, SETTINGS, deploy_command, read_options
from runtime.cli.line.values import seconds
from runtime.cli.load import load_deployment, tuned_file
from runtime.cli.streams import write
from runtime.cli.write import check_folder, save
from runtime.exit_codes import FAULTS
from runtime.shown_text import shown_lines
from runtime.views.facts import Fact, OutputWritten

if TYPE_CHECKING:
    from runtime.collectives.tuning import Timing
    from runtime.deployment import Deployment

_MORE = """\
Which plan and which segments are fastest for each collective is measured with a program of its own
in place of the application. What differs from the usual plans is stored beside the descriptor,
machine.plans for machine.xml, and used by its runs from then on. Delete the file to undo that."""

_EPILOG = """\
examples:
  gcm-deploy tune machine.xml             half a minute where ranks are near each other
  gcm-deploy --dry-run machine.xml        shows the plans that a run would use"""

_PROGRAM = "runtime.mpi.collectives.measuring"


@deploy_command(
    Option("descriptor", metavar="DESCRIPTOR", help="the machine, and who runs on it"),
    SETTINGS,
    Option("--rounds", metavar="N", read=number_of("rounds"), default=5,
           help="how often all plans take turns (default: %(default)d)"),
    Option("--timeout", metavar="SECONDS", read=seconds, default=DEFAULT_TIMEOUT,
           help="give up if it has not started by then (default: %(default)g)"),
    more=_MORE, epilog=_EPILOG,
)  # fmt: skip
def tune(found: argparse.Namespace) -> int:
    """Measure, write the table and the file, and return the exit code.

    Raises:
        UsageError: no program of the descriptor has collectives over several clusters.
        OutputFailed: the file cannot be written.
    """
    from runtime.cli.run import complain
    from runtime.collectives.tuning import rules_for
    from runtime.deployment import make_plan
    from runtime.processes.launcher.machine import Machine

    file = tuned_file(found.descriptor)
    check_folder(file)
    sets = [word for name, value in found.settings for word in ("--set", f"{name}={value}")]
    options = read_options([*sets, "--timeout", str(found.timeout), found.descriptor])
    deployment = load_deployment(options)
    if deployment is None:
        return FAULTS
    plan, output = make_plan(_measured(deployment, found.rounds), {}), _Output()
    machine = Machine(plan, output).start()
    try:
        outcome = machine.wait()
    finally:
        machine.stop()
    if outcome.exit_code:
        for error in outcome.errors:
            complain(error)
        return outcome.exit_code
    timings = _timings(b"".join(output.pieces))
    rules = rules_for(timings)
    text = "".join(f"{rule}\n" for rule in rules)
    save(f"# made by gcm-deploy tune {found.descriptor}\n{text}", file, overwrite=True)
    write(_table(timings))
    print(f"gcm-deploy: wrote {shown_lines(file)}", file=sys.stderr)
    return 0


class _Output:
    """Keeps what the ranks write to standard output."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def hear(self, fact: Fact, taken: Callable[[], None] = lambda: None) -> None:
        """Take a fact of the run."""
        if isinstance(fact.record, OutputWritten) and fact.record.stream == "stdout":
            self.pieces.append(fact.record.data)
        taken()


def _measured(deployment: Deployment, times: int) -> Deployment:
    """Return the deployment of the program that measures, without what belongs to others."""
    from runtime.deployment.model import CommWorld, FailureMode, ProgramKind

    on_grid = [one for one in deployment.applications if one.comm_world is CommWorld.GRID]
    if len(deployment.applications) != 1 or not on_grid or len(on_grid[0].clusters) < 2:
        raise UsageError(
            "only collectives over several clusters have plans to choose from",
            cure="Name a descriptor with one program whose COMM_WORLD is the grid",
        )
    program = replace(
        on_grid[0],
        kind=ProgramKind.MODULE,
        path=_PROGRAM,
        arguments=(str(times),),
        failures=FailureMode.ABORT,
        recovery="",
    )
    return replace(
        deployment, applications=(program,), plans="", named_classes=(), transfers=(), processes=(),
        dependencies={}, assembly=None, virtual_nodes=(),
    )  # fmt: skip


def _timings(output: bytes) -> list[Timing]:
    from runtime.collectives.tuning import Timing

    rows = [json.loads(line) for line in output.splitlines()]
    return [Timing(**{**row, "seconds": tuple(row["seconds"])}) for row in rows]


def _table(timings: Sequence[Timing]) -> str:
    """Return what was measured, a line for each operation and size."""
    from runtime.collectives.tuning import winners

    lines = ["operation       bytes  usual plan           ms  fastest other        ms"]
    for usual, best, other in winners(timings):
        pairs = "  ".join(f"{one.choice:<14} {1000 * one.median:>8.2f}" for one in (usual, other))
        is_taken = "" if best is usual else "  taken"
        lines.append(f"{usual.operation:<12} {usual.size:>8}  {pairs}{is_taken}")
    return "\n".join([*lines, ""])
