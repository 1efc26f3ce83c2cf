"""The context of a descriptor, handed in by its reader."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain

from gcm.documents import Diagnostics, Location, did_you_mean
from gcm.records import dataclass
from runtime.deployment.extent import Extent, MachineAmount
from runtime.deployment.model import BookedPeer, DeployedSite, NodeAddress, Position
from runtime.shown_text import listed

VirtualNodes = Callable[[str, Mapping[str, str], Diagnostics], Iterable[str] | None]

NamedClasses = Callable[[str, tuple[tuple[str, str], ...]], Sequence[str]]


def _everything_exists(_name: str) -> bool:
    return True


def _is_unknown(_path: str) -> Sequence[str] | None:
    return None


def _can_hold(_path: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class DescriptorContext:
    """The context of a descriptor.

    `folder` is the descriptor's own folder, as a full path. `settings` are the values of `--set`.
    `exists` tells whether a file or folder of this machine exists; it gets full paths, and paths
    that begin with `~`. `cannot_hold` tells why no files can be put into a folder of this machine,
    empty if they can. `is_installed` tells whether Python finds a module by itself.
    `needed_libraries` tells which libraries a native program needs, None if it is not here.
    `umask` is that of the caller. `virtual_nodes` gets an ADL file and the arguments of its
    definition; it returns the names of the virtual nodes that are used there, or None when the
    file has faults, and may report them. Without it those names are not checked.
    `named_classes` gets a program folder and pairs of a role and a class; it returns for each
    why the class does not fit its role, or an empty string. Without it they are not checked.
    `python` starts what runs on this machine. `booked` are the sites of peers that were booked
    for <peers>; without any, one cluster stands for them. `sites` is the file with the sites of
    the user.
    """

    folder: str
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    exists: Callable[[str], bool] = _everything_exists
    is_installed: Callable[[str], bool] = _everything_exists
    needed_libraries: Callable[[str], Sequence[str] | None] = _is_unknown
    cannot_hold: Callable[[str], str] = _can_hold
    virtual_nodes: VirtualNodes | None = None
    named_classes: NamedClasses | None = None
    umask: int = 0o022
    python: str = "python3"
    booked: Sequence[Sequence[BookedPeer]] = ()
    sites: str = ""


class Places:
    """The clusters and nodes of a machine by `site`, `site/cluster` and `site/cluster/node`."""

    def __init__(self, sites: Iterable[DeployedSite] = ()) -> None:
        everywhere: list[Position] = []
        self._clusters: dict[str, tuple[Position, ...]] = {}
        self._nodes: dict[str, dict[str, NodeAddress]] = {}
        self._sites: dict[str, list[str]] = {}
        for site in sites:
            self._sites.setdefault(site.name, [one.path for one in site.clusters])
            self._clusters.setdefault(site.name, tuple(one.position for one in site.clusters))
            for cluster in site.clusters:
                everywhere.append(cluster.position)
                self._clusters.setdefault(cluster.path, (cluster.position,))
                self._nodes.setdefault(
                    cluster.path,
                    {
                        node.name: NodeAddress(cluster.position, number)
                        for number, node in enumerate(cluster.nodes)
                    },
                )

        self._everywhere = tuple(everywhere)

    def everywhere(self) -> tuple[Position, ...]:
        """Return all clusters."""
        return self._everywhere

    def clusters(
        self, paths: Iterable[str], location: Location, reading: Reading
    ) -> tuple[Position, ...]:
        """Return the clusters of some paths, each once, and report unknown ones."""
        found: dict[Position, None] = {}
        for path in paths:
            if path in self._clusters:
                if not _has_room(self._clusters[path], location, reading):
                    return ()
                found.update(dict.fromkeys(self._clusters[path]))
            else:
                _unknown("cluster", path, self._clusters, location, reading)
        return tuple(sorted(found))

    def cluster(self, path: str, location: Location, reading: Reading) -> Position | None:
        """Return the one cluster of a `site/cluster` path; report an unknown one."""
        if path in self._nodes:
            return self._clusters[path][0]
        _unknown("cluster", path, self._nodes, location, reading)
        return None

    def nodes(
        self, paths: Iterable[str], location: Location, reading: Reading
    ) -> tuple[NodeAddress, ...]:
        """Return the nodes of some paths, each once, in the order written; report unknown ones."""
        found: dict[NodeAddress, None] = {}
        for path in chain.from_iterable(self._sites.get(one, (one,)) for one in paths):
            cluster, _, name = path.rpartition("/")
            if path in self._nodes:
                if not _has_room(self._nodes[path], location, reading):
                    return ()
                found.update(dict.fromkeys(self._nodes[path].values()))
            elif cluster not in self._nodes:
                _unknown("node", path, self._nodes, location, reading)
            elif name not in self._nodes[cluster]:
                known = [f"{cluster}/{node}" for node in self._nodes[cluster]]
                _unknown("node", path, known, location, reading)
            else:
                found[self._nodes[cluster][name]] = None
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Reading:
    """What all parts of the reader share: context, diagnostics, and the size reached so far.

    The machine of the descriptor is in `places` once it has been read.
    """

    context: DescriptorContext
    diagnostics: Diagnostics
    extent: Extent
    places: Places = field(default_factory=Places)

    def fault(self, code: str, message: str, location: Location, hint: str = "") -> None:
        """Report an error."""
        self.diagnostics.report(code, message, location, hint=hint)

    def path(self, written: str) -> str:
        """Return the full path of a file of this machine; `~` is left to whoever opens it."""
        if not written or written.startswith("~"):
            return written
        return posixpath.normpath(posixpath.join(self.context.folder, written))

    def existing(self, written: str, what: str, location: Location) -> str:
        """Return the full path of a file of this machine, and report when there is none."""
        path = self.path(written)
        if path and not self.context.exists(path):
            self.fault(
                "no-such-file",
                f"{what} '{written}' does not exist",
                location,
                hint=f"it was looked for at {path}; relative paths begin at the descriptor",
            )
        return path


def distinct(
    reading: Reading, what: str, named: Iterable[tuple[str, Location]], code: str = "duplicate-name"
) -> None:
    """Report every name that was already taken by an earlier one."""
    first: dict[str, Location] = {}
    for name, location in named:
        if name in first:
            reading.fault(
                code,
                f"{what} '{name}' is defined twice",
                location,
                hint=f"the first one is at {first[name]}",
            )
        first.setdefault(name, location)


def _has_room(parts: Collection[object], location: Location, reading: Reading) -> bool:
    return reading.extent.grow(MachineAmount.PARTS, len(parts), location)


def _unknown(
    what: str, path: str, known: Iterable[str], location: Location, reading: Reading
) -> None:
    reading.fault(
        "unknown-reference",
        f"the machine has no {what} '{path}'",
        location,
        hint=did_you_mean(path, known) or f"there are: {listed(list(known))}",
    )
