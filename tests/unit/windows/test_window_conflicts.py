"""Accesses that conflict, and those that look like it."""

from __future__ import annotations

import pytest

from runtime.windows.conflicts import AccessLedger
from runtime.windows.requests import RequestHeader, RequestKind
from runtime.windows.runs import Run, block

PUT, GET, ADD = RequestKind.PUT, RequestKind.GET, RequestKind.ACCUMULATE
TAKE, SWAP = RequestKind.GET_ACCUMULATE, RequestKind.COMPARE_AND_SWAP


def note(
    ledger: AccessLedger, source: int, kind: int, at: int = 0, *, in_fence: bool = True
) -> None:
    header = RequestHeader(kind, operation=int(kind == GET and in_fence), start=at)
    ledger.note(source, header, [block(0, 8)])


@pytest.mark.parametrize(
    ("first", "second"),
    [(PUT, PUT), (PUT, GET), (GET, PUT), (PUT, ADD), (ADD, GET), (GET, ADD), (PUT, TAKE),
     (PUT, SWAP), (GET, SWAP)],
)  # fmt: skip
def test_two_processes_conflict_where_one_puts_or_reduces_what_the_other_reads(
    first: int, second: int
) -> None:
    ledger = AccessLedger()
    note(ledger, 1, first)
    note(ledger, 2, second, 4)
    (found,) = ledger.take(0)
    assert (found.first.source, found.second.source) == (1, 2)
    assert (found.low, found.high) == (4, 7)
    assert ledger.take(0) == []


@pytest.mark.parametrize(("first", "second"), [(GET, GET), (ADD, ADD), (ADD, TAKE), (ADD, SWAP)])
def test_reads_and_reductions_fit_each_other(first: int, second: int) -> None:
    ledger = AccessLedger()
    note(ledger, 1, first)
    note(ledger, 2, second)
    assert ledger.take(0) == []


def test_one_process_conflicts_with_itself_where_it_puts_and_its_reductions_are_in_order() -> None:
    ledger = AccessLedger()
    note(ledger, 1, ADD)
    note(ledger, 1, ADD)
    assert ledger.take(0) == []
    note(ledger, 1, PUT)
    assert len(ledger.take(0)) == 1


def test_a_flush_and_a_fence_lie_between_two_accesses() -> None:
    ledger = AccessLedger()
    note(ledger, 1, PUT)
    ledger.over([1])
    note(ledger, 2, PUT)
    ledger.fenced(0)
    note(ledger, 1, PUT)
    assert ledger.take(0) == []


def test_a_read_under_a_lock_may_be_over_though_nothing_was_flushed() -> None:
    ledger = AccessLedger()
    note(ledger, 1, GET, in_fence=False)
    note(ledger, 2, PUT)
    assert ledger.take(0) == []


def test_a_conflict_of_the_next_epoch_is_told_at_its_end() -> None:
    ledger = AccessLedger()
    for source in (1, 2):
        ledger.note(source, RequestHeader(PUT, epoch=1), [block(0, 8)])
    assert ledger.take(0) == []
    assert len(ledger.take(1)) == 1


def test_places_between_each_other_do_not_conflict() -> None:
    ledger = AccessLedger()
    ledger.note(1, RequestHeader(PUT), [Run(0, 4, 8, 10)])
    ledger.note(2, RequestHeader(PUT, start=4), [Run(0, 4, 8, 10)])
    assert ledger.take(0) == []
    ledger.note(3, RequestHeader(PUT, start=8), [Run(32, 2, 8, 2)])
    (found,) = ledger.take(0)
    assert (found.first.source, found.low, found.high) == (1, 40, 49)
