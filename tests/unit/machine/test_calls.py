"""Contracts become stubs and tables of methods, and a wrapper keeps the newest view."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from runtime.machine.calls import CallRefused, DispatchTable, Sometimes, operations, stub
from runtime.machine.clustering import Clustering, Round
from runtime.machine.contracts import CONTRACTS, Control, Routes, Views
from runtime.machine.table import decoded, encoded
from runtime.machine.wrapper import RankWrapper


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_stub_sends_every_operation_of_its_contract(contract: Any) -> None:
    sent: list[Any] = []
    made = stub(contract, lambda *call: sent.append(call))
    for operation in operations(contract):
        getattr(made, operation)(1, "two")
    assert sent == [(CONTRACTS[contract], one, (1, "two")) for one in operations(contract)]
    assert sent


def test_what_nobody_serves_is_refused() -> None:
    with pytest.raises(CallRefused, match=r"nothing here serves control\.explode"):
        DispatchTable().call("control", "explode")


def test_what_is_said_about_routes_before_anybody_listens_is_passed_on_later() -> None:
    dispatch, heard = DispatchTable(), []
    wrapper = RankWrapper("0:0:0", dispatch, lambda *_: None)
    dispatch.call("routes", "come", ("1:0:0",))
    wrapper.attach(stub(Routes, lambda *call: heard.append(call)))
    dispatch.call("routes", "try_again")
    assert [call[1:] for call in heard] == [("come", ("1:0:0",)), ("try_again", ())]


def test_a_round_ends_once_everybody_who_is_expected_has_told() -> None:
    one = Round[str]()
    one.report("b", "from b")
    assert one.take() is None
    one.expect(["a", "b"])
    assert (one.take(), one.missing) == (None, ["a"])
    one.report("x", "from a stranger")
    assert one.take() is None
    one.report("a", "from a")
    assert one.take() == {"a": "from a", "b": "from b"}
    assert one.take() is None


def test_a_round_that_expects_nobody_is_over_at_once() -> None:
    one = Round[str]()
    one.expect([])
    assert one.take() == {}


def test_who_joins_a_part_of_the_machine_late_is_told_of_with_all_others() -> None:
    told: list[str] = []
    site = Clustering("0", lambda reports: [*reports], seen=lambda table: told.append(_who(table)))
    site.expect(["0:0"])
    site.ready("0:0", [{"rank": "0:0:0"}])
    site.ready("0:1", [{"rank": "0:1:0"}])
    site.expect(["0:1"])
    assert told == ["0:0:0", "0:0:0 0:1:0"]


def _who(table: bytes) -> str:
    return " ".join(one["rank"] for one in decoded(table))


def test_a_table_holds_plain_data_only() -> None:
    assert decoded(encoded([{"rank": "0:0:0", "doors": ("m", ("a:1",))}])) == [
        {"rank": "0:0:0", "doors": ("m", ("a:1",))}
    ]
    with pytest.raises(pickle.UnpicklingError, match="plain data"):
        decoded(pickle.dumps([Control]))


class _Views:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def view(self, table: bytes) -> None:
        self.seen.append(table)


class _Losses:
    def lost(self, reports: list[object]) -> None:
        self.reports = reports


def test_a_contract_is_shared_among_those_that_own_what_it_changes() -> None:
    views, present = _Views(), [_Losses()]
    collected = Sometimes(lambda: None, "collected")
    lost = Sometimes(lambda: present[0] if present else None, "lost")
    dispatch = DispatchTable()
    dispatch.share(Views, views, lost, collected)
    dispatch.call("views", "view", (b"table",))
    dispatch.call("views", "lost", ([1],))
    dispatch.call("views", "collected", (1, 2))  # nobody is there
    last = present.pop()
    dispatch.call("views", "lost", ([2],))
    assert (views.seen, last.reports) == ([b"table"], [1])


@pytest.mark.parametrize("owners", [[], [_Views(), _Views()]], ids=["nobody", "two"])
def test_an_operation_that_nobody_or_two_have_is_a_fault_of_this_package(
    owners: list[object],
) -> None:
    rest = Sometimes(lambda: None, "lost", "collected")
    with pytest.raises(AssertionError, match="serve view"):
        DispatchTable().share(Views, rest, *owners)
