"""What is shown of a lab: its peers by round trip, in sites, and the runs on them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gcm.records import dataclass
from runtime.peers.latency import Distances, sites_as_far_as_known
from runtime.peers.model import PeerMachine

MOST_RTT = 1e9
"""Milliseconds; a longer round trip has not been measured."""


@dataclass(frozen=True, slots=True)
class PeerLine:
    """A peer: `site` is the number of its site by round trip, 0 if the round trip is not known.

    `busy` has its runs and their users, or that it is idle; nothing if it does not tell.
    """

    name: str
    address: str
    share: str
    rtt: float | None
    site: int
    busy: str
    note: str
    machine: PeerMachine = PeerMachine()


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run: what is reserved or runs for one application, and where, with its ranks.

    A rank with several replicas is told as `RANK.REPLICA`.
    """

    application: str
    user: str
    phase: str
    processes: int
    peers: tuple[str, ...]

    @property
    def program(self) -> str:
        """The name of the program, or the beginning of the random one."""
        return program_of(self.application)


@dataclass(frozen=True, slots=True)
class LabView:
    """A lab as one of its peers sees it; `answered` is how many peers tell of their runs."""

    name: str
    lab: str
    state: str
    peers: tuple[PeerLine, ...]
    runs: tuple[RunLine, ...]
    answered: int

    @property
    def document(self) -> dict[str, object]:
        """What the page of a lab shows, ready for JSON."""
        runs = [asdict(one) | {"program": one.program} for one in self.runs]
        title = f"{self.lab}, seen by {self.name}"
        return asdict(self) | {"kind": "lab", "title": title, "runs": runs}


def shown_rtt(rtt: float | None) -> str:
    """Return a round trip for people.

    >>> [shown_rtt(one) for one in (None, 0.0, 0.000369, 0.0123)]
    ['', 'here', '0.37 ms', '12.30 ms']
    """
    if rtt is None:
        return ""
    return f"{1000 * rtt:.2f} ms" if rtt else "here"


def view_of(own: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> LabView:
    """Return the view of one daemon, from its own status and those of others that were asked."""
    statuses = {str(one["name"]): one for one in (own, *others)}
    hosts = [one for one in own["membership"]["hosts"] if str(one["name"]).startswith("peer:")]
    known = {str(one["name"]): one for one in hosts}
    if str(own["name"]).startswith("peer:"):
        known[str(own["name"])] = _own_host(own)
    distances = {
        name: one["milliseconds"] / 1000
        for name, one in known.items()
        if one.get("milliseconds") is not None
    }
    site_of = {
        name: number
        for number, site in enumerate(sites_as_far_as_known(distances, _between(statuses)), start=1)
        for name in site
    }
    lines = [_line(name, one, site_of, statuses) for name, one in known.items()]
    lines.sort(key=lambda one: (one.rtt is None, one.rtt or 0.0, one.name))
    membership = own["membership"]
    return LabView(
        str(own["name"]),
        str(own["lab"]),
        "; ".join([str(membership.get("state", "")), *map(str, membership.get("faults", ()))]),
        tuple(lines),
        _runs(statuses),
        sum("reservation" in one for one in statuses.values()),
    )


def _between(statuses: Mapping[str, Mapping[str, Any]]) -> Distances:
    """Return what the peers that were asked have measured."""
    found = Distances()
    for name, status in statuses.items():
        match status:
            case {"membership": {"hosts": [*hosts]}}:
                for host in hosts:
                    _learn(found, name, host)
    return found


def _learn(found: Distances, name: str, host: Any) -> None:
    match host:
        case {"name": str(other), "milliseconds": int() | float() as rtt} if 0 <= rtt < MOST_RTT:
            found.learn(name, other, rtt / 1000)


def program_of(application: str) -> str:
    """Return what is to be called the program of an application.

    >>> program_of("ring.py:0123456789abcdef"), program_of("0123456789abcdef")
    ('ring.py', '0123456789ab')
    """
    return application.rpartition(":")[0] or application[:12]


def ranks_text(ranks: Iterable[Sequence[int]], *, has_replicas: bool = False) -> str:
    """Return ranks for people; where there are replicas, here or elsewhere, `RANK.REPLICA`.

    >>> ranks_text([[2, 0], [1, 0]]), ranks_text([[1, 0], [0, 1]])
    ('1, 2', '0.1, 1.0')
    """
    some = sorted((rank, replica) for rank, replica in ranks)
    has_replicas = has_replicas or any(replica for _, replica in some)
    return ", ".join(f"{rank}.{replica}" if has_replicas else f"{rank}" for rank, replica in some)


def _own_host(own: Mapping[str, Any]) -> dict[str, Any]:
    share = own.get("reservation", {})
    return {
        "name": own["name"],
        "addresses": own["membership"].get("addresses", []),
        "applications": share.get("applications", 0),
        "processes": share.get("processes", 0),
        "milliseconds": 0.0,
    }


def _line(
    name: str,
    host: Mapping[str, Any],
    site_of: Mapping[str, int],
    statuses: Mapping[str, Mapping[str, Any]],
) -> PeerLine:
    status = statuses.get(name, {})
    reservation = status.get("reservation")
    runs = () if reservation is None else reservation["runs"]
    programs = ", ".join(f"{program_of(str(one['application']))} of {one['user']}" for one in runs)
    busy = "" if reservation is None else programs or "idle"
    rtt = host.get("milliseconds")
    note = "silent" if host.get("silent") else (reservation or {}).get("owner", "")
    return PeerLine(
        name.removeprefix("peer:"),
        ", ".join(map(str, host["addresses"])),
        f"{host['applications'] or 'any'} × {host['processes']}",
        None if rtt is None else rtt / 1000,
        site_of.get(name, 0),
        busy,
        str(note),
        PeerMachine.of(status.get("machine")),
    )


def _runs(statuses: Mapping[str, Mapping[str, Any]]) -> tuple[RunLine, ...]:
    """Put together what peers tell of the same application."""
    found: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    ranks: dict[tuple[str, str], list[list[int]]] = {}
    for name, status in statuses.items():
        for run in status.get("reservation", {}).get("runs", ()):
            key = (str(run["user"]), str(run["application"]))
            peer = name.removeprefix("peer:")
            found.setdefault(key, []).append((peer, run))
            ranks[key[1], peer] = status.get("launch", {}).get("ranks", {}).get(key[1], [])
    return tuple(
        RunLine(
            application,
            user,
            ", ".join(sorted({_state(run, ranks[application, peer]) for peer, run in parts})),
            sum(len(ranks[application, peer]) or run["processes"] for peer, run in parts),
            _where(application, sorted(name for name, _ in parts), ranks),
        )
        for (user, application), parts in sorted(found.items())
    )


def _state(run: Mapping[str, Any], ranks: list[list[int]]) -> str:
    """Return what a peer does for a run: it holds places, starts ranks in them, or runs these."""
    if ranks:
        return "runs"
    return "starting" if run["phase"] == "confirmed" else str(run["phase"])


def _where(
    application: str, peers: Iterable[str], ranks: Mapping[tuple[str, str], list[list[int]]]
) -> tuple[str, ...]:
    here = {peer: ranks[application, peer] for peer in peers}
    has_replicas = any(replica for some in here.values() for _, replica in some)
    words = {peer: ranks_text(some, has_replicas=has_replicas) for peer, some in here.items()}
    return tuple(f"{peer} ({some})" if some else peer for peer, some in words.items())
