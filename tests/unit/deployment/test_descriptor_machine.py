"""The machine that a correct descriptor describes, with defaults and inheritance."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.deployment.model import FrontEnd, Mpi, SshHop
from runtime.topology.tree import Node, Reachability


def test_an_emulated_machine_has_numbered_names_and_equal_clusters(read: Any) -> None:
    found = read.body('<emulate sites="2" clusters="3" ranks="5" nodes="2"/>').good
    assert [cluster.path for cluster in found.clusters()] == [
        f"site{site}/cluster{cluster}" for site in range(2) for cluster in range(3)
    ]
    assert {cluster.nodes for cluster in found.clusters()} == {
        (Node("node0", "localhost", 3), Node("node1", "localhost", 2))
    }
    assert found.grid().size == 30
    assert [cluster.identifier for cluster in found.clusters()][3] == "1:0"


def test_an_emulated_machine_needs_no_numbers_and_takes_an_mpi(read: Any) -> None:
    found = read.body('<emulate><mpi flavour="openmpi" command-path="mpirun"/></emulate>').good
    (cluster,) = found.clusters()
    assert cluster.mpi == Mpi("mpirun", "openmpi")
    assert (cluster.ranks, cluster.is_local) == (2, True)
    assert cluster.front_end == FrontEnd("127.0.0.1", python="/usr/bin/python3")


def test_names_of_sites_and_clusters_default_to_their_positions(read: Any) -> None:
    found = read.body(
        '<grid><site name="a"><cluster/><cluster name="x"/></site><site><cluster/></site></grid>'
    ).good
    assert [one.path for one in found.clusters()] == ["a/cluster0", "a/x", "site1/cluster0"]


def test_the_nearest_mpi_that_writes_an_attribute_wins(read: Any) -> None:
    found = read.body(
        '<grid><mpi ranks="4" flavour="mpich" options="-a"/><site><mpi options="-b -c"/>'
        '<cluster><mpi ranks="3" command-path="m"/></cluster><cluster/></site></grid>'
    ).good
    first, second = found.clusters()
    assert first.mpi == Mpi("m", "mpich", 3, ("-b", "-c"))
    assert second.mpi == Mpi("mpiexec", "mpich", 4, ("-b", "-c"))


def test_the_hops_of_a_site_come_before_those_of_its_cluster(read: Any) -> None:
    found = read.body(
        '<grid><site><ssh host="gate" port="2222" user="me" key="keys/id" options="-4 -C"/>'
        '<cluster><ssh host="front" known-hosts="~/hosts" command-path="/opt/ssh"/></cluster>'
        "</site></grid>"
    ).good
    (cluster,) = found.clusters()
    assert cluster.hops == (
        SshHop("gate", 2222, "me", "/home/me/grid/keys/id", "", ("-4", "-C"), "ssh"),
        SshHop("front", None, "", "", "~/hosts", (), "/opt/ssh"),
    )
    assert cluster.front_end == FrontEnd("front", python="python3")
    assert cluster.nodes == (Node("front", "front", 1),)
    assert [hop.destination for hop in cluster.hops] == ["me@gate", "front"]


def test_a_front_end_says_where_it_listens_and_works(read: Any) -> None:
    found = read.body(
        '<grid><site><cluster><ssh host="h"/><front-end address="h.example" port="7000" '
        'python="python3.12" folder="/scratch/x"/></cluster></site></grid>'
    ).good
    (cluster,) = found.clusters()
    assert cluster.front_end == FrontEnd("h.example", 7000, "python3.12", "/scratch/x")


def reachabilities(read: Any, grid: str) -> list[Reachability]:
    return [one.reachability for one in read.body(f"<grid>{grid}</grid>").good.clusters()]


def test_a_machine_behind_two_hops_is_taken_to_connect_outwards_only(read: Any) -> None:
    one, two = '<ssh host="a"/>', '<ssh host="a"/><ssh host="b"/>'
    text = f"<site><cluster>{one}</cluster><cluster>{two}</cluster></site>"
    assert reachabilities(read, text) == [Reachability.DIRECT, Reachability.OUTWARDS]


def test_a_cluster_here_beside_others_elsewhere_connects_outwards_without_address(
    read: Any,
) -> None:
    remote = '<site><cluster><ssh host="a"/></cluster></site>'
    unnamed = f"{remote}<site><cluster/></site>"
    named = f'{remote}<site><cluster><front-end address="me.example"/></cluster></site>'
    assert reachabilities(read, unnamed)[1] is Reachability.OUTWARDS
    assert reachabilities(read, named)[1] is Reachability.DIRECT


def test_what_the_descriptor_says_about_reachability_is_not_guessed(read: Any) -> None:
    text = (
        '<site><ssh host="a"/><cluster reachability="direct"><ssh host="b"/></cluster>'
        '<cluster reachability="front-end"/></site>'
    )
    assert reachabilities(read, text) == [Reachability.DIRECT, Reachability.FRONT_END]


def test_nodes_have_names_hosts_and_slots(read: Any) -> None:
    found = read.body(
        '<grid><site><cluster><ssh host="h"/><mpi ranks="7"/>'
        '<nodes hosts="n[08-09]" slots="3"/><nodes names="x" hosts="big" slots="4"/>'
        "</cluster><cluster>"
        '<nodes names="v[0-1]" hosts="localhost"/><nodes names="w"/></cluster></site></grid>'
    ).good
    first, second = found.clusters()
    assert first.nodes == (Node("n08", "n08", 3), Node("n09", "n09", 3), Node("x", "big", 1))
    assert second.nodes == tuple(Node(name, "localhost", 1) for name in ("v0", "v1", "w"))


def test_leaders_are_the_first_unless_the_descriptor_says_otherwise(read: Any) -> None:
    plain = '<grid{}><site name="a"{}><cluster name="x"/><cluster name="y"/></site><site/></grid>'
    plain = plain.replace("<site/>", '<site name="b"><cluster/></site>')
    first = read.body(plain.format("", "")).good
    assert (first.leader, [site.leader for site in first.sites]) == (0, [0, 0])
    other = read.body(plain.format(' front-end="b"', ' front-end="y"')).good
    assert (other.leader, [site.leader for site in other.sites]) == (1, [1, 0])


def test_only_clusters_with_an_application_have_ranks(read: Any) -> None:
    found = read(
        '<deployment><emulate clusters="2" ranks="3"/>'
        '<application script="a" clusters="site0/cluster1"/></deployment>'
    ).good
    assert [one.ranks for one in found.clusters()] == [0, 3]
    assert [one.application for one in found.clusters()] == ["", "application"]
    assert [one.size for _, _, one in found.grid().clusters()] == [0, 3]


def test_a_hidden_leader_of_a_lonely_cluster_is_no_reason_to_warn(read: Any) -> None:
    text = '<grid><site><cluster reachability="outwards"/></site></grid>'
    assert read.body(text).found == ()
    second = '<site><cluster reachability="outwards"/></site>'
    assert read.body(f"<grid><site><cluster/></site>{second}</grid>").found == ()


OUTWARDS = '<cluster name="{}" reachability="outwards"/>'


def test_clusters_that_only_connect_outwards_have_tunnels_unless_another_one_relays(
    read: Any,
) -> None:
    apart = "".join(map(OUTWARDS.format, "abcdef"))
    alone = read.body(f"<grid><site name='s'>{apart}</site></grid>").good
    assert [one.name for one in alone.tunnelled()] == list("abcdef")
    for relay in ("direct", "front-end"):
        there = f'<cluster reachability="{relay}"/>'
        assert read.body(f"<grid><site>{apart}{there}</site></grid>").good.tunnelled() == []


def test_a_cluster_that_relays_between_others_is_not_idle(read: Any) -> None:
    def found(relay: str, others: str) -> list[str]:
        clusters = "".join(map(OUTWARDS.format, others))
        named = " ".join(f"s/{one}" for one in others)
        text = (
            f'<deployment><application script="a" clusters="{named}"/><grid><site name="s">'
            f'{clusters}<cluster name="z" reachability="{relay}"/></site></grid></deployment>'
        )
        return [code for code, _ in read(text).codes]

    assert found("direct", "ab") == found("front-end", "ab") == []
    assert found("direct", "a") == found("outwards", "ab") == ["idle-cluster"]


def test_behind_a_launcher_there_is_no_tunnel(read: Any) -> None:
    launcher = '<launcher class="mine.Own"/>'
    apart = "".join(OUTWARDS.format(name).replace("/>", f">{launcher}</cluster>") for name in "ab")
    (fault,) = read.body(f"<grid><site name='s'>{apart}</site></grid>").found
    assert fault.code == "no-route"
    assert fault.message == (
        "no message gets from one to another of s/a, s/b: none of these clusters can connect to "
        "another one, and behind a <launcher> or on peers there is no tunnel"
    )
    assert "it needs no ranks" in fault.hint


def test_an_option_that_a_connection_cannot_have_is_a_fault_with_its_place(read: Any) -> None:
    (fault,) = read.body(
        '<grid><site><cluster>\n<ssh host="h" options="-4 -o RequestTTY=yes"/>'
        "</cluster></site></grid>"
    ).found
    assert fault.code == "bad-ssh-option"
    assert fault.message.startswith(
        'options="-4 -o RequestTTY=yes" of <ssh> cannot be used: RequestTTY '
    )
    assert fault.location.line == 3


def spare_hosts(read: Any, cluster: str) -> list[tuple[str, int]]:
    (found,) = read(
        '<deployment><application script="a.py" recovery="rebuild"/>'
        f"<grid><site><cluster>{cluster}</cluster></site></grid></deployment>"
    ).good.clusters()
    spares = [(one.host, one.places) for one in found.spares]
    ranks = {node.host: node.ranks for node in found.nodes}
    assert not any(ranks[host] for host, _ in spares)
    return spares


@pytest.mark.parametrize(
    ("cluster", "spares"),
    [
        ('<nodes hosts="n[1-3]"/>', []),
        ('<mpi ranks="2"/><nodes hosts="n[1-4]"/>', [("n3", 1), ("n4", 1)]),
        ('<mpi ranks="5"/><nodes hosts="n[1-3]" slots="4"/>', [("n3", 4)]),
        ('<nodes hosts="n[1-2]"/><nodes hosts="n[8-9]" spare="yes"/>', [("n8", 1), ("n9", 1)]),
        (
            '<mpi ranks="5"/><nodes hosts="n9" spare="yes"/><nodes hosts="n[1-2]"/>',
            [("n9", 3)],  # as many as the other hosts hold at most
        ),
        ('<nodes hosts="n1" slots="4"/><nodes hosts="n2" slots="2" spare="yes"/>', [("n2", 2)]),
        ('<nodes hosts="n1" spare="no"/>', []),
        # of no use, since nobody asked for them: the front-end is lost with the ranks
        ('<ssh host="n1"/><mpi ranks="1"/><nodes hosts="n[1-2]"/>', []),
        ('<ssh host="n1"/><mpi ranks="2"/><nodes hosts="n[1-3]"/>', [("n3", 1)]),
        ('<mpi ranks="1"/><nodes names="a b"/>', []),
    ],
)
def test_hosts_without_ranks_are_spare_whether_they_are_said_to_be_or_left_over(
    read: Any, cluster: str, spares: list[tuple[str, int]]
) -> None:
    assert spare_hosts(read, cluster) == spares
