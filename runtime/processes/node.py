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
        (told,) = read_first_input(lambda size: os.read(0, size))
    except EOFError:
        return 1
    except OtherVersion as fault:
        print(fault, file=sys.stderr)
        return REFUSED
    assert isinstance(told, NodeStart)
    ended = threading.Event()
    # Ctrl-C on a terminal is for the launcher, which then ends everything in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ended.set())
    _settle(told)
    try:
        _serve(told, ended)
    except GridError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


def _settle(told: NodeStart) -> None:
    """Let the components find their modules, know where they are, and print line by line."""
    sys.path[:0] = told.job.search
    os.environ[NODE_VARIABLE] = told.job.name
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)


def _serve(told: NodeStart, ended: threading.Event) -> None:
    home = told.job.home
    credentials = Credentials(told.keys, home, told.certificate)
    with Reactor(f"node {told.job.name}", brief_waits=BriefWaits()) as reactor:
        host = Host(home, reactor)
        address = ""
        if told.job.listen:
            address = as_others_see(host.listen(told.job.listen, credentials).address)
        agent = node_agent(host, credentials, address)
        above = host.dial(told.front_end, credentials, ["/"], peer=told.cluster)
        above.when_closed(lambda _: ended.set())
        ended.wait()
        agent.stop()
        host.close()
