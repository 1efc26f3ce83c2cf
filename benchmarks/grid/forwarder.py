"""The process that carries packets between the clusters of one emulated grid, and owns it.

It speaks with its owner over a socket: one JSON object per message, one answer each. When the
owner's end is closed, by the owner or by the kernel after `kill -9`, the grid ends and everything
in it; except when the grid was given a name: it then lasts until somebody says `end` to that name.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.grid.errors import EmulationError
from benchmarks.grid.holder import be_silent
from benchmarks.grid.layout import Layout
from benchmarks.grid.lines import Line
from benchmarks.grid.networks import Networks
from benchmarks.grid.orders import LARGEST, public_address
from benchmarks.grid.switch import Switch

LARGEST_PACKET = 70_000
AT_ONCE = 16
PRIORITY = 40
IDLE_SECONDS = 1.0


class Forwarder:
    """One loop over devices, owners and the packets under way."""

    def __init__(self, layout: Layout, networks: Networks, owner: socket.socket) -> None:
        self._layout = layout
        self._networks = networks
        self._switch = Switch(layout, random.Random(0).random)
        self._owner: socket.socket | None = owner
        self._public: socket.socket | None = None
        self._ended = False
        self._late = self._delivered = self._lost = 0.0
        self._readers: dict[int, Callable[[], None]] = {}
        for number, device in enumerate(networks.devices):
            self._readers[device] = self._carrying(number, device)
        for holder in networks.sockets:
            self._readers[holder.fileno()] = self._end
        self._listen_to(owner)

    def run(self) -> None:
        """Forward until the grid ends."""
        switch, devices, clock = self._switch, self._networks.devices, time.monotonic
        while not self._ended:
            due = switch.next_arrival
            wait = IDLE_SECONDS if due is None else max(0.0, due - clock())
            for file in select.select(list(self._readers), (), (), wait)[0]:
                if reader := self._readers.get(file):
                    reader()
            now = clock()
            if due is not None and due <= now:
                self._late += now - due
                self._delivered += 1
            for number, packet in switch.arrived(now):
                try:
                    os.write(devices[number], packet)
                except OSError:  # its receive queue is full, as that of a real card could be
                    self._lost += 1

    def _carrying(self, number: int, device: int) -> Callable[[], None]:
        take, clock, read = self._switch.take, time.monotonic, os.read

        def carry() -> None:
            for _ in range(AT_ONCE):
                try:
                    packet = read(device, LARGEST_PACKET)
                except BlockingIOError:
                    return
                take(number, packet, clock())

        return carry

    def _end(self) -> None:
        self._ended = True

    def _listen_to(self, speaker: socket.socket) -> None:
        self._readers[speaker.fileno()] = lambda: self._hear(speaker)

    def _hear(self, speaker: socket.socket) -> None:
        message = b""
        with contextlib.suppress(OSError):
            message = speaker.recv(LARGEST)
        if not message:
            self._forget(speaker)
            return
        try:
            answer = self._obey(json.loads(message))
        except (ValueError, TypeError, KeyError, OSError) as error:
            answer = {"error": f"{error}"}
        with contextlib.suppress(OSError):
            speaker.send(json.dumps(answer).encode())

    def _forget(self, speaker: socket.socket) -> None:
        del self._readers[speaker.fileno()]
        speaker.close()
        if speaker is self._owner:
            self._owner = None
            if self._public is None:
                self._end()

    def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        what, switch = order["do"], self._switch
        match what:
            case "cut" | "heal":
                change = switch.cut if what == "cut" else switch.heal
                change(order["source"], order["target"])
            case "protect":
                switch.protect(order["cluster"], order["ports"])
            case "open":
                switch.open(order["cluster"])
            case "lan":
                switch.change_lan(Line(**order["line"]))
            case "wan":
                switch.change_wan(Line(**order["line"]))
            case "count":
                return self._counted()
            case "tell":
                return self._told()
            case "publish":
                self._publish(order["name"])
            case "end":
                self._end()
            case _:
                raise ValueError(f"nobody can do '{what}' with a grid")
        return {}

    def _counted(self) -> dict[str, Any]:
        return {
            "lines": [[one.line, one.bytes, one.dropped] for one in self._switch.counted()],
            "refused": self._switch.refused,
            "lost": int(self._lost),
            "late": self._late / self._delivered if self._delivered else 0.0,
        }

    def _told(self) -> dict[str, Any]:
        holders = {name: process.pid for name, process in self._networks.holders.items()}
        return {"layout": self._layout.as_dict(), "holders": holders, "forwarder": os.getpid()}

    def _publish(self, name: str) -> None:
        public = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            public.bind(public_address(name))
        except OSError:
            public.close()
            raise ValueError(f"there already is a grid named '{name}'") from None
        public.listen(16)
        be_silent()
        self._public = public
        self._readers[public.fileno()] = self._admit

    def _admit(self) -> None:
        assert self._public is not None
        guest, _ = self._public.accept()
        credentials = guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", credentials)[1] != os.getuid():
            guest.close()
            return
        self._listen_to(guest)


def hurry() -> None:
    """Get ahead of what is measured, and be woken in time, as far as the system allows it."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    with contextlib.suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1000")


def main() -> None:
    """Run the grid that the owner, at the socket given by number, describes."""
    owner = socket.socket(fileno=int(sys.argv[1]))
    order = json.loads(owner.recv(LARGEST))
    layout = Layout.from_dict(order["layout"])
    try:
        networks = Networks(layout, order["private"])
    except (EmulationError, OSError) as error:
        owner.send(json.dumps({"error": str(error)}).encode())
        return
    forwarder = Forwarder(layout, networks, owner)
    signal.signal(signal.SIGTERM, lambda *_: forwarder._end())
    hurry()
    owner.send(b"{}")
    try:
        forwarder.run()
    finally:
        networks.close()


if __name__ == "__main__":
    main()
