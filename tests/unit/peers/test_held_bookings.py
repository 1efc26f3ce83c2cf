"""A booking that is held while the programs are brought: its keys are those of the launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from runtime.peers.booking import Demand, Offer, SpreadStrategy
from runtime.peers.errors import PeerUnreachable
from runtime.peers.submission.booking import Booking


class Peers:
    """What a booking sees of a lab; `renewal` is how a peer answers to the nth renewal."""

    me = "user:ana"

    def __init__(self, renewal: Callable[[str, int], bool]) -> None:
        self.renewal = renewal
        self.renewals = dict.fromkeys("abc", 0)
        self.released: list[str] = []

    def service(self, name: str, *_: object) -> Any:
        """Return the reservation service of a peer."""
        return Service(self, name)

    def forget(self, name: str) -> None: ...

    def find_hosts(self, most: int) -> list[str]:
        return list("abc")[:most]

    def offers(self, names: Iterable[str]) -> list[Offer]:
        return [Offer(name, 1, ord(name) / 1000) for name in names]


class Service:
    """One of them."""

    def __init__(self, lab: Peers, name: str) -> None:
        self.lab, self.name = lab, name

    def reserve(self, *_: object) -> list[Any]:
        return [1, 1.0, None, ""]

    def renew(self, *_: object) -> bool:
        self.lab.renewals[self.name] += 1
        return self.lab.renewal(self.name, self.lab.renewals[self.name])

    def release(self, *_: object) -> None:
        self.lab.released.append(self.name)


def test_a_peer_that_does_not_answer_to_one_renewal_keeps_its_places() -> None:
    renewed_again = threading.Event()

    def renewal(name: str, nth: int) -> bool:
        if (name, nth) == ("b", 1):
            raise PeerUnreachable("no answer within 3 s")
        if (name, nth) == ("b", 2):
            renewed_again.set()
        return True

    lab = Peers(renewal)
    with Booking(lab, Demand(2), SpreadStrategy()) as booking:  # type: ignore[arg-type]
        booking.book(lab.offers("ab"))
        keys = dict(booking.keys)
        assert renewed_again.wait(20)
        assert booking.changed() is None
        assert (booking.keys, lab.released) == (keys, [])


def test_who_gives_up_its_places_is_replaced_before_the_launch() -> None:
    given_up = threading.Event()

    def renewal(name: str, nth: int) -> bool:
        if name == "a" and nth > 1:
            given_up.set()  # its answer to the first renewal was taken in before
        return name != "b"

    lab = Peers(renewal)
    with Booking(lab, Demand(2), SpreadStrategy()) as booking:  # type: ignore[arg-type]
        booking.book(lab.offers("ab"))
        assert given_up.wait(20)
        hosts = booking.changed()
        assert hosts is not None
        assert [one.allocation.offer.peer for one in hosts] == ["a", "c"]
        assert set(booking.keys) == {"a", "c"}
        assert booking.changed() is None
