from __future__ import annotations

import socket
import struct

import pytest

from benchmarks.grid.layout import Layout, hosts_file
from benchmarks.grid.lines import Line
from benchmarks.grid.packets import FRAME, OFFLOAD, is_ipv4, opens_connection, size_on_line
from benchmarks.grid.standin import stand_in
from benchmarks.grid.switch import Switch

LAN = Line(delay=0.001, rate=8e9)
WAN = Line(delay=0.010, rate=8e6)
TCP, UDP, ICMP = 6, 17, 1
SYN, ACK = 2, 16


def packet(
    target: str,
    *,
    payload: int = 0,
    protocol: int = TCP,
    port: int = 80,
    flags: int = ACK,
    segment: int = 0,
) -> bytes:
    offload = struct.pack("<BBHHHH", 0, 1 if segment else 0, 40, segment, 0, 0)
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, protocol, 0, bytes(4), socket.inet_aton(target)
    )
    tcp = struct.pack("!HHIIBBHHH", 1000, port, 0, 0, 0x50, flags, 0, 0, 0)
    return offload + ip + tcp + bytes(payload)


@pytest.fixture
def switch() -> Switch:
    return Switch(Layout((2, 1), LAN, WAN))


def arrived(switch: Switch, now: float) -> list[int]:
    return [target for target, _ in switch.arrived(now)]


def test_a_packet_arrives_at_the_cluster_it_is_for_when_its_time_has_come(switch: Switch) -> None:
    sent = packet("10.77.0.2")
    switch.take(0, sent, 5.0)
    due = switch.next_arrival
    assert due == pytest.approx(5.001, abs=1e-5)
    assert arrived(switch, 5.0009) == []
    assert list(switch.arrived(due or 0)) == [(1, sent)]
    assert switch.next_arrival is None


def test_another_site_is_reached_over_the_line_between_the_sites(switch: Switch) -> None:
    switch.take(1, packet("10.77.1.1", payload=1000 - 40 - FRAME), 0.0)
    assert switch.next_arrival == pytest.approx(0.011)
    counted = {one.line: one.bytes for one in switch.counted()}
    assert counted["site 0 to site 1"] == 1000
    assert sum(counted.values()) == 1000


def test_clusters_of_one_site_share_the_line_to_another_one(switch: Switch) -> None:
    for source in (0, 1):
        switch.take(source, packet("10.77.1.1", payload=1000 - 40 - FRAME), 0.0)
    assert arrived(switch, 0.0115) == [2]
    assert arrived(switch, 0.0125) == [2]


def test_what_is_for_nobody_or_for_oneself_is_dropped(switch: Switch) -> None:
    switch.take(0, packet("10.77.9.9"), 0.0)
    switch.take(0, packet("10.77.0.1"), 0.0)
    switch.take(0, bytes(60), 0.0)
    assert switch.next_arrival is None


def test_a_cut_loses_one_direction_until_it_heals(switch: Switch) -> None:
    switch.cut("c0", "c2")
    switch.take(0, packet("10.77.1.1"), 0.0)
    switch.take(2, packet("10.77.0.1"), 0.0)
    assert arrived(switch, 1.0) == [0]
    switch.heal("c0", "c2")
    switch.take(0, packet("10.77.1.1"), 1.0)
    assert arrived(switch, 2.0) == [2]


def test_an_unknown_cluster_is_named_with_those_there_are(switch: Switch) -> None:
    with pytest.raises(ValueError, match="no cluster 'c7'; there are c0, c1, c2"):
        switch.cut("c0", "c7")


def test_a_firewall_lets_answers_in_but_nobody_who_connects(switch: Switch) -> None:
    switch.protect("c1", [443])
    for port, flags in ((80, SYN), (80, SYN | ACK), (80, ACK), (443, SYN)):
        switch.take(0, packet("10.77.0.2", port=port, flags=flags), 0.0)
    assert len(arrived(switch, 1.0)) == 3
    assert switch.refused == 1
    switch.open("c1")
    switch.take(0, packet("10.77.0.2", flags=SYN), 1.0)
    assert len(arrived(switch, 2.0)) == 1


def test_a_firewall_does_not_hinder_who_connects_outwards(switch: Switch) -> None:
    switch.protect("c1", ())
    switch.take(1, packet("10.77.0.1", flags=SYN), 0.0)
    assert arrived(switch, 1.0) == [0]


def test_changed_lines_count_for_what_comes_then(switch: Switch) -> None:
    switch.change_lan(Line(delay=1.0, rate=8e9))
    switch.change_wan(Line(delay=2.0, rate=8e9))
    switch.take(0, packet("10.77.0.2"), 0.0)
    switch.take(0, packet("10.77.1.1"), 0.0)
    assert arrived(switch, 1.9) == [1]
    assert arrived(switch, 2.1) == [2]


def test_a_train_of_packets_counts_the_headers_of_each() -> None:
    assert size_on_line(packet("10.77.0.1", payload=10)) == 50 + FRAME
    train = packet("10.77.0.1", payload=2500, segment=1000)
    assert size_on_line(train) == 2500 + 3 * (40 + FRAME)


def test_only_the_first_packet_of_a_connection_opens_it() -> None:
    assert opens_connection(packet("10.77.0.1", port=5000, flags=SYN)) == 5000
    assert opens_connection(packet("10.77.0.1", flags=SYN | ACK)) is None
    assert opens_connection(packet("10.77.0.1", protocol=ICMP)) is None
    assert opens_connection(packet("10.77.0.1", protocol=UDP)) == 0
    assert opens_connection(packet("10.77.0.1")[: OFFLOAD + 25]) == 0


def test_only_whole_packets_of_ipv4_pass() -> None:
    assert is_ipv4(packet("10.77.0.1"))
    assert not is_ipv4(packet("10.77.0.1")[: OFFLOAD + 19])
    assert not is_ipv4(bytes(OFFLOAD) + bytes([0x60]) + bytes(60))


def test_a_layout_numbers_clusters_and_finds_lines_in_both_directions() -> None:
    slow = Line(delay=1.0, rate=1.0)
    layout = Layout((1, 2, 1), LAN, WAN, {(2, 0): slow})
    assert [one.name for one in layout.clusters] == ["c0", "c1", "c2", "c3"]
    assert [one.site for one in layout.clusters] == [0, 1, 1, 2]
    assert layout.clusters[2].address == "10.77.1.2"
    assert (layout.line(0, 2), layout.line(0, 1), layout.line(1, 1)) == (slow, WAN, LAN)
    assert Layout.from_dict(layout.as_dict()) == layout


@pytest.mark.parametrize("sites", [(), (0,), (1, 300)])
def test_a_layout_without_clusters_or_with_too_many_is_refused(sites: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="1 to 254 clusters"):
        Layout(sites)


def test_a_line_between_sites_that_are_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no line between the sites"):
        Layout((1, 1), between={(0, 2): LAN})


def test_every_cluster_finds_the_others_by_name() -> None:
    layout = Layout((1, 1))
    hosts = "127.0.0.1 localhost\n10.77.0.1 c0\n10.77.1.1 c1\n"
    assert hosts_file(layout.clusters) == hosts
    text = stand_in(layout, layout.clusters[0], {"c0": 11, "c1": 22})
    assert "  c1|10.77.1.1) holder=22 line=" in text
