"""Brings the programs of a plan to the caches of all booked peers, before anything is launched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.workplace import workplace_of
from runtime.launchers import archive
from runtime.launchers.peer import keep_alive
from runtime.peers.connections.connection import MemberConnection
from runtime.peers.contracts import Staging
from runtime.peers.errors import PeerError
from runtime.peers.staging.broadcast import Shape
from runtime.peers.staging.cache import FULL, path_in
from runtime.peers.staging.delivery import Receiver, StagedContent, deliver
from runtime.peers.submission.booking import Booking
from runtime.peers.submission.temporary import temporary_file
from runtime.peers.submission.web_contents import WebContents
from runtime.results.work_folder import staged_files
from runtime.web_address import WebAddress

if TYPE_CHECKING:
    from runtime.launchers.base import Source

CALL_TIMEOUT = 70.0
"""Seconds for one call: a piece over a slow line, or a portion that breaks at several sources."""

LEASE = 30.0
"""After so many seconds without a sign of its host a connection has ended."""

_Files = frozenset[tuple[str, Any]]


class StagedPrograms:
    """What is to be brought, packed in files without a name: nothing stays if this is killed."""

    def __init__(self, booking: Booking, shape: Shape, web: WebContents) -> None:
        self._booking = booking
        self._web = web
        self._shape = shape
        self._files = ExitStack()
        self._packed: dict[_Files, StagedContent] = {}
        self._holders: dict[str, set[str]] = {}

    def bring(self, plan: DeploymentPlan, arrived: Callable[[str], None]) -> Mapping[str, str]:
        """Bring all peers of a plan what they need; return why some did not get it, by peer.

        Raises PeerError: something of it cannot be read here.
        """
        wanted: dict[_Files, dict[str, str]] = {}
        for cluster in plan.deployment.clusters():
            at = workplace_of(plan.deployment, cluster)
            for files in staged_files(plan, cluster, at) if at.is_copy and cluster.peer else ():
                site = cluster.path.partition("/")[0]
                wanted.setdefault(frozenset(files.items()), {})[cluster.peer] = site
        failures: dict[str, str] = {}
        for packed, sites in wanted.items():
            content = self._pack(packed)
            receivers = [self._receiver(*one) for one in sites.items()]
            me = self._booking.lab.me
            failures |= deliver(content, receivers, caller=me, shape=self._shape, arrived=arrived)
            holders = self._holders.setdefault(content.digest, set())
            holders.update(set(sites) - set(failures))
        return failures

    def confirm(self, peers: Iterable[str]) -> Mapping[str, str]:
        """Return which peers do not have all they need, or do not answer, and why."""
        me, failures = self._booking.lab.me, dict[str, str]()
        by_peer = {one: [d for d, held in self._holders.items() if one in held] for one in peers}

        def ask(peer: str) -> None:
            digests = by_peer[peer]
            sizes = {one.digest: one.size for one in self._packed.values()}
            try:
                held = self._booking.lab.service(peer, Staging).held(me, digests)
            except PeerError as fault:
                failures[peer] = fault.what
                return
            if held != [sizes[one] for one in digests]:
                failures[peer] = "it has lost the program again, for lack of space"

        with ThreadPoolExecutor(len(by_peer) or 1, "staged") as threads:
            list(threads.map(ask, by_peer))
        return failures

    def stored(self, peer: str, cache: str, files: Mapping[str, Source]) -> str:
        """Return the path at a peer of the file in which these files are packed, or nothing."""
        content = self._packed.get(frozenset(files.items()))
        if content is None or not cache or peer not in self._holders[content.digest]:
            return ""
        return path_in(cache, content.digest)

    def here(self, files: Mapping[str, Source]) -> Mapping[str, Source]:
        """Return files as they can be sent from here, those of web servers too."""
        return {
            name: self._web[one].path if isinstance(one, WebAddress) else one
            for name, one in files.items()
        }

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of what was packed."""
        self._files.close()

    def _pack(self, files: _Files) -> StagedContent:
        if files not in self._packed and (address := _web_address(files)) is not None:
            self._packed[files] = self._web[address]
        if files not in self._packed:
            sources = {
                name: str(source) if isinstance(source, Path) else source
                for name, source in sorted(files, key=lambda one: one[0])
            }
            with temporary_file(self._files) as stream:
                try:
                    archive.pack(sources, stream)
                except OSError as error:
                    if error.errno in FULL:
                        raise
                    raise PeerError(
                        "the program cannot be packed",
                        place=error.filename or "",
                        cause=error.strerror or str(error),
                        cure="Start the run again when nothing changes the folder of the program",
                    ) from error
                stream.flush()
                self._packed[files] = StagedContent.of(Path(f"/proc/self/fd/{stream.fileno()}"))
        return self._packed[files]

    def _receiver(self, peer: str, site: str) -> Receiver:
        lab = self._booking.lab
        used: set[MemberConnection] = set()

        @contextmanager
        def opened() -> Iterator[Staging]:
            with lab.connect(peer) as connection:
                keep_alive(connection.detach(), LEASE)
                used.add(connection)
                try:
                    yield connection.stub(Staging, CALL_TIMEOUT)
                finally:
                    used.discard(connection)

        def hang_up() -> None:
            for one in list(used):
                one.close()

        key = self._booking.keys[peer]
        return Receiver(peer, str(lab.address_of(peer)), key, opened, hang_up, site)


def _web_address(files: _Files) -> WebAddress | None:
    """Return where a web server has it, which is alone then."""
    return next((one for _, one in files if isinstance(one, WebAddress)), None)
