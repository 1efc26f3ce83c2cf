"""Definitions that multiply what they hold are refused where they do, before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gcm.adl.definitions.growth import MOST, DefinitionAmount
from gcm.adl.loading import check_files, plan_document
from gcm.documents import Diagnostics
from tests.memory import takes_at_most

MEMORY = 96 << 20
EMPTY = '<definition name="D0" arguments="a=1"/>'


def eight(call: Callable[[int, int], str]) -> Callable[[int], str]:
    """Return definitions with eight components, each of which is the definition before."""

    def level(n: int) -> str:
        inside = (f'<component name="c{k}" definition="{call(n - 1, k)}"/>' for k in range(8))
        return "\n".join([f'<definition name="D{n}" arguments="a=1">', *inside, "</definition>"])

    return level


def extending(n: int) -> str:
    bases = ",".join(f"D{n - 1}(${{a}}{k})" for k in range(8))
    return f'<definition name="D{n}" arguments="a=1" extends="{bases}"/>'


def in_membranes(n: int) -> str:
    inside = "".join(f'<component name="c{k}" definition="D{n - 1}"/>' for k in range(8))
    return f'<definition name="D{n}"><controller>{inside}</controller></definition>'


GROWING = {
    "components": (eight(lambda n, _: f"D{n}"), "D7.fractal:2", DefinitionAmount.COMPONENTS),
    "arguments": (eight(lambda n, k: f"D{n}(${{a}}{k})"), "D0.fractal:1", DefinitionAmount.USES),
    "texts": (
        lambda n: (
            f'<definition name="D{n}" arguments="a=1">\n'
            f'<component name="c" definition="D{n - 1}(${{a}}${{a}})"/></definition>'
        ),
        "D10.fractal:2",
        DefinitionAmount.TEXT,
    ),
    "extended definitions": (extending, "D0.fractal:1", DefinitionAmount.USES),
    "components of membranes": (in_membranes, "D7.fractal:1", DefinitionAmount.COMPONENTS),
}


@pytest.mark.parametrize(("level", "place", "amount"), GROWING.values(), ids=list(GROWING))
def test_definitions_that_multiply_are_refused_where_they_do(
    tmp_path: Path, level: Callable[[int], str], place: str, amount: DefinitionAmount
) -> None:
    (tmp_path / "D0.fractal").write_text(EMPTY)
    for n in range(1, 31):
        (tmp_path / f"D{n}.fractal").write_text(level(n))
    with takes_at_most(MEMORY):
        (found,) = check_files([tmp_path / "D30.fractal"])
    assert found.code == "too-large"
    assert f"{amount}" in found.message
    assert f"the most is {MOST[amount]:,}" in found.hint
    assert str(found.location) == f"{tmp_path}/{place}"


def test_one_definition_extended_again_and_again_is_refused(tmp_path: Path) -> None:
    inside = "".join(f'<component name="c{n}"/>' for n in range(1000))
    (tmp_path / "Base.fractal").write_text(f'<definition name="Base">{inside}</definition>')
    bases = ",".join(["Base"] * 20_000)
    (tmp_path / "Many.fractal").write_text(f'<definition name="Many" extends="{bases}"/>')
    (found,) = check_files([tmp_path / "Many.fractal"])
    assert str(found.location) == f"{tmp_path}/Many.fractal:1"
    assert f"{DefinitionAmount.MERGED}; the most" in f"{found.message}; {found.hint}"


def test_bindings_count_as_well(tmp_path: Path) -> None:
    bindings = "".join(f'<binding client="a.i{n}" server="b.j"/>' for n in range(1100))
    inside = '<component name="a"/><component name="b"/>'
    (tmp_path / "D0.fractal").write_text(f'<definition name="D0">{inside}{bindings}</definition>')
    uses = "".join(f'<component name="c{n}" definition="D0"/>' for n in range(1000))
    (tmp_path / "Top.fractal").write_text(f'<definition name="Top">{uses}</definition>')
    (found,) = check_files([tmp_path / "Top.fractal"])
    assert "1,103,001 components, interfaces, bindings and attributes" in found.message
    assert str(found.location) == f"{tmp_path}/Top.fractal:1"


def test_many_components_of_one_definition_are_planned(tmp_path: Path) -> None:
    (tmp_path / "Part.fractal").write_text(
        '<definition name="Part"><content class="builtins.object"/></definition>'
    )
    uses = "".join(f'<component name="c{n}" definition="Part"/>' for n in range(3000))
    (tmp_path / "Top.fractal").write_text(f'<definition name="Top">{uses}</definition>')
    found = Diagnostics()
    plan = plan_document(tmp_path / "Top.fractal", diagnostics=found)
    assert plan is not None, [str(one) for one in found]
    assert len(plan.root.components) == 3000


def test_quotes_are_followed_through_a_long_call_in_one_pass(tmp_path: Path) -> None:
    (tmp_path / "Part.fractal").write_text('<definition name="Part" arguments="a"/>')
    (tmp_path / "Top.fractal").write_text(
        '<definition name="Top" arguments="a=1">'
        f"""<component name="c" definition="Part('{"${a}" * 200_000}')"/></definition>"""
    )
    assert {one.code for one in check_files([tmp_path / "Top.fractal"])} == {"missing-content"}


def test_the_documented_limits_are_those_that_hold() -> None:
    text = (Path(__file__).parents[3] / "docs" / "adl.md").read_text(encoding="utf-8")
    for amount, most in MOST.items():
        assert f"| {amount} | {most:,} |" in text
