"""What front-ends and nodes may call of each other's components: each in its own name."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gcm.invocation import Invocation
from runtime.errors import GridError
from runtime.machine.calls import CallRefused, DispatchTable, stub
from runtime.machine.contracts import Orders
from runtime.processes.member_host import MemberHost, check_sender
from runtime.transport.channel import Channel
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

CLUSTER, SITE, GRID = "/grid/site0/cluster1", "/grid/site0", "/grid"


def call(to: str, interface: str, sender: str, *args: Any) -> None:
    client = sender and f"{sender}/clustering.{interface}"
    check_sender(Target(f"{to}/clustering", interface, "any", client), args)


@pytest.mark.parametrize(
    ("to", "interface", "sender", "member"),
    [
        (SITE, "membership", CLUSTER, "0:1"),
        (GRID, "membership", SITE, "0"),
        (CLUSTER, "views", SITE, 0),
        (SITE, "views", GRID, 0),
        ("/grid/site1/cluster0", "health-controller", CLUSTER, "0:1"),
    ],
)
def test_a_clustering_component_calls_those_it_is_bound_to(
    to: str, interface: str, sender: str, member: object
) -> None:
    call(to, interface, sender, member)


@pytest.mark.parametrize(
    ("to", "interface", "sender", "member"),
    [
        (SITE, "membership", CLUSTER, "0:0"),  # another cluster is ready, it says
        (SITE, "membership", "", "0:1"),
        (GRID, "membership", CLUSTER, "0:1"),  # not its own site
        ("/grid/site1", "membership", CLUSTER, "0:1"),
        (SITE, "membership", CLUSTER, ["0:1"]),
        (CLUSTER, "views", "/grid/site0/cluster0", 0),  # who is where is told from above
        (CLUSTER, "views", GRID, 0),
        (CLUSTER, "views", "", 0),
        ("/grid/site1/cluster0", "health-controller", CLUSTER, "0:0"),  # another one lives
    ],
)
def test_nothing_is_served_that_is_called_in_another_name(
    to: str, interface: str, sender: str, member: object
) -> None:
    with pytest.raises(CallRefused, match="may not call"):
        call(to, interface, sender, member)


def _refuse(interface: str, operation: str, args: tuple[Any, ...]) -> None:
    raise AssertionError((interface, operation, args))


class Marks:
    """Makes a folder where it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@contextmanager
def node() -> Iterator[Channel]:
    """Return the connection of a node to its front-end."""
    with Reactor("test") as reactor:
        dispatch = DispatchTable()
        dispatch.serve(Orders, stub(Orders, _refuse))
        host = MemberHost(CLUSTER, reactor, dispatch)
        above, theirs, below = *socket.socketpair(), socket.socketpair()
        host.routes.add("/", Channel(reactor, SocketStream(above), "it").open())
        host.channel(SocketStream(below[0]), "node n", ["/nodes/n"])
        yield Channel(reactor, SocketStream(below[1]), "its front-end").open()
        host.close()
        theirs.close()


@pytest.mark.parametrize(
    ("path", "interface", "operation"),
    [
        ("/front-end", "orders", "show_prompts"),
        ("/launcher", "reports", "failed"),
        ("/coupling", "coupling", "attach"),
        ("/driver", "mail", "deliver"),
        ("/ranks/0:1:0", "control", "stop"),
        ("/grid/site0/cluster0/clustering", "membership", "ready"),
    ],
)
def test_a_node_and_who_calls_through_it_reach_components_and_not_the_machine(
    path: str, interface: str, operation: str
) -> None:
    with node() as channel, pytest.raises(GridError, match="node n may not call"):
        channel.call(Invocation(path, interface, operation)).result(10)


def test_a_front_end_opens_nothing_of_a_node_but_plain_data(tmp_path: Path) -> None:
    with node() as channel:
        for interface in ("@binding", "@blocks"):
            call = Invocation(CLUSTER, interface, "take", (Marks(tmp_path / "mark"),))
            with pytest.raises(GridError):
                channel.call(call).result(10)
    assert list(tmp_path.iterdir()) == []
