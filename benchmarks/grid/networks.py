"""Starts the holders of all clusters, gets their devices, and lets go of them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.grid.errors import EmulationError
from benchmarks.grid.layout import Cluster, Layout, hosts_file
from benchmarks.grid.standin import stand_in

TOOLS = ("ip", "unshare", "nsenter", "mount")
PATIENCE, FOR_EACH = 20.0, 2.0
ROOT = Path(__file__).resolve().parents[2]

_UNSHARE = ("unshare", "--net", "--uts", "--ipc", "--mount", "--propagation", "private", "--")


def missing() -> str:
    """Return what this machine lacks for an emulated grid, or an empty string."""
    if not sys.platform.startswith("linux"):
        return "an emulated grid needs Linux, for its network name spaces"
    if os.geteuid() != 0:
        return "an emulated grid needs root, to make network name spaces"
    if not os.path.exists("/dev/net/tun"):
        return "an emulated grid needs the device /dev/net/tun (modprobe tun)"
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"an emulated grid needs {', '.join(lacking)} (apt install iproute2 util-linux)"
    tried = subprocess.run([*_UNSHARE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"an emulated grid needs network name spaces: {tried.stderr.strip()}"
    return ""


def patience(layout: Layout) -> float:
    """Return for how many seconds to wait for networks, all of which are made at once."""
    return PATIENCE + FOR_EACH * len(layout.clusters)


class Networks:
    """The networks of all clusters, one holder process each."""

    def __init__(self, layout: Layout, private: Sequence[str]) -> None:
        self.holders: dict[str, subprocess.Popen[bytes]] = {}
        self.devices: list[int] = []
        self.sockets: list[socket.socket] = []
        try:
            self._start(layout, private)
        except BaseException:
            self.close()
            raise

    def _start(self, layout: Layout, private: Sequence[str]) -> None:
        clusters = layout.clusters
        hosts = hosts_file(clusters)
        for cluster in clusters:
            told = {"name": cluster.name, "address": cluster.address, "hosts": hosts}
            self.sockets.append(self._holder(cluster, patience(layout)))
            self.sockets[-1].send(json.dumps({**told, "private": list(private)}).encode())
        for cluster, holder in zip(clusters, self.sockets, strict=True):
            self.devices += self._answer(cluster, holder)
        holders = {name: process.pid for name, process in self.holders.items()}
        for cluster, holder in zip(clusters, self.sockets, strict=True):
            holder.send(stand_in(layout, cluster, holders).encode())
        for cluster, holder in zip(clusters, self.sockets, strict=True):
            self._answer(cluster, holder)

    def _holder(self, cluster: Cluster, seconds: float) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(seconds)
        command = [*_UNSHARE, sys.executable, "-m", "benchmarks.grid.holder", str(theirs.fileno())]
        with theirs:
            self.holders[cluster.name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], cwd=ROOT
            )
        return ours

    def _answer(self, cluster: Cluster, holder: socket.socket) -> list[int]:
        try:
            answer, devices, *_ = socket.recv_fds(holder, 65536, 1)
        except TimeoutError:
            raise EmulationError(f"the network of {cluster.name} was not set up in time") from None
        if not answer:
            raise EmulationError(f"the process that sets up the network of {cluster.name} ended")
        if fault := json.loads(answer).get("error"):
            raise EmulationError(f"the network of {cluster.name} cannot be set up: {fault}")
        return devices

    def close(self) -> None:
        """Tell all holders to sweep and to end, and wait until they have."""
        for file in self.sockets:
            file.close()
        for process in self.holders.values():
            process.wait()
        for device in self.devices:
            os.close(device)
        self.devices.clear()
