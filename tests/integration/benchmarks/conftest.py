"""Skips what needs an emulated grid where this machine cannot make one."""

from __future__ import annotations

import pytest

from benchmarks.grid import missing


@pytest.fixture(scope="module")
def emulation() -> None:
    """Skip, with the reason, where there can be no emulated grid."""
    if lacking := missing():
        pytest.skip(lacking)
