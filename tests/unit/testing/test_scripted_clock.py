from __future__ import annotations

import pytest

from gcm.testing import ScriptedClock


def test_time_passes_only_when_the_test_says_so() -> None:
    clock = ScriptedClock(100.0)
    assert clock() == clock() == 100.0
    clock.advance(2.5)
    assert clock() == 102.5


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        ScriptedClock().advance(-1)
