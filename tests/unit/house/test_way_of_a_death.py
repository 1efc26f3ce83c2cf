"""The way of a death in `docs/architecture.md` is that of the code: each station exists there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text(encoding="utf-8")
WAY = TEXT.partition("## How the death of a rank is told")[2].partition("\n## ")[0]
STATIONS = re.findall(r"`(runtime\.[\w.]+)`", WAY)


def test_the_way_begins_in_the_rank_and_ends_at_the_verdict() -> None:
    assert STATIONS[0] == "runtime.processes.rank.main.main"
    assert STATIONS[-1] == "runtime.lifecycle.failure_report.first_cause"


@pytest.mark.parametrize("station", STATIONS)
def test_each_station_exists(station: str) -> None:
    parts = station.split(".")
    at = next(n for n in range(len(parts), 0, -1) if _is_module(".".join(parts[:n])))
    found: object = import_module(".".join(parts[:at]))
    for name in parts[at:]:
        found = getattr(found, name)
    assert callable(found)


def _is_module(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True
