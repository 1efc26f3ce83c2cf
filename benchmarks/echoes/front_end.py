"""A forwarder in a process of its own, until its standard input ends.

python -m benchmarks.echoes.front_end NAME ADDRESS STOP=ADDRESS ...
"""

from __future__ import annotations

import sys

from benchmarks.echoes.contract import listening
from benchmarks.echoes.members import member
from runtime.forwarding.forwarder import Forwarder
from runtime.transport.reactor import Reactor


def main() -> None:
    """Forward."""
    name, address, *told = sys.argv[1:]
    stops = dict(one.split("=", 1) for one in told)

    def find(stop: str) -> tuple[str, ...]:
        return (stops[stop],) if stop in stops else ()

    with Reactor() as reactor:
        forwarder = Forwarder(reactor, address, member(name, encrypts=False), find)
        listening()
        sys.stdin.read()
        forwarder.close()


if __name__ == "__main__":
    main()
