"""Everything that the README and the guides show is run here, and says what they say.

A block whose first line is a comment with a file name is that file. A `console` block holds
commands behind `$`, each followed by what it prints; `...` stands for anything. Any other Python
block is a program on its own. All blocks of a document share one folder, in their order.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.processes.launcher.tree import machine_document
from tests.documents import DEPLOY, GCM, blocks, check, run
from tools.on_grids import ROOT
from tools.pictures import pictures

DOCUMENTS = [
    "README.md",
    "docs/start/clusters.md",
    "docs/start/laptop.md",
    "docs/architecture.md",
    "docs/tutorial.md",
    "docs/how-to.md",
    "docs/fractal.md",
    "docs/pictures.md",
    "docs/mpi.md",
    "docs/coupling.md",
    "docs/replicas.md",
    "docs/surviving.md",
    "docs/surroundings.md",
    "docs/results.md",
    "docs/failures.md",
    "docs/waits.md",
    "docs/booking.md",
]
SECTIONS = [
    ("docs/deploy.md", "Without a descriptor"),
    ("docs/recipes.md", "Show something of a run, or add a fact"),
]
"""Single sections, of documents that also show what no test can run."""

PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize(("document", "section"), [*((one, "") for one in DOCUMENTS), *SECTIONS])
def test_what_a_document_shows_is_what_happens(document: str, section: str, tmp_path: Path) -> None:
    shown = list(blocks(document, section))
    if any("examples/" in block.text for block in shown):
        (tmp_path / "examples").symlink_to(ROOT / "examples")
    faults = [
        f"{document}:{block.line}: {fault}" for block in shown if (fault := check(block, tmp_path))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("program", "options", "result"),
    [("pi.py", (), "2 ranks: 3.144"), ("steps.py", ("--restart",), "4 steps: 16")],
)
def test_a_replica_that_is_killed_as_its_page_shows_changes_no_result(
    program: str, options: tuple[str, ...], result: str, tmp_path: Path
) -> None:
    for block in blocks("docs/replicas.md"):
        if block.text.startswith("# "):
            check(block, tmp_path)
    words = ["--quiet", "--emulate", "2x2", "--replicas", "2", *options, program]
    environment = {**os.environ, "GCM_FOLDER": str(tmp_path / ".gcm")}
    with subprocess.Popen(
        [*DEPLOY, *words],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as running:  # fmt: skip
        os.kill(_process_of_rank(1, running, tmp_path), signal.SIGKILL)
        output, _ = running.communicate(timeout=60)
    assert (running.returncode, output) == (0, f"{result}\n")


def _process_of_rank(number: int, running: subprocess.Popen[str], folder: Path) -> int:
    """Return the process of the first replica of a rank, once its program runs."""
    while running.poll() is None:
        told = run([*DEPLOY, "ps", "--format", "json", str(running.pid)], folder)
        for rank in json.loads(told)[0]["ranks"] if told.startswith("[") else ():
            if (rank["number"], rank["replica"]) == (number, 0) and rank["doing"].startswith("at "):
                return int(rank["process"])
    raise AssertionError(f"it had ended: {running.communicate()[0]}")


@pytest.mark.parametrize(
    ("picture", "drawn"),
    [
        ("coupling", "examples/05_m_by_n/coupling.fractal"),
        ("farm", "examples/03_farm/farm.fractal"),
        ("peer", "runtime/peers/daemon/peer.fractal"),
    ],
)
def test_the_pictures_are_those_that_the_command_draws(picture: str, drawn: str) -> None:
    shown = (ROOT / f"docs/images/{picture}.svg").read_text("utf-8")
    assert run([*GCM, "draw", drawn], ROOT).rstrip() == shown.rstrip()


def test_the_picture_of_the_machine_is_that_of_the_quickstart(tmp_path: Path) -> None:
    descriptor = ROOT / "descriptors/quickstart.xml"
    diagnostics = Diagnostics()
    deployment = read_descriptor(
        descriptor,
        surroundings=surroundings_of(str(descriptor)),
        diagnostics=diagnostics,
    )
    assert deployment is not None, [str(found) for found in diagnostics]
    exported = tmp_path / "quickstart.fractal"
    exported.write_text(machine_document(make_plan(deployment), "quickstart"), "utf-8")
    shown = (ROOT / "docs/images/machine.svg").read_text("utf-8")
    assert run([*GCM, "draw", str(exported)], ROOT).rstrip() == shown.rstrip()


def test_the_pictures_of_the_page_about_pictures_are_drawn_from_this_code() -> None:
    for name, picture in pictures().items():
        shown = (ROOT / f"docs/images/{name}.svg").read_text("utf-8")
        assert shown == picture, f"draw {name}.svg again: python -m tools.pictures"


@pytest.mark.parametrize("document", PAGES)
def test_every_link_of_a_document_leads_to_a_file(document: str) -> None:
    targets = LINK.findall((ROOT / document).read_text("utf-8"))
    missing = [one for one in targets if not (ROOT / document).parent.joinpath(one).exists()]
    assert not missing


def test_the_first_page_of_the_site_shows_what_the_readme_shows() -> None:
    of_readme = [block.text for block in blocks("README.md")]
    assert {block.text for block in blocks("docs/index.md")} <= set(of_readme)
