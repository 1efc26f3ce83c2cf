"""What an examination gathers and finds, as values: hosts, their facts, connections, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gcm.documents import Location, Severity
from gcm.records import dataclass
from runtime.deployment import NamedLauncher, Position, SshHop
from runtime.native_mpi import AUTO

if TYPE_CHECKING:
    from runtime.launchers.errors import LaunchError


@dataclass(frozen=True, slots=True)
class ExaminedHost:
    """A host to examine, and what the deployment needs of it.

    `where` is its name in messages. `clusters` have their front-end on it; a host that holds only
    ranks of a cluster is reached from that front-end and has its number in `behind`. `ranks` counts
    those of its clusters, `others` those of all other clusters. `variables` are the names of those
    that their programs are given. `modules` are what their programs
    import. `spans` is on how many hosts one `mpiexec` starts ranks. Without `hops` and
    `launcher` it is the launcher's machine.
    """

    where: str
    python: str
    location: Location | None = None
    clusters: tuple[Position, ...] = ()
    hops: tuple[SshHop, ...] = ()
    hop_locations: tuple[Location, ...] = ()
    launcher: NamedLauncher | None = None
    behind: int | None = None
    name: str = ""
    mpiexec: str = "mpiexec"
    flavour: str = AUTO
    options: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    folder: str = ""
    ranks: int = 0
    others: int = 0
    spans: int = 1
    needs_mpi: bool = False
    needs_mpi4py: bool = False
    names: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its name in sentences that name several hosts."""
        return self.where.partition(" (")[0]

    @property
    def is_here(self) -> bool:
        """Return whether it is the launcher's machine."""
        return not self.hops and self.launcher is None and self.behind is None


@dataclass(frozen=True, slots=True)
class FolderSpace:
    """A folder that a run writes to, and how many bytes are free in it."""

    folder: str
    free: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Facts that a host reports about itself.

    `missing` are modules that it was asked for and does not have. With `is_managed` its Python
    refuses packages that pip would install; without `has_venv` it cannot make a Python that takes
    them. `mpiexec` is the one that a run takes, `mpiexec_why` why, `mpiexec_version` what it says
    of itself. `library` is what mpi4py loads as its MPI, `library_fault` why it cannot load one.
    `names` maps names to addresses, an empty list for an unknown name. `interfaces` are names and
    addresses of network interfaces. `files` is how many files a process may have open.
    """

    host: str
    user: str
    python: str
    version: tuple[int, ...]
    packages: Mapping[str, str] = field(default_factory=dict)
    library: str = ""
    library_fault: str = ""
    mpiexec: str = ""
    mpiexec_why: str = ""
    mpiexec_version: str = ""
    ssh: str = ""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    interfaces: tuple[tuple[str, str], ...] = ()
    files: int = 1024
    most_files: int = 1024
    folders: tuple[FolderSpace, ...] = ()
    missing: tuple[str, ...] = ()
    is_managed: bool = False
    has_venv: bool = True


_FACTS = {
    **dict.fromkeys(("host", "user", "python", "library", "library_fault", "mpiexec", "ssh"), str),
    **dict.fromkeys(("mpiexec_why", "mpiexec_version"), str),
    **dict.fromkeys(("is_managed", "has_venv"), bool),
    **dict.fromkeys(("files", "most_files"), int),
    "version": [int],
    "missing": [str],
    "packages": {str: str},
    "names": {str: [str]},
    "interfaces": [[str]],
    "folders": [{"folder": str, "free": int, "error": str}],
}
ANSWERS: Mapping[str, Any] = {
    "facts": _FACTS, "clock": float, "listen": ({"port": int}, {"error": str}), "dial": [str],
}  # fmt: skip
"""The shape of the answer to each question: a type, or what holds such; a tuple has choices."""


def fits(value: object, shape: Any) -> bool:
    """Tell whether an answer has a shape: the host may answer whatever it likes.

    >>> fits({"port": 80}, ANSWERS["listen"]), fits([[]], ANSWERS["dial"])
    (True, False)
    """
    match shape:
        case tuple():
            return any(fits(value, one) for one in shape)
        case list():
            return isinstance(value, list) and all(fits(one, shape[0]) for one in value)
        case dict() if isinstance(value, dict) and str in shape:
            return all(fits(one, shape[str]) for one in value.values())
        case dict():
            same = isinstance(value, dict) and value.keys() == shape.keys()
            return same and all(fits(value[one], shape[one]) for one in shape)  # type: ignore[index]
        case _:
            return type(value) is shape


def facts_of(answer: Mapping[str, Any]) -> HostFacts:
    """Return the facts in an answer of the probe that fits."""
    parsed = {
        "version": tuple(answer["version"]),
        "interfaces": tuple((one[0], one[-1]) for one in answer["interfaces"] if one),
        "folders": tuple(FolderSpace(**one) for one in answer["folders"]),
        "missing": tuple(answer["missing"]),
    }
    return HostFacts(**{**answer, **parsed})


@dataclass(frozen=True, slots=True)
class Record:
    """A host, and what is known of it: `facts` if it answered, `fault` otherwise.

    `mpi_fault` is why its `mpiexec` cannot run two ranks; `ahead` the least and the most seconds by
    which its clock can be ahead of the launcher's.
    """

    host: ExaminedHost
    facts: HostFacts | None = None
    fault: LaunchError | None = None
    mpi_fault: LaunchError | None = None
    ahead: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Dial:
    """A tried connection: to a rank of a cluster, or to its front-end.

    `outcome` is `open`, or begins with what went wrong: see `probe.dial`.
    """

    source: Position
    target: Position
    to_front_end: bool
    address: str
    outcome: str

    @property
    def kind(self) -> str:
        """What went wrong, in a word."""
        return self.outcome.partition(":")[0]

    @property
    def detail(self) -> str:
        """What more is known of that."""
        return self.outcome.partition(": ")[2]

    @property
    def is_open(self) -> bool:
        """Return whether it was established."""
        return self.outcome == "open"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that will not work, or may not: what, where, why it matters, how to fix it."""

    code: str
    severity: Severity
    what: str
    where: str
    why: str
    fix: str
    location: Location | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the finding as plain values."""
        place = self.location
        return {
            "code": self.code,
            "severity": str(self.severity),
            "where": self.where,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
        }
