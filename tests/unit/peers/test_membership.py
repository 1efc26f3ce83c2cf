"""Who is in the lab: told in scripts, without sockets and with a clock that is handed in."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.peers.errors import PeerError
from runtime.peers.membership import (
    AT_ONCE,
    HostList,
    MemberState,
    MemberTable,
    OwnRow,
    Row,
    read_text,
    text_of,
)
from runtime.peers.model import Address, Member, MemberRole, PeerName, Share

EXPIRE = 90.0


def peer(number: int, port: int = 7700, role: MemberRole = MemberRole.PEER) -> Member:
    return Member(PeerName(f"h{number}"), (Address("10.0.0.1", port),), Share(), role)


def compare(one: MemberTable, other: MemberTable, now: float, *, later: float = 0.0) -> None:
    """Let two supernodes compare; the clock of the second one is `later` than the first one's."""
    names = one.identity[0], other.identity[0]
    other.compare(names[0], one.news(names[1], now), now + later)
    one.compare(names[1], other.news(names[0], now + later), now)


def living(table: MemberTable) -> set[str]:
    return {row.name for row in table.living}


def test_what_one_supernode_hears_all_others_know_after_comparing() -> None:
    one, two, three = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE), MemberTable("3", EXPIRE)
    one.take(Row(peer(1), 1, 1), 0, 0.0)
    three.take(Row(peer(3), 1, 1), 0, 0.0)
    compare(one, two, 1.0)
    compare(two, three, 2.0)
    compare(one, two, 3.0)
    assert living(one) == living(two) == living(three) == {"peer:h1", "peer:h3"}


def test_supernodes_that_know_the_same_tell_each_other_nothing() -> None:
    one, two = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    one.take(Row(peer(1), 1, 1), 0, 0.0)
    for now in (1.0, 2.0):
        compare(one, two, now)
    assert one.news("2", 3.0)["rows"] == two.news("1", 3.0)["rows"] == []


def test_who_is_silent_for_too_long_is_gone_everywhere_at_the_same_time() -> None:
    one, two = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    one.take(Row(peer(1), 1, 1), 0, 0.0)
    compare(one, two, EXPIRE - 1)
    assert living(two) == {"peer:h1"}
    assert [row.name for row in two.advance(EXPIRE + 1)] == ["peer:h1"]
    assert living(two) == set()


@pytest.mark.parametrize("apart", [-3600.0, 3600.0])
def test_clocks_that_are_an_hour_apart_do_not_matter(apart: float) -> None:
    one, two = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    one.take(Row(peer(1), 1, 1), 0, 10_000.0)
    compare(one, two, 10_050.0, later=apart)
    assert two.age("peer:h1", 10_050.0 + apart) == 50
    assert two.advance(10_080.0 + apart) == []
    assert [row.name for row in two.advance(10_091.0 + apart)] == ["peer:h1"]


def test_a_supernode_with_an_old_table_does_not_bring_back_the_dead() -> None:
    living_one, restored = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    for table in (living_one, restored):
        table.take(Row(peer(1), 1, 5), 0, 0.0)
    living_one.advance(EXPIRE + 1)
    # What was restored takes its rows for fresh: its clock has not moved meanwhile.
    restored.compare("1", living_one.news("2", EXPIRE + 2), 1.0)
    living_one.compare("2", restored.news("1", 1.0), EXPIRE + 2)
    assert living(living_one) == living(restored) == set()


def test_a_row_that_comes_too_late_is_not_taken() -> None:
    table = MemberTable("1", EXPIRE)
    assert not table.take(Row(peer(1), 1, 1), EXPIRE + 1, 0.0)
    assert living(table) == set()


def test_a_supernode_that_was_stopped_takes_nobody_for_gone_before_it_has_listened() -> None:
    table, went_on = MemberTable("1", EXPIRE), 10 * EXPIRE
    table.take(Row(peer(1), 1, 1), 0, 0.0)
    table.advance(1.0)
    for seconds in range(0, int(EXPIRE), 10):
        assert table.advance(went_on + seconds) == []
    assert [row.name for row in table.advance(went_on + EXPIRE)] == ["peer:h1"]


def test_who_was_taken_for_dead_is_back_with_its_next_signal() -> None:
    table = MemberTable("1", EXPIRE)
    table.take(Row(peer(1), 1, 1), 0, 0.0)
    table.advance(EXPIRE + 1)
    table.take(Row(peer(1), 1, 1), 0, EXPIRE + 2)  # on its way all the time
    assert living(table) == set()
    table.take(Row(peer(1), 1, 2), 0, EXPIRE + 3)
    assert living(table) == {"peer:h1"}


def test_who_leaves_in_order_is_gone_at_once() -> None:
    table, own = MemberTable("1", EXPIRE), OwnRow(peer(1))
    table.take(own.beat(), 0, 0.0)
    table.take(own.last(), 0, 1.0)
    assert living(table) == set()


def test_a_supernode_that_begins_anew_is_told_everything_again() -> None:
    one, two = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    one.take(Row(peer(1), 1, 1), 0, 0.0)
    for now in (1.0, 2.0):
        compare(one, two, now)
    again = MemberTable("2b", EXPIRE)
    for now in (3.0, 4.0):
        compare(one, again, now)
    assert living(again) == {"peer:h1"}


def test_a_table_that_is_larger_than_one_comparison_travels_in_several() -> None:
    one, two = MemberTable("1", EXPIRE), MemberTable("2", EXPIRE)
    for number in range(AT_ONCE + 10):
        one.take(Row(peer(number), 1, 1), 0, 0.0)
    compare(one, two, 1.0)
    assert len(two.living) == AT_ONCE
    for now in (2.0, 3.0):
        compare(one, two, now)
    assert living(two) == living(one)


def test_the_dead_are_forgotten_in_the_end() -> None:
    table = MemberTable("1", EXPIRE)
    table.take(Row(peer(1), 1, 1), 0, 0.0)
    table.advance(EXPIRE + 1)
    table.advance(100 * EXPIRE)
    assert table.known("peer:h1") is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("beat"), st.integers(0, 4), st.integers(0, 2)),
        st.tuples(st.just("compare"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("lose"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("restart"), st.integers(0, 2), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_supernodes_agree_in_the_end_whatever_is_lost_and_restarted(steps: Sequence[Any]) -> None:
    tables = [MemberTable(f"{number}.0", EXPIRE) for number in range(3)]
    owns = [OwnRow(peer(number)) for number in range(5)]
    last: dict[str, Row] = {}

    def beat(number: int, at: int) -> None:
        row = owns[number].beat()
        last[row.name] = row
        tables[at].take(row, 0, 0.0)

    for life, (step, one, other) in enumerate(steps, 1):
        match step:
            case "beat":
                beat(one, other)
            case "compare" if one != other:
                compare(tables[one], tables[other], 0.0)
            case "lose" if one != other:  # what is told arrives, the answer does not
                news = tables[one].news(str(other), 0.0)
                tables[other].compare(str(one), news, 0.0)
                tables[other].news(str(one), 0.0)
            case "restart":
                tables[one] = MemberTable(f"{one}.{life}", EXPIRE)
    for number in range(5):
        beat(number, number % 3)
    for _ in range(3):
        for one, other in ((0, 1), (1, 2), (0, 2)):
            compare(tables[one], tables[other], 0.0)
    for table in tables:
        assert {row.name: row for row in table.living} == last


@pytest.mark.parametrize(
    "news",
    [None, {}, {"table": "x", "begin": 0, "end": 0, "rows": [], "taken": []},
     {"table": "x", "begin": 0, "end": 0, "rows": [[]], "taken": ["", 0]},
     {"table": "x", "begin": 0, "end": 0, "rows": [None] * (AT_ONCE + 1), "taken": ["", 0]},
     {"table": "x", "begin": 0, "end": 0, "rows": [], "taken": [1, 0]}],
)  # fmt: skip
def test_what_is_no_news_is_refused_and_changes_nothing(news: Any) -> None:
    table = MemberTable("1", EXPIRE)
    with pytest.raises(PeerError):
        table.compare("2", news, 0.0)
    assert table.living == []


# --- the row of a member itself -----------------------------------------------------------------


def test_a_member_that_lost_its_memory_goes_on_above_what_is_known() -> None:
    table, own = MemberTable("1", EXPIRE), OwnRow(peer(1, 7701), 1)
    table.take(Row(peer(1), 7, 3), 0, 0.0)
    assert not table.take(own.beat(), 0, 1.0)
    known = table.known("peer:h1")
    assert known is not None
    assert own.take(known) == ""
    assert table.take(own.beat(), 0, 2.0)
    assert table.living[0].peer == peer(1, 7701)


def test_a_credential_that_two_use_is_told_with_the_address_of_the_other() -> None:
    table, owns = MemberTable("1", EXPIRE), (OwnRow(peer(1, 1)), OwnRow(peer(1, 2)))
    told = []
    for _ in range(3):
        for own in owns:
            if not table.take(own.beat(), 0, 0.0):
                known = table.known("peer:h1")
                assert known is not None
                told.append(own.take(known))
                table.take(own.beat(), 0, 0.0)
    for number in (1, 2):
        text = f"somebody else uses the credential of peer:h1 too, at 10.0.0.1:{number}"
        assert any(one.startswith(f"{text}: invite each machine by a name") for one in told)


# --- the list of a peer -------------------------------------------------------------------------


def rows(*numbers: int) -> list[Row]:
    return [Row(peer(number), 1, 1) for number in numbers]


def names(hosts: HostList, now: float = 0.0) -> list[str]:
    return sorted(one.name for one in hosts.candidates(now))


def test_a_peer_keeps_its_hosts_while_supernodes_know_only_some() -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn(rows(0, 1, 2), is_complete=True)
    hosts.learn(rows(3), is_complete=False)
    assert names(hosts) == ["h1", "h2", "h3"]
    hosts.learn(rows(3), is_complete=True)
    assert names(hosts) == ["h3"]


def test_a_list_does_not_grow_above_its_limit() -> None:
    hosts = HostList("peer:h0", 3)
    hosts.learn(rows(1, 2, 3), is_complete=False)
    hosts.learn(rows(4, 5), is_complete=False)
    assert len(hosts) == 3
    assert {"h4", "h5"} <= set(names(hosts))


def test_a_silent_host_is_left_alone_for_longer_each_time() -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn(rows(1), is_complete=True)
    for begin, end in ((0.0, 15.0), (20.0, 50.0)):
        hosts.was_silent("peer:h1", begin)
        assert (names(hosts, end - 1), names(hosts, end)) == ([], ["h1"])
    hosts.was_silent("peer:h1", 60.0)
    hosts.answered("peer:h1")
    assert names(hosts, 61.0) == ["h1"]


def test_a_silent_host_that_began_anew_is_asked_at_once() -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn(rows(1), is_complete=True)
    hosts.was_silent("peer:h1", 0.0)
    hosts.learn([Row(peer(1), 1, 2)], is_complete=True)
    assert names(hosts) == []
    hosts.learn([Row(peer(1), 2, 1)], is_complete=True)
    assert names(hosts) == ["h1"]


def test_a_peer_remembers_supernodes_that_it_has_heard_of() -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn([Row(peer(9, role=MemberRole.SUPERNODE), 1, 1), *rows(1)], is_complete=True)
    assert [str(one.principal) for one in hosts.supernodes] == ["supernode:h9"]
    assert names(hosts) == ["h1"]


def test_what_is_on_disk_is_read_back() -> None:
    hosts, again = HostList("peer:h0", 10), HostList("peer:h0", 10)
    hosts.learn(rows(1, 2), is_complete=True)
    found, incarnation = read_text(text_of(hosts, 7))
    again.learn(found, is_complete=False)
    assert (names(again), incarnation) == (["h1", "h2"], 7)


@given(st.data())
def test_a_damaged_file_is_told_and_never_crashes(data: st.DataObject) -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn(rows(1, 2), is_complete=True)
    text = text_of(hosts, 7)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from(["", "x", "]", '"', "-", "[" * 2000]))
    if data.draw(st.booleans()):
        damaged += text[at + 1 :]
    with contextlib.suppress(PeerError):
        found, incarnation = read_text(damaged)
        assert incarnation >= 0
        assert len(found) <= 2


def test_a_row_that_is_gone_says_so_in_its_plain_form() -> None:
    row = Row(peer(1), 3, 4, MemberState.GONE)
    assert Row.of(row.plain(1.5)) == (row, 1.5)


def test_what_a_peer_says_of_another_one_hides_nothing_that_others_know() -> None:
    hosts = HostList("peer:h0", 10)
    hosts.learn(rows(1), is_complete=True)
    lies = [
        Row(Member(PeerName(one), (Address("10.6.6.6", 1),)), 1 << 50, 9) for one in ("h1", "h2")
    ]
    hosts.learn_from_peer(lies)
    found = {str(one.name): one.addresses[0].host for one in hosts.candidates(0.0)}
    assert found == {"h1": peer(1).addresses[0].host, "h2": "10.6.6.6"}
    hosts.learn(rows(2), is_complete=False)
    assert hosts.find("peer:h2") == peer(2)
