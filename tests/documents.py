"""What documents show: their blocks, the commands in them, and what these should print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.on_grids import ROOT

GCM = [sys.executable, "-c", "import sys; from gcm.cli import main; sys.exit(main())"]
DEPLOY = [sys.executable, "-m", "runtime.cli"]
PEER = """\
import sys
sys.argv[0] = "gcm-peer"  # what it calls itself
from runtime.cli import peer_main
sys.exit(peer_main())
"""
PROGRAMS = {
    "gcm": GCM,
    "gcm-deploy": DEPLOY,
    "gcm-peer": [sys.executable, "-c", PEER],
    "python": [sys.executable],
}
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"(?:# |<!-- )([\w/]+\.(?:py|fractal|xml))(?: -->)?")


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


def matches(shown: str, printed: str) -> bool:
    pattern = ".*?".join(map(re.escape, shown.rstrip().split("...")))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


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
