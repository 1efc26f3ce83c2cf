"""A node process for the tests: connects to the launcher, listens for others, serves until the end.

Usage: node_process HOME LAUNCHER_ADDRESS OWN_ADDRESS, the secret in hexadecimal on stdin.
"""

from __future__ import annotations

import sys
import threading

from gcm.invocation import Invocation
from runtime.hosting.host import Host
from runtime.hosting.node import node_agent
from runtime.transport.credentials import Credentials
from runtime.transport.reactor import Reactor


def main() -> None:
    home, launcher, own = sys.argv[1:]
    credentials = Credentials(bytes.fromhex(sys.stdin.readline()), home)
    ended = threading.Event()
    with Reactor() as reactor:
        host = Host(home, reactor)
        listener = host.listen(own, credentials) if own != "-" else None
        agent = node_agent(host, credentials, listener.address if listener else "")
        up = host.dial(launcher, credentials, ["/"])
        up.when_closed(lambda _: ended.set())
        host.call(
            Invocation("/launcher", "roll", "up", (home, listener.address if listener else ""))
        ).result()
        ended.wait()
        agent.stop()
        host.close()


if __name__ == "__main__":
    main()
