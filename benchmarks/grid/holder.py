"""The process that holds the network of one cluster: sets it up, waits for its end, and sweeps.

Started by the forwarder in name spaces of its own (`unshare`). It ends when the forwarder does, in
whatever way, and ends every process that is still in its network; the kernel then removes the rest.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.grid.standin import FOLDER, HOSTS, SSH
from benchmarks.grid.sweeping import sweep

DEVICE = "wan0"

_MAKE_DEVICE, _SET_OFFLOADS = 0x400454CA, 0x400454D0
_TUN, _BARE, _WITH_OFFLOAD_HEADER = 0x0001, 0x1000, 0x4000
_CHECKSUMS, _LARGE_IPV4 = 1, 2

# bbr, the default of some kernels, is slow on short bursts; and what one connection learns of a
# line is not for the next one, or results would depend on what was measured before
_SYSTEM = {
    "net/ipv4/tcp_congestion_control": "reno",
    "net/ipv4/tcp_no_metrics_save": "1",
}


def main() -> None:
    """Hold a network until the other end of the socket, given by number, is closed."""
    with socket.socket(fileno=int(sys.argv[1])) as forwarder:
        told = json.loads(forwarder.recv(65536))
        try:
            device = set_up(told)
        except (OSError, subprocess.CalledProcessError) as error:
            forwarder.send(json.dumps({"error": explained(error)}).encode())
            return
        socket.send_fds(forwarder, [b"{}"], [device])
        os.close(device)
        program = forwarder.recv(1 << 20)
        if program:
            Path(SSH).write_bytes(program)
            Path(SSH).chmod(0o755)
            forwarder.send(b"{}")
        be_silent()
        while forwarder.recv(4096):
            """Nothing more is said; the end is what matters."""
    Path(SSH).unlink(missing_ok=True)  # who enters from now on leaves at once
    sweep([os.getpid()])


def be_silent() -> None:
    """Let go of the terminal or pipe that was inherited: somebody may wait for its end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def set_up(told: dict[str, Any]) -> int:
    """Make the network, host name and private files of this cluster; return its TUN device."""
    socket.sethostname(told["name"])
    _run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    os.mkdir(FOLDER)
    Path(HOSTS).write_text(told["hosts"])
    _run("mount", "--bind", HOSTS, "/etc/hosts")
    # network devices as this network sees them
    _run("umount", "--lazy", "--recursive", "/sys")
    _run("mount", "-t", "sysfs", "sysfs", "/sys")
    for name, value in _SYSTEM.items():
        with contextlib.suppress(OSError):  # a kernel without it
            Path("/proc/sys", name).write_text(value)
    device = _device()
    _run("ip", "link", "set", "lo", "up")
    for private in told["private"]:
        _run("ip", "addr", "add", private, "dev", "lo")
    _run("ip", "addr", "add", f"{told['address']}/16", "dev", DEVICE)
    _run("ip", "link", "set", DEVICE, "mtu", "1500", "txqueuelen", "2000", "up")
    return device


def _device() -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    wanted = struct.pack("16sH22x", DEVICE.encode(), _TUN | _BARE | _WITH_OFFLOAD_HEADER)
    fcntl.ioctl(device, _MAKE_DEVICE, wanted)
    fcntl.ioctl(device, _SET_OFFLOADS, _CHECKSUMS | _LARGE_IPV4)
    return device


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def explained(error: Exception) -> str:
    """Return what went wrong, with what the failing command said."""
    if isinstance(error, subprocess.CalledProcessError):
        said: Sequence[str] = error.cmd
        return f"'{' '.join(said)}' failed: {error.stderr.strip()}"
    return str(error)


if __name__ == "__main__":
    main()
