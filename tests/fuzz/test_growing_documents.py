"""Whatever small documents multiply, they are read or refused within bounds of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gcm.adl import check_files
from gcm.adl.definitions import growth
from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, extent, make_plan, read_descriptor
from tests.memory import takes_at_most

MOST_MEMORY = 128 << 20  # of which half is room to read the largest file
ROUNDS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

NUMBERS = st.sampled_from([1, 2, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 99_999, 100_000])
ARGUMENTS = st.sampled_from(["", "(${a}0)", "(${a}${a})", "(1)"])
USES = st.lists(st.integers(0, 30), max_size=12)


@st.composite
def values(draw: st.DrawFn) -> str:
    """Draw text that uses variables, so that they multiply one another."""
    used = "".join(f"${{v{number}}}" for number in draw(USES))
    return used + draw(st.sampled_from(["", "x", "1", "x" * 1000, "n[1-999]", " "]))


@st.composite
def lists(draw: st.DrawFn) -> str:
    """Draw a list of hosts with ranges, some of them of variables."""
    ends = draw(st.lists(NUMBERS, min_size=1, max_size=3))
    ranges = "".join(f"x[1-{end}]" for end in ends)
    return f"n{ranges}" if draw(st.booleans()) else f"{draw(values())} {ranges}"


@st.composite
def descriptors(draw: st.DrawFn) -> bytes:
    """Draw a descriptor of which every line may stand for much."""
    lines = [
        f'<variable name="v{number}" value="{draw(values())}"/>'
        for number in range(draw(st.integers(0, 31)))
    ]
    lines.append(f'<application script="a.py" arguments="{draw(values())}"/>')
    for number in range(draw(st.integers(0, 4))):
        lines.append(
            f'<process id="p{number}" kind="ssh" program="x" number="{draw(NUMBERS)}"'
            f' hosts="{draw(lists())}"/>'
        )
    for number in range(draw(st.integers(0, 9))):
        lines.append(f'<virtual-node name="w{number}" nodes="s0/c0 s1/c0"/>')
    if draw(st.booleans()):
        sizes = [f'{name}="{draw(NUMBERS)}"' for name in ("sites", "clusters", "nodes", "ranks")]
        lines.append(f"<emulate {' '.join(sizes)}/>")
    else:
        lines.append(f'<grid><mpi ranks="{draw(NUMBERS)}"/>')
        for number in range(draw(st.integers(1, 5))):
            nodes = f'<nodes hosts="{draw(lists())}" slots="{draw(NUMBERS)}"/>'
            lines.append(f'<site name="s{number}"><cluster name="c0">{nodes}</cluster></site>')
        lines.append("</grid>")
    return "\n".join(["<deployment>", *lines, "</deployment>"]).encode()


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let limits be passed sooner, so that what comes close to them takes no time either."""
    for module in (growth, extent):
        less = {amount: most // 100 for amount, most in module.MOST.items()}
        monkeypatch.setattr(module, "MOST", less)


def bounded(act: Callable[[], object]) -> None:
    with takes_at_most(MOST_MEMORY):
        act()


@ROUNDS
@given(descriptors())
def test_descriptors_that_multiply_are_planned_or_refused(document: bytes) -> None:
    def read() -> None:
        found = Diagnostics()
        deployment = read_descriptor(
            document, name="d.xml", surroundings=DescriptorContext("/d"), diagnostics=found
        )
        assert (deployment is None) == bool(found.errors)
        assert all(one.location.line for one in found.errors)
        if deployment is not None:
            make_plan(deployment)

    bounded(read)


@st.composite
def definitions(draw: st.DrawFn) -> list[str]:
    """Draw definitions each of which uses the ones before it, in several ways."""
    found = ['<definition name="D0" arguments="a=1"/>']
    for number in range(1, draw(st.integers(2, 24))):
        uses = draw(st.lists(st.integers(0, number - 1), max_size=9))
        calls = [f"D{used}{draw(ARGUMENTS)}" for used in uses]
        extending = bool(calls) and draw(st.booleans())
        inside = "".join(
            f'<component name="c{at}" definition="{call}"/>' for at, call in enumerate(calls)
        )
        if draw(st.booleans()):
            inside = f"<controller>{inside}</controller>"
        extends = f' extends="{",".join(calls)}"' if extending else ""
        found.append(f'<definition name="D{number}" arguments="a=1"{extends}>{inside}</definition>')
    return found


@ROUNDS
@given(definitions())
def test_definitions_that_multiply_are_checked_or_refused(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder: Path = tmp_path_factory.mktemp("growing")
    for number, text in enumerate(texts):
        (folder / f"D{number}.fractal").write_text(text)
    bounded(lambda: [one.message for one in check_files([folder / f"D{len(texts) - 1}.fractal"])])
