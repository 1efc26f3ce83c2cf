"""Results are tried again as long as some come, and never without end."""

from __future__ import annotations

import pytest

from runtime.launchers.errors import ConnectionLost, FetchFailed, LauncherClosed, LaunchError
from runtime.launchers.fetching import STALL_TIMEOUT, Stalled
from runtime.results.retries import MOST_STALLS, RECONNECT_TIMEOUT, Retries


def test_stalls_without_anything_in_between_are_the_end() -> None:
    retries = Retries(0.0)
    over = [retries.is_over(Stalled(""), 0, STALL_TIMEOUT * n) for n in range(1, MOST_STALLS + 1)]
    assert over == [False] * (MOST_STALLS - 1) + [True]


def test_stalls_are_counted_anew_when_something_has_come() -> None:
    retries = Retries(0.0)
    assert not any(retries.is_over(Stalled(""), size, 60.0 * size) for size in range(1, 50))


def test_after_a_stall_there_is_all_the_time_to_reach_the_host_again() -> None:
    retries = Retries(0.0)
    assert not retries.is_over(Stalled(""), 0, STALL_TIMEOUT)
    assert not retries.is_over(ConnectionLost(""), 0, STALL_TIMEOUT + RECONNECT_TIMEOUT)
    assert retries.is_over(ConnectionLost(""), 0, STALL_TIMEOUT + RECONNECT_TIMEOUT + 1)


def test_a_host_is_tried_again_while_bytes_came_not_long_ago() -> None:
    retries = Retries(0.0)
    assert not retries.is_over(ConnectionLost(""), 1, 1000.0)
    assert not retries.is_over(ConnectionLost(""), 1, 1000.0 + RECONNECT_TIMEOUT)
    assert retries.is_over(ConnectionLost(""), 1, 1001.0 + RECONNECT_TIMEOUT)


@pytest.mark.parametrize("fault", [FetchFailed(""), LauncherClosed("")])
def test_what_will_not_change_is_not_tried_again(fault: LaunchError) -> None:
    assert Retries(0.0).is_over(fault, 1, 0.0)
