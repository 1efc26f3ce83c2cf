"""What a front-end or a node is told when it starts, over standard input and nowhere else."""

from __future__ import annotations

import os
import pickle
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any

from gcm.records import dataclass
from runtime.errors import GridError
from runtime.home import HOME
from runtime.machine.rank_settings import RankSettings
from runtime.membership.run_directory import Bootstrap
from runtime.native_mpi import Job, RankProgram
from runtime.processes.watch import WatchedGroups
from runtime.topology import NO_NAMES, RankNames
from runtime.transport.credentials import Credentials
from runtime.transport.keys import Keyring, audience_of

if TYPE_CHECKING:
    import datetime

    from runtime.topology import Wan
    from runtime.transport.certificate import CertificateAuthority

PROTOCOL = 4
"""To be raised when what the processes of a run say to each other gets another meaning."""

REFUSED = 87
"""The exit code of a process that said on its stderr why it cannot do what it is told."""

LISTENER = "launcher"
"""What the launcher is called where it listens for front-ends."""

_LENGTH = 4


class OtherVersion(GridError):
    """Who starts a process and the process itself have different versions of this package."""


@dataclass(frozen=True, slots=True)
class NodeJob:
    """A process for the components of a node: how it is started, and what it is told.

    `home` is the path it has for other processes, `listen` the address where they may dial it,
    empty for none. `search` are the folders where it looks for Python modules. `is_elsewhere` says
    that it runs on another host than the front-end.
    """

    name: str
    home: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    search: tuple[str, ...]
    listen: str
    is_elsewhere: bool


@dataclass(frozen=True, slots=True)
class Keys:
    """What the launcher makes for a run: its secret, and an authority if hosts are crossed."""

    secret: bytes = field(repr=False)
    authority: CertificateAuthority | None = field(default=None, repr=False)

    def certificates(self, names: Iterable[str], now: datetime.datetime) -> dict[str, bytes]:
        """Return certificates with these names; none where nothing is encrypted."""
        authority = self.authority
        return {} if authority is None else {one: authority.member(one, now) for one in names}


@dataclass(frozen=True, slots=True)
class NodeStart:
    """What a node process reads first: who it is, where its front-end is, and its keys.

    `cluster` is the name of the front-end.
    """

    job: NodeJob
    cluster: str
    front_end: str
    keys: Keyring = field(repr=False)
    certificate: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class FrontEndSettings:
    """A front-end's part of the plan.

    `run_directory` is the private folder of the run, `folder` where ranks start, `umask` the
    caller's, `launcher` the address of the launcher, empty for the one behind standard input and
    output. With `at_once` nothing else has to be up before the ranks, so they start without being
    asked for. Ranks have `ranks_limit` seconds to find the front-end. With `settings` each rank is
    configured before it runs; at its `transports` it listens for ranks of other clusters.
    `forwards` are the addresses at which the front-end listens for those who want to be forwarded,
    if anybody may need that, the best one first, and `known_as` the name by which they reach it;
    with a `passage`, as text, others reach both by that alone. `certificates` has one with its key
    for each audience of `keys`: the front-end, its ranks, its nodes. `watch` says who watches whom,
    if anybody does. `wan` is the line over which ranks of other sites reach those of the cluster,
    where it is emulated. `names` is how messages name the ranks of the run. `tunnels` are the
    clusters whose front-ends are reached through sockets in `run_directory` alone.
    """

    cluster: str
    path: str
    levels: tuple[str, ...]
    run_directory: str
    folder: str
    umask: int
    port: int | None
    job: Job | None
    at_once: bool
    launcher: str
    keys: Keyring = field(repr=False)
    nodes: tuple[NodeJob, ...] = ()
    settings: RankSettings = RankSettings()
    transports: tuple[str, ...] = ()
    forwards: tuple[str, ...] = ()
    known_as: str = ""
    passage: str = ""
    ranks_limit: float = 60.0
    certificates: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    watch: WatchedGroups | None = None
    wan: Wan | None = None
    names: RankNames = NO_NAMES
    tunnels: tuple[str, ...] = ()

    def certificate(self, name: str) -> bytes:
        """Return the certificate of a member of the cluster; nothing where nothing is encrypted."""
        return self.certificates.get(audience_of(name), b"")

    def bootstrap(self, address: str, incarnation: int) -> Bootstrap:
        """Return what a rank reads first, whose front-end listens at an address."""
        certificate = self.certificate(f"{self.cluster}:0")
        return Bootstrap(address, self.transports, incarnation, self.keys, certificate)

    @property
    def module_folder(self) -> str:
        """Where the classes lie that the descriptor names: beside the program."""
        if self.job is None or self.job.program.kind != "script":
            return self.folder
        return os.path.join(self.folder, os.path.dirname(self.job.program.path))

    @property
    def credentials(self) -> Credentials:
        """What the front-end itself shows to others."""
        return Credentials(self.keys, self.cluster, self.certificate(self.cluster))


def as_first_input(starts: Sequence[FrontEndSettings | NodeStart]) -> bytes:
    """Return the bytes that are read first: a length, and what each process is told."""
    data = pickle.dumps(tuple(starts), protocol=5)
    return _edition() + len(data).to_bytes(_LENGTH, "big") + data


def read_first_input(read: Callable[[int], bytes]) -> tuple[Any, ...]:
    """Read what `as_first_input` made.

    Raises:
        EOFError: the writer ended before.
        OtherVersion: the writer has another version of this package.
    """
    if _exactly(read, len(_edition())) != _edition():
        raise OtherVersion(
            f"{sys.executable} has another version of this package, in {HOME}, than gcm-deploy",
            cure="Install the same version, or take that folder off its PYTHONPATH",
        )
    data = _exactly(read, int.from_bytes(_exactly(read, _LENGTH), "big"))
    found = pickle.loads(data)
    assert isinstance(found, tuple)
    return found


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = read(size - len(data))
        if not more:
            raise EOFError("the launcher ended before it said what to do")
        data += more
    return data


def _edition() -> bytes:
    """Return what tells this version from others whose processes would misunderstand each other."""
    kinds = (Job, RankProgram, NodeJob, NodeStart, FrontEndSettings)
    names = repr([[one.name for one in fields(kind)] for kind in kinds])
    return b"gcm" + PROTOCOL.to_bytes(2, "big") + zlib.crc32(names.encode()).to_bytes(4, "big")
