"""The process that holds the components of a node, as long as its front-end is there."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading

from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.hosting.node import node_agent
from runtime.membership.run_directory import as_others_see
from runtime.processes.configuration import REFUSED, NodeStart, OtherVersion, read_first_input
from runtime.processes.cores import leave_no_core_file
from runtime.transport.brief_waits import BriefWaits
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor

NODE_VARIABLE = "GCM_NODE"
"""The environment variable that tells components the name of their node: `site/cluster/node`."""


def main() -> int:
    """Serve until the front-end has gone; return the exit code."""
    leave_no_core_file()
    try:
        (start,) = read_first_input(lambda size: os.read(0, size))
    except EOFError:
        return 1
    except OtherVersion as fault:
        print(fault, file=sys.stderr)
        return REFUSED
    assert isinstance(start, NodeStart)
    ended = threading.Event()
    # Ctrl-C on a terminal is for the launcher, which then ends everything in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    _settle(start)
    try:
        _serve(start, ended)
    except GridError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


def _settle(start: NodeStart) -> None:
    """Let the components find their modules, know where they are, and print line by line."""
    sys.path[:0] = start.job.search
    os.environ[NODE_VARIABLE] = start.job.name
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _serve(start: NodeStart, ended: threading.Event) -> None:
    home = start.job.home
    credentials = Credentials(start.keys, home, start.certificate)
    with Reactor(f"node {start.job.name}", brief_waits=BriefWaits()) as reactor:
        host = Host(home, reactor)
        address = ""
        if start.job.listen:
            address = as_others_see(host.listen(start.job.listen, credentials).address)
        agent = node_agent(host, credentials, address)
        above = host.dial(start.front_end, credentials, ["/"], peer=start.cluster)
        above.when_closed(lambda _: ended.set())
        ended.wait()
        agent.stop()
        host.close()
