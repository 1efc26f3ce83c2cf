"""Who is in the lab: the table of supernodes, and the list of hosts that each peer keeps. Pure.

Times are those of one clock of this host that does not stop while it sleeps; they never travel.
What travels is how old something is.
"""

from __future__ import annotations

from runtime.peers.membership.hosts import HostList, Known, read_text, text_of
from runtime.peers.membership.lab_hosts import LabHosts
from runtime.peers.membership.peer_membership import (
    MembershipSettings,
    PeerMembership,
    target_of,
)
from runtime.peers.membership.rows import MemberState, OwnRow, Row
from runtime.peers.membership.supernode import SupernodeMembership
from runtime.peers.membership.table import AT_ONCE, MemberTable
from runtime.peers.membership.talks import (
    CallMember,
    DialMember,
    KeepHosts,
    MeasureRoundTrip,
    ReachMember,
    Talk,
    TalkStep,
)

__all__ = [
    "AT_ONCE",
    "CallMember",
    "DialMember",
    "HostList",
    "KeepHosts",
    "Known",
    "LabHosts",
    "MeasureRoundTrip",
    "MemberState",
    "MemberTable",
    "MembershipSettings",
    "OwnRow",
    "PeerMembership",
    "ReachMember",
    "Row",
    "SupernodeMembership",
    "Talk",
    "TalkStep",
    "read_text",
    "target_of",
    "text_of",
]
