"""Who wakes whom in native calls inside a cluster."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from runtime.mpi.collectives.rings import FEW, LARGE, Neighbours, children, parent
from runtime.mpi.progress.operations import NOTIFIED, POLLED, STEPS


class Book:
    """WakeUps that note who is woken."""

    def __init__(self, *, is_heard: bool = True) -> None:
        self.woken: list[int] = []
        self.is_heard = is_heard

    def reach(self, _indexes: object) -> bool:
        return self.is_heard

    def wake(self, index: int) -> None:
        self.woken.append(index)


def neighbours(position: int, book: Any) -> Neighbours:
    return Neighbours([10, 11, 12, 13, 14], position, book)


def over() -> MPI.Request:
    return MPI.REQUEST_NULL


@given(count=st.integers(1, 40))
def test_every_place_of_the_tree_is_rung_by_its_parent_once(count: int) -> None:
    found = {child: place for place in range(count) for child in children(place, count)}
    assert found == {place: parent(place) for place in range(1, count)}
    assert sum(len(children(place, count)) for place in range(count)) == count - 1


# the places of the tree begin at the root: of five with root 13, place 1 is 14, 2 is 10, 4 is 12
@pytest.mark.parametrize(("size", "woken"), [(8, [12, 10, 14]), (LARGE, [14, 10, 11, 12])])
def test_who_spreads_data_rings_the_next_ones_of_the_tree_or_all(
    size: int, woken: list[int]
) -> None:
    book = Book()
    step = neighbours(3, book).spread(over(), "a bcast", 3, size)
    assert book.woken == woken
    assert step.done


def test_who_passes_data_on_rings_when_it_is_there() -> None:
    book = Book()
    step = neighbours(2, book).spread(over(), "a bcast", 0, 8)
    assert (book.woken, step.urgency) == ([], NOTIFIED)
    assert step.test()
    assert book.woken == [13]


def test_values_are_announced_to_the_parent_in_the_tree() -> None:
    book = Book()
    neighbours(4, book).fold(over(), "a reduce", 0, 8)
    assert book.woken == [10]
    inner = neighbours(2, book).fold(over(), "a reduce", 0, 8)
    assert book.woken == [10]
    inner.test()
    assert book.woken == [10, 10]


def test_who_collects_is_rung_by_everybody_and_who_hands_out_rings_all() -> None:
    book = Book()
    assert neighbours(1, book).collect(over(), "a gather", 1, 8).urgency == NOTIFIED
    neighbours(0, book).collect(over(), "a gather", 1, 0)
    assert book.woken == [11]
    neighbours(1, book).hand_out(over(), "a scatter", 1, 0)
    assert book.woken == [11, 12, 13, 14, 10]


@pytest.mark.parametrize("book", [None, Book(is_heard=False)])
def test_without_bells_native_mpi_is_asked_often(book: Book | None) -> None:
    assert neighbours(1, book).spread(over(), "a bcast", 0, 8).urgency == POLLED


def test_large_data_is_asked_for_often() -> None:
    assert neighbours(1, Book()).spread(over(), "a bcast", 0, LARGE).urgency == POLLED
    assert neighbours(1, Book()).spread(over(), "a bcast", 0, LARGE - 1).urgency == NOTIFIED


def together(position: int, book: Any, count: int = 5) -> Neighbours:
    return Neighbours([10, 11, 12, 13, 14][:count], position, book, copies_at_once=True)


def test_on_one_machine_large_data_is_rung_for_and_whoever_sent_it_hears_that_it_came() -> None:
    book = Book()
    collecting = together(1, book).collect(over(), "a gather", 1, LARGE)
    assert (collecting.urgency, book.woken) == (NOTIFIED, [])
    assert collecting.test()
    assert book.woken == [12, 13, 14, 10]
    book.woken.clear()
    received = together(0, book).hand_out(over(), "a scatter", 1, LARGE)
    assert (received.urgency, book.woken) == (NOTIFIED, [])
    assert received.test()
    assert book.woken == [11]
    book.woken.clear()
    sent = together(0, book).collect(over(), "a gather", 1, 0)
    assert (sent.urgency, book.woken) == (NOTIFIED, [11])


def test_small_data_that_came_is_not_told_to_who_sent_it() -> None:
    book = Book()
    together(1, book).collect(over(), "a gather", 1, LARGE - 1).test()
    together(0, book).hand_out(over(), "a scatter", 1, LARGE - 1).test()
    assert book.woken == []


def test_only_on_one_machine_members_send_large_data_to_each_other() -> None:
    near = together(0, Book(), 2)
    assert (near.is_direct(LARGE), near.is_direct(LARGE - 1), near.is_small) == (True, False, True)
    apart = neighbours(0, Book())
    assert (apart.is_direct(LARGE), apart.is_small) == (False, False)
    book: Any = Book()
    many = Neighbours(range(FEW + 1), 0, book, copies_at_once=True)
    assert (many.is_direct(LARGE), many.is_small) == (True, False)


def test_who_collects_asks_for_the_messages_of_all_others_at_once() -> None:
    class Counted(MPI.Request):
        asked = 0

        def Test(self, status: MPI.Status | None = None) -> bool:
            self.asked += 1
            return super().Test(status)

    request = Counted(MPI.COMM_SELF.Irecv(bytearray(1), 0, 8))
    step = together(1, Book()).collect(request, "a gather", 1, 8)
    assert not step.test()
    assert request.asked == STEPS + 4
    sent = MPI.COMM_SELF.Isend(b"x", 0, 8)
    while not step.test():
        pass
    sent.Wait()
