"""Clustering components: reports go up as one, and the view comes down as it is."""

from __future__ import annotations

from typing import Any

from runtime.machine.calls import stub
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


def test_who_has_no_members_below_reports_what_it_knows_itself() -> None:
    sent: list[Any] = []
    seen: list[Any] = []
    idle = Clustering("0:0", lambda _: [{"rank": "0:0:0"}], seen.append)
    idle.membership_up = stub(Membership, lambda *call: sent.append(call))
    idle.expect([])
    assert sent == [("membership", "ready", ("0:0", [{"rank": "0:0:0"}]))]
    idle.view(encoded([]))
    assert seen == [encoded([])]
