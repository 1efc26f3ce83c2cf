"""Admission control of a peer: which users get places and for how long, without IO and clocks.

```
             reserve              confirm
  (nothing) ────────► RESERVED ────────► CONFIRMED
                        │ release           │ ended
                        │ lease over        ▼
                        └───────────────► (spent: the key is never taken again)
```

Nobody waits here: a request is granted or refused at once, and so nobody can hold places while
waiting for others. The only times are durations on the peer's own clock.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

from gcm.records import dataclass
from runtime.peers.errors import Refused
from runtime.peers.model import Key, MemberRole, PlacesAnswer, Principal, Reason, Share

__all__ = [
    "AdmissionControl",
    "AdmissionRules",
    "Hold",
    "PlacesRequest",
]

Network = IPv4Network | IPv6Network

MOST_HELD = 1024
"""Reservations at once where the owner sets no limit, so that nobody can fill the memory."""

MOST_SPENT = 8192
"""Keys that were used and are remembered."""


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """Whom a peer serves, with how much; times in seconds.

    `users` are the names of those who are trusted, None for all whom the lab invited. `lease` is
    how long a reservation may last at most without being renewed.
    """

    share: Share = Share()
    deny: tuple[Network, ...] = ()
    users: frozenset[str] | None = None
    lease: float = 60.0


class Phase(Enum):
    """How far a reservation is."""

    RESERVED = "reserved"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True)
class PlacesRequest:
    """What somebody asks for: places for an application, for so many seconds."""

    key: Key
    application: str
    processes: int
    lease: float


@dataclass(slots=True)
class Hold:
    """One reservation, and what it is bound to."""

    key: Key
    principal: Principal
    application: str
    processes: int
    phase: Phase = Phase.RESERVED
    until: float = field(default=float("inf"))


class AdmissionControl:
    """Reservations at one peer. No more than J exist at once, each for P processes at most."""

    def __init__(self, rules: AdmissionRules) -> None:
        self.rules = rules
        """May be replaced at any time; what is reserved stays."""
        self._holds: dict[Key, Hold] = {}
        self._spent: OrderedDict[Key, None] = OrderedDict()

    # --- calls of reservation clients -----------------------------------------------------------

    def reserve(
        self, principal: Principal, address: str, request: PlacesRequest, now: float
    ) -> PlacesAnswer:
        """Grant places to one who calls from an address, or say why not."""
        refusal = self._refusal(principal, address, request)
        if refusal is not None:
            return PlacesAnswer(0, 0.0, *refusal)
        granted = min(request.processes, self.rules.share.processes)
        lease = min(request.lease, self.rules.lease)
        hold = Hold(request.key, principal, request.application, granted)
        hold.until = now + lease
        self._holds[request.key] = hold
        return PlacesAnswer(granted, lease)

    def renew(self, principal: Principal, key: Key, lease: float, now: float) -> bool:
        """Let a reservation last longer; tell whether there still is one of this principal."""
        hold = self._of(principal, key)
        if hold is None:
            return False
        if hold.phase is Phase.RESERVED and lease > 0:
            hold.until = max(hold.until, now + min(lease, self.rules.lease))
        return True

    def release(self, principal: Principal, key: Key) -> bool:
        """Give back what is reserved and not confirmed; tell whether that was the case.

        A key that is not known is never taken again: the request with it may still be on its way.
        """
        hold = self._holds.get(key)
        if hold is None:
            self._spend(key)
            return False
        if hold.principal != principal or hold.phase is not Phase.RESERVED:
            return False
        self._end(key)
        return True

    def confirm(
        self, principal: Principal, key: Key, application: str, now: float, *, used: int = 0
    ) -> Hold:
        """Take a reservation to start the application it was made for; from now on it has no lease.

        Of its places it holds those that are `used` from now on, all if that is 0.

        Raises:
            Refused: the key is unknown, was used before, or is not that of this principal and
                application.
        """
        hold = self._holds.get(key)
        if hold is not None and hold.until <= now:
            self._end(key)
            hold = None
        if hold is None:
            if key in self._spent:
                raise Refused(
                    "the key was used before, or its lease is over",
                    reason=Reason.WRONG_KEY,
                    cure="Reserve again with a new key",
                )
            raise Refused("there is no reservation with this key", reason=Reason.UNKNOWN_KEY)
        if hold.principal != principal or hold.application != application:
            raise Refused(
                "the key belongs to somebody else or to another application",
                reason=Reason.WRONG_KEY,
            )
        if hold.phase is not Phase.RESERVED:
            raise Refused("the key was used before", reason=Reason.WRONG_KEY)
        hold.phase, hold.until = Phase.CONFIRMED, float("inf")
        hold.processes = min(used or hold.processes, hold.processes)
        return hold

    # --- what happens at the peer ---------------------------------------------------------------

    def ended(self, key: Key) -> None:
        """Nothing is left of the job of a key: its places are free."""
        if key in self._holds:
            self._end(key)

    def advance(self, now: float) -> list[Hold]:
        """End and return the reservations whose lease is over: clients died or forgot them."""
        expired = [one for one in self._holds.values() if one.until <= now]
        for hold in expired:
            self._end(hold.key)
        return expired

    @property
    def next_time(self) -> float:
        """When `advance` has to be called."""
        return min((one.until for one in self._holds.values()), default=float("inf"))

    @property
    def holds(self) -> Sequence[Hold]:
        """All reservations, the oldest first."""
        return tuple(self._holds.values())

    # --------------------------------------------------------------------------------------------

    def distrust(self, principal: Principal, address: str) -> tuple[Reason, str] | None:
        """Return why nothing runs here of one who calls from an address, None if it may."""
        rules = self.rules
        is_user = principal.role is MemberRole.USER
        if not is_user or (rules.users is not None and principal.name not in rules.users):
            return Reason.NOT_TRUSTED, f"its owner runs nothing of {principal}"
        if is_denied(address, rules.deny):
            return Reason.DENIED, f"{address} is on its deny list"
        return None

    def _refusal(
        self, principal: Principal, address: str, request: PlacesRequest
    ) -> tuple[Reason, str] | None:
        share = self.rules.share
        if (distrust := self.distrust(principal, address)) is not None:
            return distrust
        if request.processes < 1 or not request.lease > 0 or not request.application:
            return Reason.BAD_REQUEST, "a request has an application, processes and a lease"
        if request.key in self._holds or request.key in self._spent:
            return Reason.WRONG_KEY, "the key was used before"
        if share.processes < 1:
            return Reason.BUSY, "its owner lends no processes now"
        running = len(self._holds)
        if running >= (share.applications or MOST_HELD):
            return Reason.BUSY, f"{running} of {share.applications or MOST_HELD} applications run"
        if any(one.application == request.application for one in self._holds.values()):
            return Reason.BUSY, "the application has its places here already"
        return None

    def _of(self, principal: Principal, key: Key) -> Hold | None:
        hold = self._holds.get(key)
        return hold if hold is not None and hold.principal == principal else None

    def _end(self, key: Key) -> None:
        del self._holds[key]
        self._spend(key)

    def _spend(self, key: Key) -> None:
        self._spent[key] = None
        self._spent.move_to_end(key)
        while len(self._spent) > MOST_SPENT:
            self._spent.popitem(last=False)


def is_denied(address: str, deny: Sequence[Network]) -> bool:
    """Tell whether an address is in one of the networks; where there are any, no IP address is too.

    >>> from ipaddress import ip_network
    >>> lab = [ip_network("10.1.0.0/16")]
    >>> [is_denied(one, lab) for one in ("10.1.2.3", "::ffff:10.1.2.3", "10.2.2.3", "?")]
    [True, True, False, True]
    """
    if not deny:
        return False
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in deny if network.version == found.version)
