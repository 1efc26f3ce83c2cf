"""The example that puts classes of its own between sites shows what they do."""

from __future__ import annotations

import re

import pytest

from tests.examples.runs import deploy

pytestmark = pytest.mark.mpi


def sizes(said: str) -> dict[str, int]:
    """Return the bytes of the broadcast by the sites they went between, such as "01"."""
    found = re.findall(r"site (\d) to site (\d): (\d+) bytes for 1000000", said)
    return {source + target: int(size) for source, target, size in found}


def test_a_class_compresses_what_goes_between_sites_and_another_lets_it_go_in_a_row() -> None:
    found = sizes(deploy("between-sites"))
    assert found.keys() == {"01", "12"}
    assert all(1000 <= size < 20_000 for size in found.values())


def test_a_class_delays_what_goes_between_sites_and_another_chooses_the_tree() -> None:
    said = deploy("between-sites", "--set", "what=Delay", "--set", "plan=Tree")
    found = sizes(said)
    assert found.keys() == {"01", "02"}
    assert set(found.values()) == {1_000_000}
    assert said.endswith("it took more than 0.1 s\n")
