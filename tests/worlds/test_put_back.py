"""The patches that put known faults back still fit the code, and are about named faults."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.worlds.put_back import PATCHES, ROOT, apply

NAMES = {
    re.sub(r"\W+", "-", one["name"])
    for one in tomllib.loads(
        (Path(__file__).parent / "known_faults.toml").read_text(encoding="utf-8")
    )["fault"]
}


@pytest.mark.parametrize("patch", sorted(PATCHES.glob("*.patch")), ids=lambda one: one.stem)
def test_a_known_fault_can_be_put_back(patch: Path) -> None:
    assert patch.stem in NAMES
    apply(patch, ROOT, checks=True)
