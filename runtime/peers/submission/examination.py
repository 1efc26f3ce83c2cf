"""What in a lab will not work: who does not answer, and which ways between peers are closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from gcm.cli.output import counted
from gcm.documents import Location, Severity
from gcm.records import dataclass
from runtime.doctor.records import Finding
from runtime.peers.booking import Demand
from runtime.peers.contracts import Reservation
from runtime.peers.errors import PeerError
from runtime.peers.submission.lab import FAR, Lab
from runtime.peers.submission.ways import PeerWays, opened, ways_between

MOST_PEERS = 100
"""Between the nearest so many all ways are tried."""


@dataclass(frozen=True, slots=True)
class LabExamination:
    """The findings, and in one line what was looked at."""

    findings: tuple[Finding, ...]
    headline: str


def examine_lab(
    lab: Lab, demand: Demand, location: Location | None, say: Callable[[str], None]
) -> LabExamination:
    """Reach the peers of a lab, and let them reach each other; nothing is booked or started."""
    try:
        names = lab.find_hosts(max(MOST_PEERS, 2 * demand.overbooked))
    except PeerError as fault:
        why = "without a supernode, or a list of peers from last time, no peer is found"
        reason = " ".join(fault.cause.split())
        unknown = Finding(
            "no-supernode", Severity.ERROR, f"{fault.what}: {reason}", fault.place, why,
            f"{fault.cure}; its port, 7700 by default, has to be open to this machine (TCP)",
            location,
        )  # fmt: skip
        return LabExamination((unknown,), "no lab")
    say(f"trying to reach {counted(len(names), 'peer')} known from {lab.source}")
    offers = sorted(lab.offers(names), key=lambda one: (one.rtt, one.peer))
    near = [one.peer for one in offers if one.rtt < FAR]
    silent = [one.peer for one in offers if one.rtt >= FAR]
    tried = near[:MOST_PEERS]
    if len(tried) > 1:
        say(f"{len(tried)} peers try to reach each other")
    ways = ways_between(lab, tried)
    left = set(near) - set(ways.given_up(tried))
    places = sum(min(one.places, demand.ranks) for one in offers if one.peer in left)
    is_enough = places >= demand.places and len(left) >= demand.replicas
    findings = [
        *_silent(lab, silent, location, is_enough=is_enough),
        *_closed(ways, location, is_enough=is_enough),
    ]
    if not is_enough:
        fewer = "replicas" if len(left) < demand.replicas else "ranks"
        findings.append(
            Finding(
                "too-few-places", Severity.ERROR,
                f"{demand.places} places are needed, and peers that reach each other lend {places}",
                "the lab", "the run would look for more until it gives up",
                f"mend what is found above, ask for fewer {fewer}, or let more peers join: "
                "gcm-peer boot", location,
            )
        )  # fmt: skip
    pairs = len(tried) * (len(tried) - 1)
    headline = f"{len(near)} of {counted(len(names), 'peer')} answer"
    if pairs and not ways.silent:
        headline += f", {pairs - len(ways.closed)} of {pairs} ways between them are open"
    return LabExamination(tuple(findings), headline)


def _silent(
    lab: Lab, names: Sequence[str], location: Location | None, *, is_enough: bool
) -> Iterator[Finding]:
    def why(name: str) -> str:
        try:
            lab.service(name, Reservation)
        except PeerError as fault:
            return fault.in_one_line
        return "it answers now, and did not before"

    with ThreadPoolExecutor(min(32, len(names)) or 1, "silent") as threads:
        reasons = list(threads.map(why, names))
    for name, reason in zip(names, reasons, strict=True):
        address = lab.peers[name].addresses[0]
        yield Finding(
            "peer-unreachable", _severity(is_enough=is_enough),
            f"it does not answer at {address}: {reason}", name,
            "nothing is started there, and its places are lost",
            f"if it is off, start it: gcm-peer boot; else open TCP to {address} from this "
            "machine and from the other peers, or correct `address` in its peer.toml", location,
        )  # fmt: skip


def _closed(ways: PeerWays, location: Location | None, *, is_enough: bool) -> Iterator[Finding]:
    for pair in ways.apart:
        yield Finding(
            "peers-apart", _severity(is_enough=is_enough), "; ".join(map(str, pair)),
            f"{pair[0].source} and {pair[0].target}",
            "neither reaches the other one, so a run takes at most one of them",
            f"open {opened(pair)}", location,
        )  # fmt: skip
    for one in ways.one_way:
        yield Finding(
            "way-closed", Severity.WARNING, str(one), f"{one.source} to {one.target}",
            "messages still go directly, over connections in the other direction",
            f"open {opened([one])}", location,
        )  # fmt: skip
    for peer, reason in ways.silent.items():
        yield Finding(
            "ways-unknown", Severity.WARNING, reason, peer,
            "whether it reaches the other peers is not known, and runs leave it out",
            "see its log, and start it again: gcm-peer halt, gcm-peer boot", location,
        )  # fmt: skip


def _severity(*, is_enough: bool) -> Severity:
    return Severity.WARNING if is_enough else Severity.ERROR
