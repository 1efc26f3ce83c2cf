"""The page about peers shows what happens, from the making of a lab to the end of its daemons."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.examples.test_documents import blocks, check, run_shown

PAGE = "docs/peers.md"


@pytest.fixture
def own_network() -> Iterator[Sequence[str]]:
    """Yield how commands begin that have a network of their own, where all ports are free."""
    name = f"page-{os.getpid()}"
    made = ["ip", "netns", "add", name]
    done = shutil.which("ip") and subprocess.run(made, check=False, capture_output=True)
    if not done or done.returncode:
        yield ()
        return
    within = ["ip", "netns", "exec", name]
    try:
        subprocess.run([*within, "ip", "link", "set", "lo", "up"], check=True)
        yield within
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.mpi
def test_what_the_page_shows_is_what_happens(own_network: Sequence[str], tmp_path: Path) -> None:
    try:
        faults = [
            f"{PAGE}:{block.line}: {fault}"
            for block in blocks(PAGE)
            if (fault := check(block, tmp_path, own_network))
        ]
    finally:
        for command in ("gcm-peer halt", "gcm-peer halt --supernode"):
            run_shown(command, tmp_path, own_network)
    assert not faults, "\n".join(faults)
