"""What is left of a run when it has ended: its exit code, what ran where, what was carried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from gcm.records import dataclass
from runtime.checks import FaultFound
from runtime.lifecycle.failures import Failure
from runtime.machine.deaths import RankDeath


@dataclass(frozen=True, slots=True)
class RankReport:
    """One rank: where it ran, with which MPI, and its exit code (None: it was stopped).

    `signal` is what ended it, 0 for none.
    """

    rank: str
    host: str
    pid: int
    mpi: str
    code: int | None
    signal: int = 0


@dataclass(frozen=True, slots=True)
class FirstCause:
    """The verdict on a run: what failed first.

    The `failure` is the death of a rank, or else that of a cluster, a node or a step; `what` is a
    line about it. A rank has a `number` in its COMM_WORLD and a `name` in messages, else None and
    "". `host` and `pid` tell where it ran.
    """

    failure: Failure
    what: str
    host: str = ""
    pid: int | None = None
    number: int | None = None
    name: str = ""

    @property
    def death(self) -> RankDeath | None:
        """How the rank died that failed first; None if it was no rank."""
        return self.failure if isinstance(self.failure, RankDeath) else None

    @property
    def rank(self) -> str | None:
        """The rank that failed first; None if it was no rank."""
        return None if self.death is None else self.death.who

    @property
    def signal(self) -> str:
        """The name of what ended the rank, such as `SIGSEGV`; empty if no signal did."""
        return self.death.ending if self.death is not None and self.death.observed.signal else ""

    @property
    def traceback(self) -> str:
        """What the program of the rank was doing; empty where that is unknown."""
        return "" if self.death is None else self.death.observed.traceback

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON.

        `exception` is a line such as `ValueError: no good`, empty where there was none.
        """
        return {
            "who": self.failure.who,
            "rank": self.rank,
            "host": self.host,
            "pid": self.pid,
            "code": self.failure.code,
            "signal": self.signal,
            "exception": "" if self.death is None else self.death.observed.exception,
            "traceback": self.traceback,
            "what": self.what,
            "number": self.number,
            "name": self.name,
        }


@dataclass(frozen=True, slots=True)
class ComponentReport:
    """One component of the assembly that lived on a node, and in which process that was."""

    path: str
    node: str
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class RouteTraffic:
    """What went over one way of the machine."""

    route: str
    messages: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class HeldNodes:
    """The nodes that a job of a batch system held for a cluster: how many, their cores, how long.

    `cluster` is its path, such as `lyon/rhone`. For `idle` of the seconds it waited for others.
    """

    cluster: str
    job: str
    nodes: int
    cores: int
    seconds: float = 0.0
    idle: float = 0.0

    @property
    def core_hours(self) -> float:
        """What the site counts."""
        return self.cores * self.seconds / 3600

    @property
    def idle_core_hours(self) -> float:
        """What of it was of no use, since other clusters had no nodes yet."""
        return self.cores * self.idle / 3600


@dataclass(frozen=True, slots=True)
class TunnelTraffic:
    """What a tunnel over the launcher carried between two clusters, and its shortest round trip.

    `sent` are bytes from the first cluster to the second; `round_trip` is in seconds, None where an
    end has not answered.
    """

    first: str
    second: str
    connections: int
    sent: int
    received: int
    round_trip: float | None


@dataclass(frozen=True, slots=True)
class Ways:
    """By which routes ranks of two clusters reached each other: how many of them by each."""

    between: tuple[str, str]
    routes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ForwardedTraffic:
    """What the front-end of a cluster has passed on: so many ways, and bytes both ways together.

    It was asked for the address of the next stop: `hits` were in its table, `misses` were not.
    """

    cluster: str
    ways: int
    bytes: int
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class Connections:
    """How ranks of different clusters found each other, counted over all of them.

    `tries` are routes that were tried, `failures` those that led nowhere. Messages that found a
    connection are `hits`, occasions on which one had to be opened `misses`; `evictions` are
    connections that were closed for others because they were not used for longest, `resumptions`
    those that took the place of one that broke, which both ends count, and `lanes` how many
    there were beside the first ones because one could not fill a line: the most that each pair had
    at a time, added up. `relays` are the front-ends that have
    passed something on, `tunnels` the pairs of clusters that had no other way.
    """

    tries: int = 0
    failures: int = 0
    hits: int = 0
    misses: int = 0
    evictions: int = 0
    resumptions: int = 0
    lanes: int = 0
    ways: tuple[Ways, ...] = ()
    relays: tuple[ForwardedTraffic, ...] = ()
    tunnels: tuple[TunnelTraffic, ...] = ()

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return what another process has told, as `dataclasses.asdict` makes it.

        Raises:
            KeyError, TypeError: it has told something else.
        """
        ways = (Ways(tuple(one["between"]), dict(one["routes"])) for one in plain["ways"])
        relays = (ForwardedTraffic(**one) for one in plain["relays"])
        tunnels = (TunnelTraffic(**one) for one in plain["tunnels"])
        found = {"ways": tuple(ways), "relays": tuple(relays), "tunnels": tuple(tunnels)}
        return cls(**{**plain, **found})


@dataclass(frozen=True, slots=True)
class KeptFolder:
    """A work folder that stays because its results are not home: where, and what fetches them.

    `owner` is the peer of a lab on whose machine it is: who runs there need not be let in by ssh.
    """

    cluster: str
    where: str
    command: str
    owner: str = ""
    folder: str = ""
    """The folder on its host, where there is an owner."""

    @property
    def staying(self) -> str:
        """Where results are, in words; of a peer that has ended nobody knows whether it had any."""
        if not self.owner:
            return f", and stay in {self.where}"
        return f"; what its ranks have written, if anything, stays on {self.owner} in {self.folder}"

    @property
    def cure(self) -> str:
        """What the user can do to have the results, as a sentence."""
        if not self.owner:
            return f"Bring them home with: {self.command}"
        return f"Ask the owner of {self.owner} for it"


@dataclass(frozen=True, slots=True)
class Results:
    """What came home of a cluster: so many files and bytes, to which folders.

    `others` are new files that the descriptor lets be discarded, which went with the work folder.
    `held` are the places of those that came under another name, since the next run would execute or
    read them as instructions. `kept` is the work folder if it had to stay.
    """

    cluster: str
    files: int = 0
    bytes: int = 0
    folders: tuple[str, ...] = ()
    others: int = 0
    held: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    kept: KeptFolder | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run.

    `exit_code` is what `gcm-deploy` ends with: that of what failed first, which is the
    `first_cause`, or one of `runtime.exit_codes`. `errors` are whole messages, the first cause
    first; `exceptions` are what ranks ended with that failed by themselves, with tracebacks.
    `seconds` are from the beginning to the end, `started_after` those until the application ran
    (None: never).
    """

    exit_code: int
    errors: tuple[str, ...] = ()
    ranks: tuple[RankReport, ...] = ()
    traffic: tuple[RouteTraffic, ...] = ()
    exits: Mapping[str, int] = field(default_factory=dict)
    started_after: float | None = None
    seconds: float = 0.0
    components: tuple[ComponentReport, ...] = ()
    connections: Connections = field(default_factory=Connections)
    results: tuple[Results, ...] = ()
    first_cause: FirstCause | None = None
    exceptions: Mapping[str, str] = field(default_factory=dict)
    held: tuple[HeldNodes, ...] = ()
    faults: tuple[FaultFound, ...] = ()
    """What a check of the program has found."""
    checked: int | None = None
    """How many calls were checked; None where that was not asked for."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how it ended, and what failed."""
        from html import escape

        head = f"<p><b>exit code {self.exit_code}, {self.seconds:.1f} s</b></p>"
        return head + "".join(f"<pre>{escape(one)}</pre>" for one in self.errors)
