"""The folders that results come from: copies at places, and the program folder itself."""

from __future__ import annotations

import logging
import os
import posixpath
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.commands import over_ssh
from runtime.launchers import contents, fetching, wire
from runtime.launchers.errors import FetchFailed, LaunchError, StillRunning
from runtime.lifecycle.outcome import KeptFolder
from runtime.results.instructions import own_name

if TYPE_CHECKING:
    from runtime.launchers.base import Launcher, Process
    from runtime.launchers.contents import Entry, Sealed

GivenUp = Callable[[], bool]

END_TIMEOUT = 20.0
"""Seconds to wait until everything that a front-end started has ended."""

_LOOK_AGAIN = 0.1

_log = logging.getLogger(__name__)


class FolderGone(FetchFailed):
    """A folder that had results, or may have had, was removed."""


class ResultFolder(Protocol):
    """Where the ranks of a cluster worked; blocking methods raise LaunchError."""

    cluster: DeployedCluster
    owner: DeployedCluster
    """Whose files they are: clusters that work in one folder share them."""

    @property
    def is_at_home(self) -> bool:
        """Whether it is the program folder itself."""

    @property
    def sealed(self) -> Sealed:
        """What it held before the ranks began, and which files never count."""

    def await_end(self, given_up: GivenUp) -> None:
        """Return once nobody works in it any more."""

    def reach(self) -> None:
        """Connect to it, again if necessary."""

    def let_go(self) -> None:
        """Close a connection that does not answer any more; raises LaunchError."""

    def list(self, given_up: GivenUp) -> dict[str, Entry]:
        """List its content; raises FolderGone."""

    def send(
        self, wanted: Sequence[tuple[str, int]], receiver: fetching.FileReceiver, given_up: GivenUp
    ) -> None:
        """Send files from it."""

    def remove(self) -> None:
        """Remove it, because everything is home."""

    def kept(self, home: str) -> KeptFolder:
        """Return where it stays, and the command that brings it home."""


class PlaceOfResults(Protocol):
    """Where a front-end was started, as far as fetching its files needs it."""

    cluster: DeployedCluster
    launcher: Launcher
    process: Process | None
    is_silent: bool
    """Whether the host does not answer any more."""
    work: str
    """The copy of the program folder; empty where the cluster works in place."""
    folder: str

    @property
    def run_directory(self) -> str:
        """The private folder of its front-end; empty before that is started."""

    def reach_again(self) -> None:
        """Connect again; raises LaunchError."""

    def let_go(self) -> None:
        """Close the connection."""

    def is_shared(self, folder: str) -> bool:
        """Tell whether another host that answers now has this folder, too; raises LaunchError."""


class FolderAtPlace:
    """The work folder of a cluster, at the place of its front-end.

    It may also be an existing program folder, where ranks there work in place.
    """

    is_at_home = False

    def __init__(self, place: PlaceOfResults) -> None:
        self.cluster = self.owner = place.cluster
        self._place = place
        self._path = place.work or place.folder
        self._first = place.launcher.ready()
        self._launcher = place.launcher
        self.sealed: Sealed = (
            place.launcher.sealed[place.work]
            if place.work
            else (self.list(lambda: False), list[tuple[bool, str]]())
        )

    def await_end(self, given_up: GivenUp) -> None:
        """Return once the front-end has ended with all that it started."""
        if self._place.is_silent:
            return  # the lease of everything that runs there ends it
        process, deadline = self._place.process, time.monotonic() + END_TIMEOUT
        while process is not None and not given_up() and time.monotonic() < deadline:
            try:
                process.wait(_LOOK_AGAIN)
            except StillRunning:
                continue
            except LaunchError:
                return  # the connection broke: its owner ends it, or is made to
            return

    def reach(self) -> None:
        """Reconnect if the connection broke, or if the host does not answer over it."""
        place = self._place
        if place.is_silent:
            try:
                place.reach_again()
            except LaunchError as fault:
                raise FetchFailed(
                    "the host was lost, and cannot be reached", cause=str(fault)
                ) from fault
            return
        try:
            place.launcher.ready(0)
        except LaunchError:
            place.reach_again()

    def let_go(self) -> None:
        """Close the connection."""
        self._place.let_go()

    def list(self, given_up: GivenUp) -> dict[str, Entry]:
        """Return what it holds."""
        launcher, work = self._place.launcher, self._path
        is_another = launcher is not self._launcher and launcher.ready().host == self._first.host
        guard = self._first.guard if is_another else 0
        host, found = fetching.list_folder(launcher, work, guard, given_up=given_up)
        if found is None and host != self._first.host and not self._place.is_shared(work):
            raise FetchFailed(
                f"{work} is on {self._first.host}, but {host} answers now", place=launcher.place
            )
        if found is None and launcher is self._launcher:
            raise FolderGone(
                f"{work} has been removed, with all results that were in it",
                place=host,
                cure="Name a folder in <front-end folder=...> that nobody cleans up",
            )
        if found is None:  # its guard removes it if nothing is new, but nobody knows whether it did
            _log.warning(
                "%s: %s on %s is gone: its guard removes a folder in which nothing is new",
                self.cluster.path, work, host,
            )  # fmt: skip
        return found or {}

    def send(
        self, wanted: Sequence[tuple[str, int]], receiver: fetching.FileReceiver, given_up: GivenUp
    ) -> None:
        """Send files from it."""
        launcher = self._place.launcher
        fetching.receive(launcher, self._path, wanted, receiver, given_up=given_up)

    def remove(self) -> None:
        """Remove it if it was made for the run.

        Where its guard is gone, which may have been killed, so is the run directory.
        """
        place = self._place
        if place.launcher is self._launcher:
            if place.work:
                self._launcher.remove_folder(place.work)
            return
        for folder in filter(None, (place.work, place.run_directory)):
            fetching.remove(place.launcher, folder)

    def kept(self, home: str) -> KeptFolder:
        """Return where it stays, and the command that brings it home, to a folder of its own.

        Nothing in it can be a program of the next run there, and no folder of the user changes.
        """
        hops, work = self.cluster.hops, self._path
        is_here = self.cluster.is_local or (self.cluster.batch is not None and not hops)
        # names of peers are those of the lab, not of hosts
        there = self.cluster.front_end.address if self.cluster.peer else self.cluster.host
        host = os.uname().nodename if is_here else there
        target = _apart(home, self.cluster)
        make = shlex.join(("mkdir", "-p", target))
        if not is_here and not hops:  # the user has a way of his own to copy it
            command = f"{make} && {shlex.join(('scp', '-r', f'{host}:{work}/.', target))}"
            return KeptFolder(self.cluster.path, f"{host}:{work}", command, self.cluster.peer, work)
        send = over_ssh(hops, ("tar", "-C", work, "-cf", "-", "."))
        receive = ("tar", "-C", target, "--no-same-owner", "-xf", "-")
        command = f"{make} && {shlex.join(send)} | {shlex.join(receive)}"
        return KeptFolder(self.cluster.path, f"{host}:{work}", command)


def _apart(home: str, cluster: DeployedCluster) -> str:
    """Return the folder that the files of a cluster are brought to by hand."""
    return own_name(os.path.join(home, "kept"), cluster)


class FolderHere:
    """The program folder itself, in which a cluster of this machine works in place."""

    is_at_home = True

    def __init__(
        self, cluster: DeployedCluster, owner: DeployedCluster, path: str, targets: Iterable[str]
    ) -> None:
        self.cluster, self.owner = cluster, owner
        self._path = path
        self._apart = tuple(f"{os.path.relpath(one, path)}/" for one in targets)
        self.sealed: Sealed = (self.list(lambda: False), [])

    def await_end(self, given_up: GivenUp) -> None:
        """Return at once: what is written later stays where it is."""

    def reach(self) -> None:
        """Do nothing."""

    def let_go(self) -> None:
        """Do nothing."""

    def list(self, given_up: GivenUp) -> dict[str, Entry]:
        """Return what it holds."""
        return {} if given_up() else contents.scan(self._path, self._is_apart)

    def _is_apart(self, path: str) -> bool:
        """Return whether that is where results are put, or incomplete files."""
        name = posixpath.basename(path.rstrip("/"))
        return name.startswith(".gcm-") or path.startswith(self._apart)

    def send(
        self, wanted: Sequence[tuple[str, int]], receiver: fetching.FileReceiver, given_up: GivenUp
    ) -> None:
        """Send files from it."""
        for message in contents.messages(self._path, wanted):
            for one in wire.frames(bytearray(message)):
                fetching.pass_on(receiver, *one)
            if given_up():
                raise FetchFailed("it was given up", place=self._path)

    def remove(self) -> None:
        """Leave it: it belongs to the user."""

    def kept(self, home: str) -> KeptFolder:
        """Return where it is, and what copies it."""
        target = _apart(home, self.cluster)
        copy = ("cp", "-R", os.path.join(self._path, "."), target)
        command = f"{shlex.join(('mkdir', '-p', target))} && {shlex.join(copy)}"
        return KeptFolder(self.cluster.path, f"{os.uname().nodename}:{self._path}", command)
