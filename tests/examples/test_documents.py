"""Everything that the README and the guides show is run here, and says what they say.

A block whose first line is a comment with a file name is that file. A `console` block holds
commands behind `$`, each followed by what it prints; `...` stands for anything. Any other Python
block is a program on its own. All blocks of a document share one folder, in their order.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.processes.launcher.tree import machine_document
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
SECTIONS = [("docs/deploy.md", "Without a descriptor")]
"""Single sections, of documents that also show what no test can run."""

PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))]

GCM = [sys.executable, "-c", "import sys; from gcm.cli import main; sys.exit(main())"]
DEPLOY = [sys.executable, "-m", "runtime.cli"]
RUN = """\
import sys
sys.argv[0] = "gcm-run"  # what it calls itself
from runtime.cli import run_main
sys.exit(run_main())
"""
PEER = "import sys; from runtime.peers.commands.peer_command import main; sys.exit(main())"
PROGRAMS = {
    "gcm": GCM,
    "gcm-deploy": DEPLOY,
    "gcm-run": [sys.executable, "-c", RUN],
    "gcm-peer": [sys.executable, "-c", PEER],
    "python": [sys.executable],
}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"(?:# |<!-- )([\w/]+\.(?:py|fractal|xml))(?: -->)?")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(document: str, section: str = "") -> Iterator[Block]:
    text = (ROOT / document).read_text("utf-8")
    begin = text.index(f"\n## {section}\n") if section else 0
    end = text.find("\n## ", begin + 1) if section else len(text)
    for found in FENCE.finditer(text, begin, end):
        yield Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with what is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run(arguments: list[str], folder: Path) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GCM_FOLDER": str(folder / ".gcm"),
    }
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


def run_shown(command: str, folder: Path, within: Sequence[str] = ()) -> str:
    program, *arguments = command.split()
    return run([*within, *PROGRAMS[program], *arguments], folder)


def matches(shown: str, printed: str) -> bool:
    pattern = ".*?".join(map(re.escape, shown.rstrip().split("...")))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


def check(block: Block, folder: Path, within: Sequence[str] = ()) -> str:
    """Do what a block says, by a command that starts others; return what is wrong with it."""
    first = FILE_NAME.fullmatch(block.text.partition("\n")[0])
    if first:
        (folder / first[1]).write_text(block.text, "utf-8")
    elif block.language == "console":
        for command, shown in commands(block.text):
            if command.startswith("make "):
                if f"\n{command.split()[1]}:" not in (ROOT / "Makefile").read_text("utf-8"):
                    return f"there is no '{command}'"
            elif not matches(shown, printed := run_shown(command, folder, within)):
                return f"'{command}' printed\n{printed}"
    elif block.language == "python":
        (folder / "block.py").write_text(block.text, "utf-8")
        if printed := run([sys.executable, "block.py"], folder):
            return f"it printed\n{printed}"
    return ""


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
