"""A user who books places in a lab again and again, and tells when they were whose.

python -m tests.network.booking_alone CREDENTIAL CACHE PLACES ROUNDS SECONDS
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from runtime.peers.booking import Demand, ReservationSettings, strategy_named
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError
from runtime.peers.model import MemberRole
from runtime.peers.submission.booking import Booking
from runtime.peers.submission.lab import Lab

SEARCH = 120.0
"""For how many seconds places are looked for: with fewer than are wanted, others have to end."""


def main() -> None:
    """Book and hold; write a line for each round."""
    file, cache, places, rounds, held = sys.argv[1:]
    credential = Credential.read(Path(file), role=MemberRole.USER)
    demand, settings = Demand(int(places), 1), ReservationSettings(search=SEARCH)
    for _ in range(int(rounds)):
        lab = Lab(credential, Path(cache))
        told: dict[str, object] = {"begun": time.monotonic()}
        try:
            offers = lab.offers(lab.find_hosts(2 * demand.overbooked))
            told["known"] = time.monotonic()
            with Booking(lab, demand, strategy_named("spread"), settings) as booking:
                hosts = booking.book(offers)
                told["booked"] = time.monotonic()
                told["hosts"] = {
                    one.allocation.offer.peer: len(one.allocation.copies) for one in hosts
                }
                time.sleep(random.uniform(0.5, 1.5) * float(held))
                told["until"] = time.monotonic()
        except PeerError as fault:
            told["fault"] = str(fault)
        finally:
            lab.close()
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
