"""What the forwarder has to know of a packet: whom it is for, how long it is, what it begins; pure.

A packet comes from a TUN device with the header that tells how a large one is to be cut (GSO): it
then stands for a train of packets, and passes as one.
"""

from __future__ import annotations

OFFLOAD = 10
"""Bytes of the header in front of each packet: flags, kind, header length, segment size, sums."""

FRAME = 38
"""What Ethernet adds to each packet: preamble, header, checksum and gap."""

_TCP = 6
_ICMP = 1
_SYN, _ACK = 0x02, 0x10


def is_ipv4(packet: bytes) -> bool:
    """Return whether this is a whole IPv4 packet; the grid has no other ones."""
    return len(packet) >= OFFLOAD + 20 and packet[OFFLOAD] >> 4 == 4


def destination(packet: bytes) -> bytes:
    """Return the four bytes of the address that an IPv4 packet is for."""
    return packet[OFFLOAD + 16 : OFFLOAD + 20]


def size_on_line(packet: bytes) -> int:
    """Return how many bytes a real line would carry for it: each packet of a train has headers."""
    whole = len(packet) - OFFLOAD
    kind, headers = packet[1], packet[2] | packet[3] << 8
    segment = packet[4] | packet[5] << 8
    if not kind or not segment:
        return whole + FRAME
    packets = -(-(whole - headers) // segment) or 1
    return whole + (packets - 1) * headers + packets * FRAME


def opens_connection(packet: bytes) -> int | None:
    """Return the port that a packet wants to open a connection to, or None.

    Whatever is neither TCP nor ICMP may be a beginning too: it counts as one for port 0.
    """
    protocol = packet[OFFLOAD + 9]
    if protocol == _ICMP:
        return None
    if protocol != _TCP:
        return 0
    start = OFFLOAD + 4 * (packet[OFFLOAD] & 0x0F)
    if len(packet) < start + 14:
        return 0
    if packet[start + 13] & (_SYN | _ACK) != _SYN:
        return None
    return packet[start + 2] << 8 | packet[start + 3]
