"""Bells between ranks of one machine: who can ring whom, and what is heard."""

from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.wire.bells import Bells
from runtime.wire.directory import Directory, Party


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    """Two ranks of one machine, one of another, and one that listens at no Unix socket."""
    return Directory(
        (
            Party("0:0:0", "one", "m1", (f"unix:{tmp_path}/rank0",)),
            Party("0:0:1", "one", "m1", (f"unix:{tmp_path}/rank1",)),
            Party("0:1:0", "two", "m2", (f"unix:{tmp_path}/rank2",)),
            Party("0:1:1", "one", "m1", ("127.0.0.1:4711",)),
        )
    )


@pytest.fixture
def pair(directory: Directory) -> Iterator[tuple[Bells, Bells]]:
    first, second = Bells(0, directory), Bells(1, directory)
    yield first, second
    first.close()
    second.close()


def rings(bells: Bells) -> bool:
    return bool(select.select([bells.fileno()], [], [], 0)[0])


def test_a_ring_wakes_who_sleeps_at_the_bell(pair: tuple[Bells, Bells]) -> None:
    first, second = pair
    first.ring(1)
    assert rings(second)
    assert not rings(first)


def test_all_rings_are_forgotten_at_once(pair: tuple[Bells, Bells]) -> None:
    first, second = pair
    for _ in range(3):
        first.ring(1)
    assert second.heard() is True
    assert not rings(second)
    assert second.heard() is False


def test_only_ranks_of_this_machine_with_a_unix_socket_are_reached(
    pair: tuple[Bells, Bells],
) -> None:
    first, _ = pair
    assert first.reach([0, 1])
    assert not first.reach([0, 2])
    assert not first.reach([3])
    first.ring(2)
    first.ring(3)


def test_nobody_waits_for_a_rank_that_has_heard_enough(pair: tuple[Bells, Bells]) -> None:
    first, second = pair
    for _ in range(10_000):
        first.ring(1)
    assert first.reach([1])
    assert second.heard() is True


def test_a_rank_that_has_ended_is_rung_no_more(pair: tuple[Bells, Bells]) -> None:
    first, second = pair
    second.close()
    first.ring(1)
    assert not first.reach([1])


def test_a_closed_bell_is_silent_and_leaves_no_file(
    pair: tuple[Bells, Bells], tmp_path: Path
) -> None:
    first, second = pair
    first.close()
    first.ring(1)
    assert first.fileno() == -1
    assert first.heard() is False
    assert not rings(second)
    assert [file.name for file in tmp_path.iterdir()] == ["rank1.bell"]


def test_without_a_place_for_it_there_is_no_bell(directory: Directory) -> None:
    bells = Bells(3, directory)
    assert bells.fileno() == -1
    assert not bells.reach([0])
    bells.ring(0)


def test_the_bell_of_a_rank_that_was_here_before_is_replaced(
    directory: Directory, tmp_path: Path
) -> None:
    (tmp_path / "rank0.bell").touch()
    bells = Bells(0, directory)
    bells.ring(0)
    assert bells.heard() is True
    bells.close()
