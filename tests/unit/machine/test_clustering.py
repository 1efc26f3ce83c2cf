"""Clustering components: reports go up as one, and the view comes down as it is."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.machine import clustering
from runtime.machine.calls import CallRefused, stub
from runtime.machine.clustering import Clustering
from runtime.machine.contracts import Facts, Membership, Views
from runtime.machine.table import decoded, encoded


class Part:
    """A clustering component, and what it does."""

    def __init__(self, identifier: str, *, is_top: bool = False) -> None:
        self.calls: list[Any] = []
        self.made = Clustering(identifier, self.gathered)
        self.made.views_down = stub(Views, lambda *call: self.calls.append(call))
        if not is_top:
            self.made.membership_up = stub(Membership, lambda *call: self.calls.append(call))

    def gathered(self, found: list[Facts]) -> list[Facts]:
        self.calls.append("gathered")
        return found


def test_the_top_tells_everybody_who_is_where_once_all_have_told() -> None:
    top = Part("", is_top=True)
    top.made.ready("1", [{"rank": "1:0:0"}])
    top.made.expect(["0", "1"])
    assert (top.calls, top.made.missing) == ([], ["0"])
    top.made.ready("0", [{"rank": "0:0:0"}])
    gathered, (interface, operation, (table,)) = top.calls
    assert (gathered, interface, operation) == ("gathered", "views", "view")
    assert decoded(table) == [{"rank": "0:0:0"}, {"rank": "1:0:0"}]


def test_one_below_passes_reports_up_as_one_and_the_view_down_unopened() -> None:
    site = Part("1")
    site.made.expect(["1:0", "1:1"])
    site.made.ready("1:0", [{"rank": "1:0:0"}])
    site.made.ready("1:1", [{"rank": "1:1:0"}])
    together = [{"rank": "1:0:0"}, {"rank": "1:1:0"}]
    assert site.calls == ["gathered", ("membership", "ready", ("1", together))]
    site.made.view(b"not to be opened")
    assert site.calls[2:] == [("views", "view", (b"not to be opened",))]


def test_members_that_join_at_once_are_told_together_without_one_that_is_lost() -> None:
    top = Part("", is_top=True)
    top.made.expect(["0"])
    top.made.ready("0", [{"rank": "0:0:0"}])
    top.calls.clear()
    for late in "123":
        top.made.expect([late])
    for late in "12":
        top.made.ready(late, [{"rank": f"{late}:0:0"}])
    assert (top.calls, top.made.missing) == ([], ["3"])
    top.made.forget("3")
    _, (_, _, (table,)) = top.calls
    assert [one["rank"] for one in decoded(table)] == ["0:0:0", "1:0:0", "2:0:0"]
    top.made.forget("2")  # it has joined
    assert len(top.calls) == 2


def test_who_has_no_members_below_reports_what_it_knows_itself() -> None:
    sent: list[Any] = []
    seen: list[Any] = []
    idle = Clustering("0:0", lambda _: [{"rank": "0:0:0"}], seen.append)
    idle.membership_up = stub(Membership, lambda *call: sent.append(call))
    idle.expect([])
    assert sent == [("membership", "ready", ("0:0", [{"rank": "0:0:0"}]))]
    idle.view(encoded([]))
    assert seen == [encoded([])]


GROUP = ["0:0:0", "1:0:0", "1:0:1", "1:1:0"]


def test_contributions_are_merged_in_order_and_go_up_as_one() -> None:
    site = Part("1")
    site.made.contribute("1:1", "call", ("join", ""), GROUP, b"c")
    assert site.calls == []
    site.made.contribute("1:0", "call", ("join", ""), GROUP, b"ab")
    assert site.calls == [
        ("membership", "contribute", ("1", "call", ("join", ""), GROUP, b"abc")),
    ]


@pytest.mark.parametrize(("to", "members"), [("", ["1:0", "1:1"]), ("1:1:0", ["1:1"])])
def test_a_result_turns_round_where_all_members_are_below(to: str, members: list[str]) -> None:
    site, came = Part("1"), []
    for member in ("1:0", "1:1", "1:2"):
        site.made.branches[member] = stub(Views, lambda *call, by=member: came.append((by, call)))
    group = GROUP[1:]
    site.made.contribute("1:0", "call", ("sum b", to), group, b"\1\2")
    site.made.contribute("1:1", "call", ("sum b", to), group, b"\3\4")
    told = {one: b"\4\6" if one in members else b"" for one in ("1:0", "1:1")}
    results = [(one, ("views", "collected", ("call", to, group, told[one]))) for one in told]
    assert (came, site.calls) == (results, [])


@pytest.mark.parametrize(
    ("member", "data", "why"),
    [("1:2", b"", "cannot take them"), ("1:0", 5, "is no contribution")],
)
def test_what_is_no_contribution_is_refused(member: str, data: Any, why: str) -> None:
    site = Part("1")
    site.made.contribute("1:1", "call", ("join", ""), GROUP, bytes(9))
    with pytest.raises(CallRefused) as refused:
        site.made.contribute(member, "call", ("join", ""), GROUP, data)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "given", "why"),
    [
        ("sum d", (bytes(8), bytes(9)), "[9, 8] bytes cannot be reduced by sum d"),
        ("sum q ", (bytes(8), bytes(8)), "there is no rule 'sum q '"),
        ("join", (b"ab", "there is no room"), "there is no room"),
        ("join", ("there is no room", b"ab"), "there is no room"),
        ("join", (bytes(17), b"ab"), clustering._FULL),
    ],
)
def test_what_cannot_be_merged_fails_at_all_ranks_once_all_have_begun_the_call(
    monkeypatch: pytest.MonkeyPatch, rule: str, given: tuple[Any, Any], why: str
) -> None:
    monkeypatch.setattr(clustering, "MOST_GIVEN", 16)
    site, grid, came = Part("1"), Part("", is_top=True), []
    for rank in "01":
        grid.made.branches[rank] = stub(Views, lambda *call, by=rank: came.append((by, call[2])))
    how = rule, "0:0:0"
    for member, data in zip(("1:1", "1:0"), given, strict=True):
        assert site.calls == []
        site.made.contribute(member, "air#1:call", how, GROUP, data)
    [(_, _, up)] = site.calls
    assert up == ("1", "air#1:call", how, GROUP, why)
    grid.made.contribute(*up)
    assert came == []
    grid.made.contribute("0", "air#1:call", how, GROUP, b"c")
    assert came == [(rank, ("air#1:call", "0:0:0", GROUP, why)) for rank in "01"]


def test_only_what_waits_for_others_counts_and_room_is_made_by_what_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clustering, "MOST_GIVEN", 16)
    site = Part("1")
    for call in ("air#1:a", "air#1:b"):
        site.made.contribute("1:0", call, ("join", ""), GROUP, bytes(8))
    for call in ("air#1:a", "air#1:b", "air#1:c", "air#1:d"):
        site.made.contribute("1:1", call, ("join", ""), GROUP, bytes(8))
    for call in ("air#1:c", "air#1:d"):
        site.made.contribute("1:0", call, ("join", ""), GROUP, bytes(8))
    assert [call[2][4] for call in site.calls] == [bytes(16)] * 4


@pytest.mark.parametrize(
    ("before", "now", "joined"),
    [
        ("air#1:call", "air#2:call", b"cd"),
        ("air#1:other", "air#2:call", b"cd"),
        ("sea#1:call", "air#2:call", clustering._FULL),
        ("air2#1:call", "air#2:call", clustering._FULL),
        ("air#1:other", "air#1:call", clustering._FULL),
    ],
)
def test_a_code_that_is_started_again_does_not_meet_what_it_had_given_before(
    monkeypatch: pytest.MonkeyPatch, before: str, now: str, joined: bytes | str
) -> None:
    monkeypatch.setattr(clustering, "MOST_GIVEN", 16)
    site = Part("1")
    site.made.contribute("1:0", before, ("join", ""), GROUP, bytes(16))
    site.made.contribute("1:1", now, ("join", ""), GROUP, b"d")
    assert site.calls == []
    site.made.contribute("1:0", now, ("join", ""), GROUP, b"c")
    assert [call[2][4] for call in site.calls] == [joined]


def test_what_comes_late_of_a_former_incarnation_is_refused() -> None:
    site = Part("1")
    site.made.contribute("1:0", "air#2:call", ("join", ""), GROUP, b"c")
    with pytest.raises(CallRefused, match="cannot take them"):
        site.made.contribute("1:1", "air#1:call", ("join", ""), GROUP, b"d")
    site.made.contribute("1:1", "sea#1:call", ("join", ""), GROUP, b"d")


def test_only_the_root_among_the_ranks_of_a_cluster_gets_what_is_for_it() -> None:
    cluster, came = Part("1:0"), []
    for rank in GROUP[1:3]:
        cluster.made.branches[rank] = stub(Views, lambda *call, by=rank: came.append((by, call[2])))
    cluster.made.collected("call", "1:0:1", GROUP, b"abc")
    told = "call", "1:0:1", GROUP
    assert came == [("1:0:0", (*told, b"")), ("1:0:1", (*told, b"abc"))]
