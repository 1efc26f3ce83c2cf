"""What the tests of `gcm-deploy` share: descriptors in folders of their own, and the command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.cli import main
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from tools.on_grids import ROOT


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def deploy(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run the command in this process; a refusal of argparse counts as its exit code."""

    def run(*words: str | Path) -> Answer:
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        return Answer(code, out, err)

    return run


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the sample descriptors, beside stand-ins for what they refer to."""
    monkeypatch.setenv("USER", "me")
    folder = tmp_path / "descriptors"
    shutil.copytree(ROOT / "descriptors", folder)
    for name in (
        "10_ring/ring.py",
        "11_coupled_codes/ocean.py",
        "11_coupled_codes/atmosphere.py",
        "15_between_sites/news.py",
        "20_monte_carlo/flat.py",
        "21_mergesort/flat.py",
        "30_heat/heat.py",
    ):
        _write(tmp_path / "examples" / name, "")
    _write(
        tmp_path / "examples" / "12_components_on_nodes" / "farm.fractal",
        '<definition name="farm">'
        '<component name="a"><content class="fractions.Fraction"/>'
        '<virtual-node name="control"/></component>'
        '<component name="b"><content class="fractions.Fraction"/>'
        '<virtual-node name="workers"/></component></definition>',
    )
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def plan() -> Callable[..., DeploymentPlan]:
    """Plan a descriptor that is given as text; without one, 2 sites x 2 clusters x 2 ranks."""

    def make(text: str = "", replicas: int = 1) -> DeploymentPlan:
        body = text or '<emulate sites="2" clusters="2" ranks="2"/>'
        diagnostics = Diagnostics()
        found = read_descriptor(
            f'<deployment name="test"><application script="a.py" replicas="{replicas}"/>{body}'
            "</deployment>".encode(),
            name="test.xml",
            surroundings=DescriptorContext("/home/me"),
            diagnostics=diagnostics,
        )
        assert found is not None, [str(one) for one in diagnostics]
        return make_plan(found)

    return make
