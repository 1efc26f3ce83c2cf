"""Real packet filters and address translation for the hosts of an emulated grid."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import IO

from benchmarks.grid import EmulatedGrid

TOOLS = ("iptables", "nsenter", "unshare")
PRIVATE, GATEWAY = "192.168.50.2", "192.168.50.1"
_HOLD = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"


def missing_walls() -> str:
    """Return what this machine lacks for them, or an empty string."""
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"packet filters need {', '.join(lacking)} (apt install iptables)" if lacking else ""


class Walls:
    """Filters of hosts of a grid; they end with it."""

    def __init__(self, grid: EmulatedGrid) -> None:
        self._grid = grid
        self._held: list[subprocess.Popen[str]] = []

    def close_but(self, host: str, ports: str) -> None:
        """Drop all that comes to a host from others, but for these ports and answers."""
        for rule in (
            "-A INPUT -i lo -j ACCEPT",
            "-A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
            f"-A INPUT -p tcp -m multiport --dports {ports} -j ACCEPT",
            "-P INPUT DROP",
        ):
            self._do(host, f"iptables {rule}")

    def isolate(self, host: str, port: int, source: str) -> None:
        """Let nothing in but what one host begins at a port, and nothing out but answers."""
        address = self._grid.clusters[source].address
        for rule in (
            "-A INPUT -i lo -j ACCEPT",
            "-A OUTPUT -o lo -j ACCEPT",
            "-A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
            "-A OUTPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
            f"-A INPUT -p tcp -s {address} --dport {port} -j ACCEPT",
            "-P INPUT DROP",
            "-P OUTPUT DROP",
        ):
            self._do(host, f"iptables {rule}")

    def lose(self, source: str, target: str) -> None:
        """Drop what one host wants to begin with another one."""
        address = self._grid.clusters[source].address
        rule = f"PREROUTING -s {address} -m conntrack --ctstate NEW -j DROP"
        self._do(target, f"iptables -t mangle -A {rule}")

    def forget_names(self, host: str) -> None:
        """Let no name of another host be known at a host."""
        self._do(host, "umount /etc/hosts")

    def translate(self, host: str, port: int, inner: int) -> tuple[str, ...]:
        """Put a machine with a private address behind a host, which passes on this port alone.

        Returns the words before a command that runs it on that machine.
        """
        holding = self._grid.popen(
            host, ["unshare", "--net", sys.executable, "-c", _HOLD],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._held.append(holding)
        pid = _pipe(holding.stdout).readline().strip()
        within = ("nsenter", "-t", pid, "-n")
        for order in (
            f"ip link add inner type veth peer name outer netns {pid}",
            f"ip addr add {GATEWAY}/24 dev inner",
            "ip link set inner up",
            "sysctl -qw net.ipv4.ip_forward=1",
            f"iptables -t nat -A PREROUTING -p tcp --dport {port} -j DNAT --to {PRIVATE}:{inner}",
            f"iptables -t nat -A POSTROUTING -s {PRIVATE} -j MASQUERADE",
            "iptables -A FORWARD -i inner -j ACCEPT",
            "iptables -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED,DNAT -j ACCEPT",
            "iptables -P FORWARD DROP",
        ):
            self._do(host, order)
        for order in (
            "ip link set lo up",
            f"ip addr add {PRIVATE}/24 dev outer",
            "ip link set outer up",
            f"ip route add default via {GATEWAY}",
            # as at the other hosts no name is found; else it would take 5 s, for its own name too
            "ip rule add ipproto udp dport 53 unreachable",
        ):
            self._do(host, " ".join((*within, order)))
        return within

    def close(self) -> None:
        """Let the machines behind hosts go."""
        for one in self._held:
            for pipe in (one.stdin, one.stdout):
                _pipe(pipe).close()
            one.wait(20)

    def _do(self, host: str, order: str) -> None:
        done = self._grid.run(host, order.split(), timeout=20)
        assert done.returncode == 0, f"{order}: {done.stderr}"


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
