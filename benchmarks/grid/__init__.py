"""An emulated grid on one machine: clusters in networks of their own, with lines between them.

Needs Linux and root. Each cluster is a network name space with its own host name, /etc/hosts,
/dev/shm and IPC; one process forwards packets between them with delay, rate and bounded queues,
and plays cuts and firewalls. All of it ends with the process that made it, even by `kill -9`: the
forwarder notices that its owner is gone and ends, the holders of the networks notice that, end
every process in them, and the kernel removes the rest. Nothing of it has a name in the file system.

    with EmulatedGrid(Layout((2, 2), wan=Line(delay=0.010, rate=100e6))) as grid:
        grid.run("c3", ["ip", "addr"], timeout=10)
"""

from __future__ import annotations

from benchmarks.grid.descriptor import cluster_element
from benchmarks.grid.emulated import Control, EmulatedGrid, Statistics, attach
from benchmarks.grid.errors import EmulationError
from benchmarks.grid.layout import LAN, WAN, Cluster, Layout
from benchmarks.grid.lines import Line
from benchmarks.grid.networks import missing
from benchmarks.grid.standin import SSH
from benchmarks.grid.switch import Counted

__all__ = [
    "LAN",
    "SSH",
    "WAN",
    "Cluster",
    "Control",
    "Counted",
    "EmulatedGrid",
    "EmulationError",
    "Layout",
    "Line",
    "Statistics",
    "attach",
    "cluster_element",
    "missing",
]
