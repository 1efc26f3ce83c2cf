"""`gcm-deploy web`: shows a run that goes on, or a recorded one, to a browser of this machine."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

from gcm.cli.common_options import Option, port
from runtime.cli.errors import UsageError
from runtime.cli.inspection import NOTHING_RUNS, followed, only_run
from runtime.cli.line.options import deploy_command
from runtime.cli.screens.report import LivingPage
from runtime.cli.view import recorded
from runtime.interruptible import has_happened
from runtime.views.facts import Fact


@deploy_command(
    Option("run", metavar="PID|FILE", nargs="?", default="",
           help="the process number of gcm-deploy, by default that of your only run; or a recorded "
           "run"),
    Option("--port", metavar="PORT", read=port, default=0,
           help="the port at 127.0.0.1 (default: any free one)"),
    epilog="""\
examples:
  gcm-deploy web                      your only run on this machine
  gcm-deploy web 4711                 the run whose gcm-deploy is process 4711
  gcm-deploy web run.facts            a recorded run
  gcm-deploy web --port 8080 4711     where a tunnel of ssh leads to it""",
)  # fmt: skip
def web(found: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; return the exit code.

    Raises:
        UsageError: there is no such run, or there are several, or the port is taken.
    """
    run = found.run or only_run("web")
    if run is None:
        return NOTHING_RUNS
    facts = _facts_of(str(run))
    first = next(facts, None)  # what is wrong is said here and not in the browser
    try:
        page = LivingPage(found.port)
    except OSError as error:
        raise UsageError(
            f"port {found.port} is not available: {error.strerror}",
            cure="Choose another one with --port",
        ) from error
    print(page.server.url, flush=True)
    print("open that in a browser of this machine; Ctrl-C ends it", file=sys.stderr)
    with suppress(KeyboardInterrupt):
        if first is not None:
            page.show([first])
        for fact in facts:
            page.show([fact])
        page.end()
        has_happened(threading.Event())
    page.server.close()  # the run may go on, so nothing is said of its end
    return 0


def _facts_of(run: str) -> Iterator[Fact]:
    if run.isdecimal():
        yield from followed(int(run))
        return
    with recorded(run) as facts:
        yield from facts
