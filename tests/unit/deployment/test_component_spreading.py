"""Which component goes to which node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gcm.adl import outline_of_plan, plan_document
from gcm.documents import Diagnostics
from runtime.deployment.planning.spreading import idle_nodes, spread_components

MODULE = "class Part:\n    pass\n"
GRID = (
    '<grid><site name="s"><cluster name="c"><nodes names="n[0-1]"/></cluster>'
    '<cluster name="d"><nodes names="m"/></cluster></site></grid><assembly file="f.fractal"/>'
)


def part(name: str, node: str = "") -> str:
    mapped = f'<virtual-node name="{node}"/>' if node else ""
    return f'<component name="{name}"><content class="spread_parts.Part"/>{mapped}</component>'


@pytest.fixture
def spread(read: Any, tmp_path: Path) -> Any:
    (tmp_path / "spread_parts.py").write_text(MODULE)

    def plan(adl: str, mapping: str) -> dict[str, str]:
        file = tmp_path / "app.fractal"
        file.write_text(f'<definition name="app">{adl}</definition>')
        found = Diagnostics()
        assembly = plan_document(file, diagnostics=found)
        assert assembly is not None, [str(one) for one in found]
        return dict(
            spread_components(outline_of_plan(assembly.root), read(GRID_IN.format(mapping)).good)
        )

    return plan


GRID_IN = f"<deployment>{GRID}{{}}</deployment>"


def test_components_take_turns_on_the_nodes_of_their_virtual_node(spread: Any) -> None:
    adl = "".join(part(name, "v") for name in "abcd")
    assert spread(adl, '<virtual-node name="v" nodes="s/d s/c"/>') == {
        "/app/a": "s/d/m",
        "/app/b": "s/c/n0",
        "/app/c": "s/c/n1",
        "/app/d": "s/d/m",
    }


def test_each_virtual_node_deals_out_on_its_own(spread: Any) -> None:
    adl = part("a", "v") + part("b", "w") + part("c", "v")
    mapping = '<virtual-node name="v" nodes="s/c"/><virtual-node name="w" nodes="s/c"/>'
    assert spread(adl, mapping) == {"/app/a": "s/c/n0", "/app/b": "s/c/n0", "/app/c": "s/c/n1"}


def test_what_has_no_mapped_virtual_node_takes_turns_on_that_of_its_composite(spread: Any) -> None:
    inner = (
        f'<component name="box">{part("a", "v")}{part("b")}{part("c", "other")}'
        '<virtual-node name="w"/></component>'
    )
    mapping = '<virtual-node name="v" nodes="s/d"/><virtual-node name="w" nodes="s/c"/>'
    assert spread(inner + part("d", "other"), mapping) == {
        "/app/box": "s/c/n0",
        "/app/box/a": "s/d/m",
        "/app/box/b": "s/c/n0",
        "/app/box/c": "s/c/n1",
    }


def test_a_composite_lives_where_the_first_part_of_its_virtual_node_does(spread: Any) -> None:
    parts = "".join(map(part, "abc"))
    box = f'<component name="box">{parts}<virtual-node name="w"/></component>'
    empty = (
        '<component name="empty"><virtual-node name="w"/><controller desc="composite"/></component>'
    )
    assert spread(part("first", "w") + box + empty, '<virtual-node name="w" nodes="s/c s/d"/>') == {
        "/app/first": "s/c/n0",
        "/app/box": "s/c/n1",
        "/app/box/a": "s/c/n1",
        "/app/box/b": "s/d/m",
        "/app/box/c": "s/c/n0",
        "/app/empty": "s/c/n1",
    }


def test_nodes_that_get_nothing_are_known_but_for_those_of_spares(read: Any) -> None:
    mapping = '<virtual-node name="v" nodes="s/c s/d"/><virtual-node name="spare" nodes="s/d"/>'
    deployment = read(GRID_IN.format(mapping)).good
    assert idle_nodes({"/app/a": "s/c/n1"}, deployment) == {"v": ["s/c/n0", "s/d/m"]}
    assert idle_nodes({}, deployment) == {}
