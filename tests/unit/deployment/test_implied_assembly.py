"""The components that a machine implies."""

from __future__ import annotations

from runtime.deployment.planning.assembly import Level, implied_assembly
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
        ("/grid/a", Level.SITE, "0"),
        ("/grid/a/c", Level.CLUSTER, "0:0"),
        ("/grid/a/c/wrapper0", Level.WRAPPER, "0:0:0"),
        ("/grid/a/c/wrapper1", Level.WRAPPER, "0:0:1"),
        ("/grid/a/d", Level.CLUSTER, "0:1"),
        ("/grid/a/d/wrapper0", Level.WRAPPER, "0:1:0"),
        ("/grid/a/d/wrapper1", Level.WRAPPER, "0:1:1"),
        ("/grid/b", Level.SITE, "1"),
        ("/grid/b/e", Level.CLUSTER, "1:0"),
        ("/grid/b/e/wrapper0", Level.WRAPPER, "1:0:0"),
        ("/grid/b/e/wrapper1", Level.WRAPPER, "1:0:1"),
        ("/grid/b/e/wrapper2", Level.WRAPPER, "1:0:2"),
    ]
    assert all(part.path.rpartition("/")[2] == part.name for part in found)


def test_a_name_that_cannot_be_that_of_a_component_becomes_a_number() -> None:
    nodes = (Node("n", ranks=1),)
    clusters = tuple(Cluster(name, nodes) for name in ("alder", "big.one", "alder", "clustering"))
    grid = Grid((Site("north", clusters), Site("codes", clusters[:1])))
    found = [part.path for part in implied_assembly(grid).walk() if part.level is Level.CLUSTER]
    assert found == [
        "/grid/north/alder",
        "/grid/north/cluster1",
        "/grid/north/cluster2",
        "/grid/north/cluster3",
        "/grid/site1/alder",
    ]
