"""A lab whose peers are hosts with networks of their own, and lose power when that is asked for."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from benchmarks.grid import EmulatedGrid
from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.credentials.authority import Authority
from runtime.peers.daemon import find_running
from runtime.peers.model import Address, Principal
from tools.on_grids import ROOT

PEER = "import sys; from runtime.cli import peer_main; sys.exit(peer_main())"
RUN = "import sys; from runtime.cli import run_main; sys.exit(run_main())"
DEPLOY = "import sys; from runtime.cli import main; sys.exit(main())"
SETTINGS = "processes = 2\nalive_every = 1\nexchange_every = 0.3\n"
PATIENCE = 30.0


class PeersOnHosts:
    """A peer on each host of a grid, a supernode beside the peers of some; a user at one host."""

    def __init__(
        self,
        grid: EmulatedGrid,
        base: Path,
        supernodes: Iterable[str],
        user: str,
        peers: list[str],
        *,
        settings: str = SETTINGS,
    ) -> None:
        self.grid, self.base, self.user, self.peers = grid, base, user, peers
        self.supernodes = [f"{host}-s" for host in supernodes]
        self.work = base / "work"
        self.work.mkdir()
        nodes = [Address(grid.clusters[_host(one)].address, 7700) for one in self.supernodes]
        now = datetime.datetime.now(datetime.UTC)
        self._lab = Authority.create("ourlab", base / "lab", now, nodes)
        members = {one: f"supernode:{_host(one)}" for one in self.supernodes}
        members |= {one: f"peer:{one}" for one in peers}
        for name, who in members.items():
            folder = PeerFolder(base / name)
            folder.make()
            self._lab.invite(Principal.parse(who), now).write(folder.credential)
            folder.configuration.write_text(settings)
        self._disks = Path(tempfile.mkdtemp(prefix="hosts-"))  # short, for sockets lie there
        self._ana = self.credential_of("ana")
        self.within: dict[str, tuple[str, ...]] = {}
        """The words before a command that run it on a machine behind a host."""

    def credential_of(self, user: str) -> Path:
        """Invite a user, and return the file with the credential."""
        now, file = datetime.datetime.now(datetime.UTC), self.base / f"{user}.credential"
        self._lab.invite(Principal.parse(f"user:{user}"), now).write(file)
        return file

    def reserved_at(self, peer: str) -> bool:
        """Tell whether places of a peer are somebody's."""
        argv = [sys.executable, "-c", PEER, "status", "--json", "--folder", str(self.base / peer)]
        done = self.grid.run(peer, argv, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.returncode == 0, done.stderr
        return bool(json.loads(done.stdout)["reservation"]["runs"])

    def start(self) -> None:
        """Start all: the supernodes first."""
        for name in self.supernodes:
            self.boot(name)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(self.boot, self.peers))

    def await_all_known(self) -> None:
        """Wait until each peer knows all others: a run takes the hosts that are known by then."""
        for peer in self.peers:
            argv = [sys.executable, "-c", PEER, "hosts", "--json"]
            argv += ["--folder", str(self.base / peer)]
            deadline = time.monotonic() + PATIENCE
            while True:
                environment = {**os.environ, "PYTHONPATH": str(ROOT)}
                done = self.grid.run(peer, argv, timeout=60, env=environment)
                if done.returncode == 0 and all(
                    f'"peer:{one}"' in done.stdout for one in self.peers
                ):
                    break
                assert time.monotonic() < deadline, done.stderr or done.stdout
                time.sleep(0.1)  # they exchange what they know every 0.3 s

    def stop(self) -> None:
        """End all that still run."""
        for name in (*self.peers, *self.supernodes):
            if found := find_running(PeerFolder(self.base / name)):
                found.halt()
        with suppress(OSError):  # a run has left something
            for one in self._disks.iterdir():
                one.rmdir()
            self._disks.rmdir()

    def _disk_of(self, name: str) -> Path:
        """Return where a daemon and its runs have temporary files."""
        disk = self._disks / name
        disk.mkdir(exist_ok=True)
        return disk

    def boot(self, name: str) -> None:
        """Start the daemon of a peer or of a supernode."""
        command = "supernode" if name in self.supernodes else "boot"
        argv = [*self.within.get(name, ()), sys.executable, "-c", PEER, command]
        argv += ["--folder", str(self.base / name)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self._disk_of(name))}
        done = self.grid.run(_host(name), argv, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr

    def run(self, *words: str, timeout: float = 240) -> tuple[int, str, str]:
        """Run `gcm-run` at the host of the user; raises TimeoutExpired, with what it printed."""
        return self._at_user(RUN, words, timeout)

    def deploy(self, *words: str, timeout: float = 60) -> tuple[int, str, str]:
        """Run `gcm-deploy` at the host of the user."""
        return self._at_user(DEPLOY, words, timeout)

    def _at_user(
        self, program: str, words: tuple[str, ...], timeout: float
    ) -> tuple[int, str, str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "GCM_FOLDER": str(self.base / "gcm"),
            "GCM_CREDENTIAL": str(self._ana),
        }
        done = self.grid.run(
            self.user, [sys.executable, "-c", program, *words],
            timeout=timeout, env=environment, cwd=str(self.work),
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def kill(self, name: str) -> None:
        """End a daemon with SIGKILL; of a peer, and all that runs at its host, at once.

        Nobody is left there who could remove its temporary files, so they go, too.
        """
        found = find_running(PeerFolder(self.base / name))
        assert found is not None
        if name in self.supernodes:
            os.kill(found.pid, signal.SIGKILL)
            return
        victims = [found.pid]
        while victims:
            for one in victims:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            victims = self.processes(name)
        shutil.rmtree(self._disk_of(name))

    def processes(self, host: str) -> list[int]:
        """Return the processes at a host, without supernodes."""
        holder = self.grid.holder(host)
        network, spared = os.readlink(f"/proc/{holder}/ns/net"), {holder}
        for name in self.supernodes:
            if found := find_running(PeerFolder(self.base / name)):
                spared.add(found.pid)
        inside = []
        for one in set(map(int, filter(str.isdigit, os.listdir("/proc")))) - spared:
            with suppress(OSError):  # it has ended
                if os.readlink(f"/proc/{one}/ns/net") == network:
                    inside.append(one)
        return inside

    def left_behind(self) -> dict[str, list[str]]:
        """Return what runs at hosts for longer than a moment beside the daemons, by host."""
        deadline = time.monotonic() + PATIENCE
        while (found := self._beside_daemons()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _beside_daemons(self) -> dict[str, list[str]]:
        beside: dict[str, list[str]] = {}
        for host in self.grid.clusters:
            daemon = find_running(PeerFolder(self.base / host))
            for one in self.processes(host):
                if daemon is None or one != daemon.pid:
                    with suppress(OSError):
                        words = Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0")
                        beside.setdefault(host, []).append(b" ".join(words).decode()[:200])
        return beside


def _host(name: str) -> str:
    return name.removesuffix("-s")
