"""The page about peers shows what happens, from the making of a lab to the end of its daemons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.documents import blocks, check, run_shown

PAGE = "docs/peers.md"


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
