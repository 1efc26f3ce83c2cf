"""What front-ends may call of each other's components: each in its own name."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.machine.calls import NotServed
from runtime.processes.member_host import check_sender
from runtime.transport.messages import Target

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
    with pytest.raises(NotServed, match="may not call"):
        call(to, interface, sender, member)
