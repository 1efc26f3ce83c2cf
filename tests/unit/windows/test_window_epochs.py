"""Which calls fit which epoch of a window."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.windows.epochs import Epoch, WindowEpochs, WrongEpoch


def fenced() -> WindowEpochs:
    epochs = WindowEpochs()
    epochs.fence(succeeds=True)
    return epochs


def test_a_fence_allows_accesses_until_one_that_nothing_succeeds() -> None:
    epochs = fenced()
    epochs.check_access(3)
    epochs.fence(succeeds=False)
    with pytest.raises(WrongEpoch, match="there is no epoch: call Fence, Start, Lock"):
        epochs.check_access(3)


def test_a_fence_without_accesses_can_be_followed_by_a_lock_but_not_one_with() -> None:
    epochs = fenced()
    epochs.lock(1)
    epochs.unlock(1)
    epochs = fenced()
    epochs.check_access(0)
    with pytest.raises(WrongEpoch, match="the epoch of a fence already"):
        epochs.lock(1)


def test_only_locked_ranks_are_accessed() -> None:
    epochs = WindowEpochs()
    epochs.lock(1)
    epochs.lock(2)
    epochs.check_access(2, requested=True)
    with pytest.raises(WrongEpoch, match="rank 3 is not locked, but ranks 1, 2"):
        epochs.check_access(3)
    with pytest.raises(WrongEpoch, match="rank 1 is locked already"):
        epochs.lock(1)
    epochs.unlock(1)
    epochs.unlock(2)
    assert epochs.access is Epoch.NONE


def test_accesses_with_requests_need_a_lock() -> None:
    with pytest.raises(WrongEpoch, match="needs Lock or Lock_all before"):
        fenced().check_access(0, requested=True)


def test_groups_are_accessed_between_start_and_complete() -> None:
    epochs = WindowEpochs()
    epochs.start([1, 2])
    epochs.check_access(1)
    with pytest.raises(WrongEpoch, match="Start has named ranks 1, 2, not rank 0"):
        epochs.check_access(0)
    assert epochs.complete() == {1, 2}


def lock_one(epochs: WindowEpochs) -> None:
    epochs.lock(4)


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        (lock_one, "rank 4 is still locked: call Unlock before"),
        (WindowEpochs.lock_all, "all ranks are still locked"),
        (lambda epochs: epochs.start([1]), "call Complete before"),
        (lambda epochs: epochs.post([1]), "call Wait before"),
    ],
)
def test_an_open_epoch_is_named_where_the_window_is_freed(
    begin: Callable[[WindowEpochs], None], told: str
) -> None:
    epochs = WindowEpochs()
    begin(epochs)
    with pytest.raises(WrongEpoch, match=told):
        epochs.check_free()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (WindowEpochs.complete, "Start was not called"),
        (WindowEpochs.wait, "Post was not called"),
        (WindowEpochs.unlock_all, "Lock_all was not called"),
        (lambda epochs: epochs.unlock(2), "rank 2 is not locked by Lock"),
        (lambda epochs: epochs.check_locked(2), "nothing is locked"),
    ],
)
def test_an_end_without_a_beginning_is_refused(
    call: Callable[[WindowEpochs], object], told: str
) -> None:
    with pytest.raises(WrongEpoch, match=told):
        call(WindowEpochs())
