"""`gcm run`: makes an assembly in this process, calls its `run` interface, and stops it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gcm.adl import AssemblyPlan, assemble
from gcm.adl.runnable import RUN, result_of, run_operation
from gcm.cli.load import Settings, load_plan
from gcm.cli.output import write_findings
from gcm.components.model import Component
from gcm.documents import Diagnostics
from gcm.tracebacks import told_to_user

STOP_SECONDS = 5.0
"""Seconds for the calls inside an interrupted assembly to end."""

GRACE_SECONDS = 2 * STOP_SECONDS
"""Seconds for the whole end; then the process exits, whatever still runs in it."""

INTERRUPTED = 130


def run(file: str, settings: Settings, roots: Sequence[str], interface: str = RUN) -> int:
    """Run the assembly of a document to its end; return the exit code.

    The one operation of the root's server interface of that name is called.
    """
    # The user's code may import at any time, so its folders stay on the search path.
    sys.path[:0] = [str(Path(folder).absolute()) for folder in (os.path.dirname(file), *roots)]
    plan = load_plan(file, settings, roots)
    if plan is None:
        return 1
    operation = _operation(plan, interface)
    if not operation:
        return 1
    try:
        root = assemble(plan)
    except Exception as error:  # the user's constructors may raise anything
        return _told(error)
    return _live(root, interface, operation)


def _operation(plan: AssemblyPlan, interface: str) -> str:
    diagnostics = Diagnostics()
    operation = run_operation(plan.root, diagnostics, interface)
    write_findings(diagnostics, sys.stderr)
    if any(one.code == "no-run-interface" for one in diagnostics):
        _say("--interface NAME calls another server interface")
    return operation


def _live(root: Component, interface: str, operation: str) -> int:
    """Start the assembly, call its operation, and always stop it."""
    try:
        code = _called(root, interface, operation)
        return _end(root) or code
    except KeyboardInterrupt:
        pass
    return _interrupted(root)


def _called(root: Component, interface: str, operation: str) -> int:
    try:
        root.start()
        return _exit_code(getattr(root.server(interface).stub, operation))
    except Exception as error:  # any error of the user's code is reported alike
        return _told(error)


def _exit_code(operation: Callable[[], Any]) -> int:
    """Call the operation, print its result, and return the exit code."""
    result = result_of(operation())
    if result.text is not None:
        print(result.text)
    if result.complaint:
        _say(result.complaint)
    return result.code


def _end(root: Component) -> int:
    """Stop and terminate the assembly; return 1 if that fails."""
    try:
        root.stop()
        root.terminate()
    except Exception as error:  # the user's hooks may raise anything
        return _told(error)
    return 0


def _interrupted(root: Component) -> int:
    """Stop in bounded time: first in good order, then by exiting the process."""
    try:
        _say(
            f"interrupted; stopping within {GRACE_SECONDS:g} s (press Ctrl-C again to end at once)"
        )
        last = threading.Timer(GRACE_SECONDS, _give_up, ("something inside did not stop",))
        last.daemon = True
        last.start()
        root.membrane.lifecycle.stop_timeout = STOP_SECONDS
        if _end(root) != 0:
            _give_up("not everything stopped")
        # The process is at its end; a further Ctrl-C must not change how it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        _give_up("interrupted again")
    last.cancel()
    _say("stopped")
    return INTERRUPTED


def _give_up(why: str) -> NoReturn:
    """End the process now, although threads may still be running."""
    _say(f"{why}; ended without waiting for it")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def _told(error: Exception) -> int:
    """Report an error, with the user's traceback where their code is at fault."""
    words = told_to_user(error)
    if words == str(error):
        _say(words)
    else:
        print(words, file=sys.stderr)
    return 1


def _say(text: str) -> None:
    print(f"gcm run: {text}", file=sys.stderr, flush=True)
