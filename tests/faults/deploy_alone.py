"""A program of its own that deploys as `gcm-deploy` does, for a test to interrupt or kill it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, make_plan, read_descriptor
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.warm_start import WarmStart
from runtime.views.facts import Fact, OutputWritten, StateChanged
from runtime.views.stream import nothing


class Printer:
    """Prints what happens, so that the test knows when to strike."""

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Say when the application runs, and print lines."""
        match fact.record:
            case StateChanged("running"):
                print("running", fact.name, flush=True)
            case OutputWritten(stream, data):
                for text in data.decode().splitlines():
                    print(fact.name, stream, text, flush=True)
        taken()


def main() -> int:
    """Deploy the descriptor named on the command line."""
    folder, name = os.path.split(os.path.abspath(sys.argv[1]))
    surroundings = DescriptorContext(folder, environment=os.environ, python=sys.executable)
    found = Diagnostics()
    deployment = read_descriptor(
        os.path.join(folder, name), surroundings=surroundings, diagnostics=found
    )
    assert deployment is not None, [str(one) for one in found]
    with WarmStart() as warm:
        machine = Machine(make_plan(deployment), Printer(), warm=warm)
        signal.signal(signal.SIGINT, lambda *_: machine.interrupt())
        outcome = machine.run()
    print("\n".join(outcome.errors), file=sys.stderr)
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
