"""Faults of the machines of windows that worlds of windows find."""

from __future__ import annotations

import pytest

from runtime.testing.world.window_world import draw_windows, play_windows
from runtime.windows.locks import LockQueue
from runtime.windows.origin import WindowOrigin

SEEDS = range(24)


def _found_by(seeds: range) -> bool:
    return any(play_windows(draw_windows(seed)).failures for seed in seeds)


def test_a_lock_that_several_have_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LockQueue, "waits", lambda *_: False)
    assert _found_by(SEEDS)


def test_accesses_that_wait_for_a_lost_rank_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WindowOrigin, "lost", lambda *_: None)
    assert _found_by(SEEDS)
