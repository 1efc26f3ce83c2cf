"""The patches that put known faults back still fit the code; harmless mutants are still some."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.worlds.put_back import PATCHES, ROOT, apply
from tools.mutants import find_mutants
from tools.mutate_worlds import harmless_mutants, known_as

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


def test_what_counts_as_harmless_is_a_mutant_of_the_present_code() -> None:
    named = harmless_mutants()
    there: set[str] = set()
    for file in {one.partition(": ")[0] for one in named}:
        source = (ROOT / file).read_text(encoding="utf-8")
        there |= {known_as(one, source) for one in find_mutants(source.encode(), file)}
    assert named <= there
