"""The picture of a machine shows its sites, clusters, hosts and ranks, and who can reach whom."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from lxml import etree

from runtime.cli import main
from runtime.cli.line.options import read_options
from runtime.cli.load import load_deployment
from runtime.cli.machine_picture import Hosts, hosts_of, machine_picture
from runtime.topology import Node

SAMPLES = Path(__file__).parents[4] / "descriptors"

Rectangle = tuple[str, int, int, int, int]

THREE_LABS = """
<deployment name="three-labs">
  <application name="ring" script="ring.py"/>
  <grid>
    <site name="lyon">
      <cluster name="rhone"><ssh host="front"/><mpi ranks="96"/>
        <nodes hosts="rhone[01-24]" slots="4"/></cluster>
      <cluster name="saone" reachability="front-end"><ssh host="saone"/><mpi ranks="16"/>
        <nodes hosts="saone[1-2]" slots="8"/></cluster>
    </site>
    <site name="porto"><ssh host="gate"/>
      <cluster name="douro" reachability="outwards"><ssh host="login1"/><mpi ranks="12"/></cluster>
      <cluster name="minho" reachability="outwards"><ssh host="login2"/><mpi ranks="40"/></cluster>
    </site>
  </grid>
</deployment>
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.py").write_text("")
    (tmp_path / "labs.xml").write_text(THREE_LABS)


def drawn(*words: str) -> etree._Element:
    deployment = load_deployment(read_options(words))
    assert deployment is not None
    picture = machine_picture(deployment)
    assert picture == machine_picture(deployment)
    return etree.fromstring(picture.encode())


def drawn_with_assembly(descriptor: Path) -> etree._Element:
    assert main(["--draw", "drawn.svg", str(descriptor)]) == 0
    return etree.fromstring(Path("drawn.svg").read_bytes())


def texts(picture: etree._Element, css: str) -> list[str]:
    return [found.text or "" for found in picture.iter("{*}text") if found.get("class") == css]


def rectangles(element: etree._Element, x: int = 0, y: int = 0) -> Iterator[Rectangle]:
    moved = (element.get("transform") or "translate(0 0)")[len("translate(") : -1].split()
    x, y = x + int(moved[0]), y + int(moved[1])
    for child in element:
        if child.tag == "{http://www.w3.org/2000/svg}rect":
            at = [int(child.get(name, "0")) for name in ("x", "y", "width", "height")]
            yield child.get("class", ""), x + at[0], y + at[1], at[2], at[3]
        yield from rectangles(child, x, y)


def overlap(one: Rectangle, other: Rectangle) -> bool:
    return (
        one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
        and one[2] < other[2] + other[4]
        and other[2] < one[2] + one[4]
    )


@pytest.mark.parametrize("words", [("labs.xml",), ("--emulate", "4x4x12", "ring.py")])
def test_boxes_of_one_kind_never_overlap_and_are_inside_the_picture(words: tuple[str, ...]) -> None:
    picture = drawn(*words)
    width, height = int(picture.get("width", "")), int(picture.get("height", ""))
    found = list(rectangles(picture))
    for one, other in combinations(found, 2):
        assert one[0] != other[0] or not overlap(one, other), (one, other)
    for _, x, y, wide, high in found:
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + high <= height


def test_192_ranks_are_one_picture_with_the_number_of_every_rank() -> None:
    picture = drawn("--emulate", "4x4x12", "ring.py")
    labels = texts(picture, "label")
    assert [labels.count(str(number)) for number in range(193)] == [1] * 192 + [0]
    assert int(picture.get("width", "")) < 1800
    assert int(picture.get("height", "")) < 1000
    assert "192 ranks on 16 clusters of 4 sites" in texts(picture, "note")


def test_sites_are_beside_each_other_up_to_four() -> None:
    def places(shape: str) -> list[tuple[int, int]]:
        found = rectangles(drawn("--emulate", shape, "ring.py"))
        return [(x, y) for css, x, y, *_ in found if css == "box composite even"]

    four, five = places("4x1x2"), places("5x1x2")
    assert len({y for _, y in four}) == 1
    assert [x for x, _ in four] == sorted({x for x, _ in four})
    assert five[:4] == four
    assert five[4][0] == four[0][0]
    assert five[4][1] > four[0][1]


def test_hosts_are_shown_with_the_way_to_them_and_their_ranks() -> None:
    picture = drawn("labs.xml")
    labels = texts(picture, "label")
    for shown in ("24 hosts rhone01 … rhone24", "0 … 95, 4 each", "saone1", "saone2", "96", "111"):
        assert shown in labels
    assert "124 … 163" in labels  # those of minho, on one host
    notes = texts(picture, "note")
    assert "over ssh gate → login1; only connects outwards" in notes
    assert "over ssh saone; only the front-end can be reached" in notes


def test_components_are_shown_on_their_nodes_with_the_bindings_between_these() -> None:
    picture = drawn_with_assembly(SAMPLES / "components-on-nodes.xml")
    assert "5 nodes on 2 clusters of 2 sites" in texts(picture, "note")
    labels = texts(picture, "label")
    first = labels.index("node0 (localhost)")
    assert labels[first : first + 4] == [
        "node0 (localhost)",
        "farmer",
        "node1 (localhost)",
        "worker4",
    ]
    assert "farmer.workers → worker1.work" in labels
    assert "office/desk/node0 → lab/rack/blade01" in texts(picture, "key")


def test_a_node_without_a_component_is_free_for_those_of_its_virtual_node(tmp_path: Path) -> None:
    machine = (SAMPLES / "components-on-nodes.xml").read_text()
    machine = machine.replace("${descriptor.folder}/..", str(SAMPLES.parent))
    spare = tmp_path / "spare.xml"
    spare.write_text(machine.replace("blade[01-03]", "blade[01-09]"))
    assert texts(drawn_with_assembly(spare), "label").count("free for workers") == 6


def test_front_ends_tell_what_they_lead() -> None:
    labels = texts(drawn("labs.xml"), "label")
    assert [label for label in labels if label.startswith("front-end")] == [
        "front-end, also of the site and the grid",
        "front-end",
        "front-end, also of the site",
        "front-end",
    ]


def test_a_closed_direction_has_a_bar_and_an_open_one_a_head() -> None:
    def marks(picture: etree._Element) -> tuple[int, int]:
        paths = [found.get("class") for found in picture.iter("{*}path")]
        return paths.count("port server"), paths.count("port client")

    closed, _ = marks(drawn("--emulate", "1x2x2", "ring.py"))
    labs, _ = marks(drawn("labs.xml"))
    in_the_key = 3
    assert closed == in_the_key
    # Both directions of the ranks of saone; inwards both the front-end and the ranks of two more.
    assert labs == in_the_key + 2 + 2 * 2


def test_the_table_tells_who_dials_whom() -> None:
    told = texts(drawn("labs.xml"), "key")
    assert "rank → their front-end → rank" in told
    assert "rank ← rank" in told
    assert "rank → a third front-end ← rank" in told


def test_many_clusters_that_are_alike_become_one() -> None:
    names = texts(drawn("--emulate", "1x20x2", "ring.py"), "name")
    assert names[1:3] == ["0:0 cluster0", "19 × 0:1 cluster1 … 0:19 cluster19"]


def test_only_many_hosts_with_equally_many_ranks_become_one_line() -> None:
    few = [Node(f"n{n}", f"n{n}", 2) for n in range(3)]
    many = [Node(f"m{n}", f"m{n}", 4) for n in range(9)]
    assert list(hosts_of([*few, *many])) == [
        Hosts(("n0",), 0, 2),
        Hosts(("n1",), 2, 2),
        Hosts(("n2",), 4, 2),
        Hosts(tuple(f"m{n}" for n in range(9)), 6, 4),
    ]


def test_the_command_writes_the_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--draw", "machine.svg", "labs.xml"]) == 0
    assert Path("machine.svg").read_text("utf-8").startswith("<svg")
    assert main(["--draw", "machine.pdf", "labs.xml"]) != 0
    assert "'.pdf'" in capsys.readouterr().err
    assert main(["--draw", "none/machine.svg", "labs.xml"]) != 0
    assert "cannot be drawn to 'none/machine.svg'" in capsys.readouterr().err


def test_the_colours_of_the_picture_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for colours in ("light", "dark", "auto"):
        assert main(["--draw", "machine.svg", "--colours", colours, "labs.xml"]) == 0
        found[colours] = Path("machine.svg").read_text("utf-8")
    assert len(set(found.values())) == 3
    assert "prefers-color-scheme" in found["auto"]
    assert "prefers-color-scheme" not in found["light"] + found["dark"]
    with pytest.raises(SystemExit):
        main(["--colours", "dark", "labs.xml"])
    assert "--colours is for the picture that --draw FILE makes" in capsys.readouterr().err
