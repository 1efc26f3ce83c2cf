"""On which host a rank is started again: its own one while that lives, then a spare one."""

from __future__ import annotations

import pytest

from runtime.processes.front_end.cluster_ranks import NoSpareHost, RankHosts

HOSTS = (("a", 2), ("b", 1))
ONE, TWO = (("x", 2),), (("x", 1), ("y", 2))


@pytest.mark.parametrize(
    ("spares", "lost", "again", "found"),
    [
        ((), "", (0, 2), "ab"),
        (ONE, "", (0, 1, 2), "aab"),  # a spare host is for those whose own one is lost
        (ONE, "a", (0, 1, 2), "xxb"),
        (ONE, "b", (2, 2), "xx"),  # it stays where it is then
        (TWO, "a", (0, 1), "xy"),  # one that is full is passed over
        (TWO, "a", (1, 0), "xy"),  # whoever comes first
        (TWO, "ax", (0, 1), "yy"),
        (TWO, "ab", (2, 0, 1), "xyy"),
        (TWO, "abx", (0, 2, 1), "yy-"),
        (ONE, "ab", (0, 1, 2), "xx-"),
        (ONE, "bx", (2, 0), "-a"),
        ((), "a", (0, 1, 2), "--b"),
    ],
)
def test_a_rank_is_started_again_on_its_own_host_or_on_the_first_spare_one_with_room(
    spares: tuple[tuple[str, int], ...], lost: str, again: tuple[int, ...], found: str
) -> None:
    hosts = RankHosts(HOSTS, spares)
    for host in lost:
        hosts.lose(host)
    assert "".join(_placed(hosts, rank) for rank in again) == found


def _placed(hosts: RankHosts, rank: int) -> str:
    try:
        host = hosts.place_again(rank)
    except NoSpareHost:
        return "-"
    assert hosts.host_of(rank) == host
    return host


def test_spare_hosts_are_lost_one_after_the_other_and_never_used_again() -> None:
    hosts = RankHosts(HOSTS, (("x", 2), ("y", 2)))
    used = []
    for host in ("a", "x", "y"):
        hosts.lose(host)
        used.append([_placed(hosts, 0), _placed(hosts, 1)])
    assert used == [["x", "x"], ["y", "y"], ["-", "-"]]


def test_a_rank_that_leaves_a_full_spare_host_makes_room_for_another_one() -> None:
    hosts = RankHosts(HOSTS, (("x", 1), ("y", 1)))
    hosts.lose("b")
    assert _placed(hosts, 2) == "x"
    hosts.lose("x")
    assert _placed(hosts, 2) == "y"
    hosts.lose("a")
    assert _placed(hosts, 0) == "-"


@pytest.mark.parametrize(
    ("spares", "why"),
    [
        ((), "its host a is lost, and its cluster has no spare host"),
        (
            (("x", 1), ("y", 2)),
            "its host a is lost, and no spare host is left: x is full, y is lost",
        ),
    ],
)
def test_without_a_spare_host_the_error_says_why_and_what_to_do(
    spares: tuple[tuple[str, int], ...], why: str
) -> None:
    hosts = RankHosts(HOSTS, spares)
    for host in "aby":
        hosts.lose(host)
    _placed(hosts, 2)
    with pytest.raises(NoSpareHost) as raised:
        hosts.place_again(0)
    assert str(raised.value) == (
        f'{why}. Name spare hosts for its cluster: <nodes hosts="..." spare="yes"/>'
    )
