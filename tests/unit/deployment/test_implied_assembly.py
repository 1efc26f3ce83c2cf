"""The components that a machine implies."""

from __future__ import annotations

from runtime.deployment.assembly import Level, Link, implied_assembly, links
from runtime.topology.tree import Cluster, Grid, Node, Site

SEVEN = Grid(
    (
        Site("a", (Cluster("c", (Node("n", ranks=2),)), Cluster("d", (Node("n", ranks=2),)))),
        Site("b", (Cluster("e", (Node("n", ranks=1), Node("m", ranks=2))),)),
    )
)


def test_there_is_a_component_for_every_part_of_the_machine() -> None:
    found = list(implied_assembly(SEVEN).walk())
    assert [(part.path, part.level, part.identifier) for part in found] == [
        ("/grid", Level.GRID, ""),
        ("/grid/site0", Level.SITE, "0"),
        ("/grid/site0/cluster0", Level.CLUSTER, "0:0"),
        ("/grid/site0/cluster0/wrapper0", Level.WRAPPER, "0:0:0"),
        ("/grid/site0/cluster0/wrapper1", Level.WRAPPER, "0:0:1"),
        ("/grid/site0/cluster1", Level.CLUSTER, "0:1"),
        ("/grid/site0/cluster1/wrapper0", Level.WRAPPER, "0:1:0"),
        ("/grid/site0/cluster1/wrapper1", Level.WRAPPER, "0:1:1"),
        ("/grid/site1", Level.SITE, "1"),
        ("/grid/site1/cluster0", Level.CLUSTER, "1:0"),
        ("/grid/site1/cluster0/wrapper0", Level.WRAPPER, "1:0:0"),
        ("/grid/site1/cluster0/wrapper1", Level.WRAPPER, "1:0:1"),
        ("/grid/site1/cluster0/wrapper2", Level.WRAPPER, "1:0:2"),
    ]
    assert all(part.path.rpartition("/")[2] == part.name for part in found)


def test_every_component_but_the_grid_is_bound_up_and_down() -> None:
    whole = implied_assembly(SEVEN)
    found = list(links(whole))
    assert found[:4] == [
        Link("/grid/site0.up", "/grid.srv"),
        Link("/grid.down", "/grid/site0.srv"),
        Link("/grid/site0/cluster0.up", "/grid/site0.srv"),
        Link("/grid/site0.down", "/grid/site0/cluster0.srv"),
    ]
    assert len(found) == len(set(found)) == 2 * (len(list(whole.walk())) - 1)
